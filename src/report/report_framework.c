/* SPDX-License-Identifier: Apache-2.0 */
/* report_framework.c - what the framework did: where the time of steps went, and operators. */
#include <math.h>
#include <stdio.h>

#include "base/human.h"
#include "base/mem.h"
#include "base/stat.h"
#include "report/report_internal.h"

/* ---- steps ---- */

static const struct page_column step_columns[] = {
    {"Node"},
    {"Rank", .right = true},
    {"Mode"},
    {"Steps", .right = true},
    {"Mean", .right = true},
    {"p50", .right = true},
    {"p95", .right = true},
    {"p99", .right = true},
    {"Max", .right = true},
    {0},
};

static void put_steps_row(const struct report *r, struct doc *d, const struct steps_row *row)
{
    const struct step_stats *s = &row->stats;
    const double v[] = {s->mean_s, s->p50_s, s->p95_s, s->p99_s, s->max_s};
    char text[HUMAN_LEN];
    doc_cell(d, row->rank->node);
    doc_number(d, (double)row->rank->rank,
               arena_printf(r->arena, "%lld", (long long)row->rank->rank));
    doc_cell(d, mode_name(s->mode));
    doc_number(d, (double)s->count, human_count(s->count, text, sizeof text));
    for (size_t i = 0; i < COUNT_OF(v); i++)
        doc_number(d, v[i], human_value(v[i], "s", text, sizeof text));
}

static void report_framework_put_steps(const struct report *r, struct doc *d)
{
    doc_table(d, "Steps by rank", step_columns);
    for (size_t i = 0; i < r->steps.n_rows; i++)
        put_steps_row(r, d, &r->steps.rows[i]);
    doc_table_end(d);
}

/* Parts that took time in the steps of these rows; returns how many. */
static size_t parts_told(const struct report *r, size_t parts[STEP_PARTS_MOST])
{
    size_t n = 0;
    for (size_t k = 0; k < step_parts(); k++) {
        double sum = 0;
        for (size_t i = 0; i < r->steps.n_rows; i++)
            sum += r->steps.rows[i].part_s[k];
        if (sum > 0)
            parts[n++] = k;
    }
    return n;
}

static void put_pace(const struct report *r, struct doc *d)
{
    struct svg_line lines[REPORT_RANKS];
    struct figure f = {
        .kind = FIGURE_LINES,
        .words = {
            .title = "Training iteration time",
            .desc = "Mean of neighboring iterations; the band shows the shortest and the longest.",
            .unit = "s",
            .x = "step"}};
    const bool one = r->n_paces == 1;
    for (size_t i = 0; i < r->n_paces; i++) {
        const struct report_pace *p = &r->paces[i];
        lines[i] = (struct svg_line){
            .label = arena_printf(r->arena, "rank %lld", (long long)p->rank->rank),
            .t = p->step,
            .v = p->v,
            .min = one ? p->min : NULL,
            .max = one ? p->max : NULL,
            .n = p->n};
    }
    f.lines = (struct svg_lines){.v = lines, .n = r->n_paces, .axis = SVG_COUNT};
    if (r->show.n_ranks > r->n_paces)
        f.caption =
            arena_printf(r->arena, "The first %zu of %zu ranks.", r->n_paces, r->show.n_ranks);
    doc_figure(d, &f);
}

/* What the host did in the iteration: a part of the step, or for part step_parts() what lies
 * between it and the next one. */
static double host_part_s(const struct step *x, size_t part)
{
    if (part == step_parts())
        return ns_to_s(MAX_OF(x->between_ns, 0));
    return ns_to_s(x->part_ns[part]);
}

/* The last training steps of the first rank, as a stack of their parts. */
static void report_framework_put_last(const struct report *r, struct doc *d)
{
    const struct steps_view *s = &r->steps;
    const char *names[STEP_PARTS_MOST + 1], *labels[REPORT_LAST_STEPS];
    double v[REPORT_LAST_STEPS * (STEP_PARTS_MOST + 1)] = {0};
    size_t parts[STEP_PARTS_MOST + 1], n = 0;
    size_t n_parts = parts_told(r, parts);
    parts[n_parts++] = step_parts();
    for (size_t k = 0; k < n_parts; k++)
        names[k] = parts[k] < step_parts() ? step_part_name(parts[k]) : "between steps";
    for (size_t i = 0; i < s->n_items && n < REPORT_LAST_STEPS; i++) {
        const struct step *x = s->items[i].step;
        if (s->items[i].rank != s->items[0].rank || x->mode != MODE_TRAIN || x->cut)
            continue;
        labels[n] = arena_printf(r->arena, "%lld", (long long)x->number);
        for (size_t k = 0; k < n_parts; k++)
            v[n * n_parts + k] = host_part_s(x, parts[k]);
        n++;
    }
    if (n < 2)
        return;
    const struct steps_row *row = report_best_row(r);
    const bool cuda = s->items[0].rank->process->device >= 0;
    const struct figure f = {
        .kind = FIGURE_STACK,
        .words = {.title = arena_printf(
                      r->arena, "Last %zu training iterations, rank %lld, %s", n,
                      (long long)s->items[0].rank->rank,
                      row ? steps_clock_text(&row->stats, row->rank, CLOCK_HOST, r->arena)
                          : "host time"),
                  .unit = "s"},
        .caption = cuda ? "The host launches GPU work asynchronously. If it waits for the GPU, the "
                          "wait is part of the phase in which it occurs."
                        : NULL,
        .stack = {names, n_parts, labels, v, n},
    };
    doc_figure(d, &f);
}

/* ---- operators ---- */

static const struct page_column op_columns[] = {
    {"Operator", .wide = true},
    {"Share", .right = true},
    {"Self time", .right = true},
    {"Total time", .right = true},
    {"Calls", .right = true},
    {"Mean", .right = true},
    {0},
};

static void put_op(const struct report *r, struct doc *d, const struct op_row *x)
{
    const double self = (double)x->self_ns / (double)NS_PER_S,
                 total = (double)x->total_ns / (double)NS_PER_S, mean = op_mean_s(x);
    char text[HUMAN_LEN];
    doc_cell(d, x->name);
    doc_bar(d, x->share, x->share, arena_printf(r->arena, "%.1f %%", x->share * 100));
    doc_number(d, self, human_value(self, "s", text, sizeof text));
    doc_number(d, total, human_value(total, "s", text, sizeof text));
    doc_number(d, (double)x->calls, human_count(x->calls, text, sizeof text));
    doc_number(d, mean, human_value(mean, "s", text, sizeof text));
}

static void report_framework_put_ops(const struct report *r, struct doc *d, enum op_device device,
                                     const char *caption)
{
    if (r->op_s[device] <= 0)
        return;
    doc_table(d, caption, op_columns);
    for (size_t i = 0; i < r->ops.n; i++)
        if (r->ops.v[i].device == device)
            put_op(r, d, &r->ops.v[i]);
    doc_table_end(d);
}

static void put_devices(const struct report *r, struct doc *d)
{
    const struct svg_part parts[] = {{"CPU operators", r->op_s[OP_CPU], 0},
                                     {"GPU operators", r->op_s[OP_GPU], 1}};
    const struct figure f = {.kind = FIGURE_PIE,
                             .words = {.title = "Time in CPU and GPU operators", .unit = "s"},
                             .parts = parts,
                             .n = 2};
    if (r->op_s[OP_CPU] > 0 && r->op_s[OP_GPU] > 0)
        doc_figure(d, &f);
}

static void report_framework_put_operators(const struct report *r, struct doc *d)
{
    doc_part(d, "operators", "Most expensive operators");
    if (r->no_ops) {
        doc_note(d, TONE_INFO, "%s", sentence(r->arena, r->no_ops));
        return;
    }
    doc_text(d,
             "Ranked by self time: the time of an operator without the operators that it calls.");
    for (size_t i = 0; i < r->n_window_costs; i++)
        doc_note(d, TONE_INFO, "%s", sentence(r->arena, r->window_costs[i]));
    report_framework_put_ops(r, d, OP_CPU, "Most expensive CPU operators");
    report_framework_put_ops(r, d, OP_GPU, "Most expensive GPU operators");
}

/* Which clock the parts of steps here are by. */
static void put_clock_note(const struct report *r, struct doc *d)
{
    const struct steps_row *row = report_best_row(r);
    if (row && row->rank->process->device >= 0)
        doc_text(d,
                 "Step breakdowns in this section are host time: the time that the launching "
                 "thread spent in each part, not the time that the GPU worked. %s",
                 row->stats.gpu_timed_steps ? "See the training loop section for GPU times."
                                            : "GPU times were not recorded.");
}

void report_put_framework(const struct report *r, struct doc *d)
{
    const struct verdict *v = report_verdict(r, "OverallFrameworkMetrics");
    doc_section(d, "framework", "Framework metrics summary");
    if (r->steps.why) {
        doc_note(d, TONE_INFO, "%s",
                 sentence(r->arena, steps_none_text(r->info, r->steps.why, r->arena)));
    } else {
        for (size_t i = 0; v && i < v->n_remarks; i++)
            doc_text(d, "%s", sentence(r->arena, v->remarks[i]));
        put_clock_note(r, d);
        if (v)
            report_put_plots(r, d, v);
        report_framework_put_steps(r, d);
        if (r->n_paces)
            put_pace(r, d);
        report_framework_put_last(r, d);
    }
    put_devices(r, d);
    report_put_general(r, d);
    report_framework_put_operators(r, d);
    doc_section_end(d);
}
