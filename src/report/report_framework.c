/* SPDX-License-Identifier: Apache-2.0 */
/* report_framework.c - the sections about the framework: the training loop by each clock, steps,
 * general metrics, operators. The loop comes before the whole job: import, first kernels and the
 * end of a job do not show how it trains. */
#include <math.h>
#include <string.h>

#include "base/human.h"
#include "base/mem.h"
#include "report/report_internal.h"

/* ---- the training loop ---- */

const struct steps_row *report_best_row(const struct report *r)
{
    const struct steps_row *best = NULL;
    for (size_t i = 0; i < r->steps.n_rows; i++) {
        const struct steps_row *row = &r->steps.rows[i];
        if (row->stats.mode == MODE_TRAIN && row->stats.count > 0 &&
            (!best || row->stats.count > best->stats.count))
            best = row;
    }
    return best;
}

/* ---- clocks ---- */

/* Part step_parts() is what lies between steps. */
static double loop_part_of(const struct steps_row *row, enum steps_clock clock, size_t part)
{
    if (clock == CLOCK_GPU && part == step_parts() - 1)
        return NAN; /* what no timed phase had is not a phase */
    return steps_iteration_part_s(row, clock, part);
}

static struct report_look loop_part(size_t part)
{
    return look_of(part < step_parts() ? step_part_name(part) : "between");
}

/* Parts that any clock of any row has; returns how many. */
static size_t loop_parts_seen(const struct report *r, size_t parts[STEP_PARTS_MOST + 1])
{
    size_t n = 0;
    for (size_t k = 0; k <= step_parts(); k++) {
        bool any = false;
        for (size_t i = 0; i < r->steps.n_rows; i++)
            for (enum steps_clock c = 0; c < CLOCKS; c++)
                any |= steps_has_clock(&r->steps.rows[i].stats, c) &&
                       loop_part_of(&r->steps.rows[i], c, k) > 0;
        if (any)
            parts[n++] = k;
    }
    return n;
}

static void loop_put_clock(const struct report *r, struct doc *d, const struct steps_row *row,
                           enum steps_clock clock, const size_t *parts, size_t n)
{
    DOC_CELLS(d, arena_printf(r->arena, "%lld", (long long)row->rank->rank),
              mode_name(row->stats.mode),
              steps_clock_text(&row->stats, row->rank, clock, r->arena));
    for (size_t k = 0; k < n; k++)
        doc_value(d, loop_part_of(row, clock, parts[k]), "s");
}

/* GPU time first: it is the work; the host's is how long its launch took. */
static void loop_put_parts(const struct report *r, struct doc *d)
{
    const char *columns = "Rank|Mode|Clock";
    size_t parts[STEP_PARTS_MOST + 1];
    const size_t n = loop_parts_seen(r, parts);
    if (n == 0)
        return;
    for (size_t k = 0; k < n; k++)
        columns = arena_printf(r->arena, "%s|>%s", columns, loop_part(parts[k]).title);
    doc_table(d, "Iteration breakdown, mean", columns);
    for (size_t i = 0; i < r->steps.n_rows; i++)
        for (enum steps_clock c = 0; c < CLOCKS; c++)
            if (steps_has_clock(&r->steps.rows[i].stats, c))
                loop_put_clock(r, d, &r->steps.rows[i], c, parts, n);
    doc_table_end(d);
}

/* ---- iterations ---- */

static void loop_put_iteration(const struct report *r, struct doc *d, const struct steps_row *row)
{
    const struct step_stats *s = &row->stats;
    doc_cell(d, row->rank->node);
    doc_number(d, (double)row->rank->rank,
               arena_printf(r->arena, "%lld", (long long)row->rank->rank));
    doc_cell(d, mode_name(s->mode));
    doc_count(d, s->iterations);
    DOC_VALUES(d, "s", s->iteration_mean_s, s->iteration_p50_s, s->iteration_p95_s,
               s->iteration_p99_s, s->iteration_max_s);
    DOC_VALUES(d, "", s->throughput_steady, s->throughput_overall);
}

static void put_iterations(const struct report *r, struct doc *d)
{
    const struct steps_row *best = report_best_row(r);
    if (!best || best->stats.iterations == 0)
        return;
    doc_text(d,
             "An iteration lasts from the start of a step to the start of the next. Excluded: %zu "
             "warm-up step%s%s.",
             best->stats.warmup, best->stats.warmup == 1 ? "" : "s",
             best->stats.disturbed
                 ? arena_printf(r->arena, " and %zu in or right after a detail window",
                                best->stats.disturbed)
                 : "");
    doc_table(d, "Iterations by rank",
              "Node|>Rank|Mode|>Iterations|>Mean|>p50|>p95|>p99|>Max|>Samples/s, "
              "steady|>Samples/s, overall");
    for (size_t i = 0; i < r->steps.n_rows; i++)
        if (r->steps.rows[i].stats.iterations > 0)
            loop_put_iteration(r, d, &r->steps.rows[i]);
    doc_table_end(d);
}

/* ---- GPUs ---- */

static void loop_put_gpu(const struct report *r, struct doc *d, const struct gpu_efficiency *g)
{
    const struct gpu_use *u = r->show.gpu.loop ? &g->loop : &g->job;
    DOC_CELLS(d, g->node,
              *g->name ? arena_printf(r->arena, "%s, %s%s", g->entity, g->name,
                                      g->used ? "" : " (not used)")
                       : g->entity);
    DOC_VALUES(d, "%", u->mean[GPU_MEAN_UTIL], u->mean[GPU_MEAN_SM], u->mean[GPU_MEAN_TENSOR],
               u->mean[GPU_MEAN_DRAM]);
    doc_number(d, u->tflops, isnan(u->tflops) ? "-" : arena_printf(r->arena, "%.0f", u->tflops));
    doc_value(d, u->mfu_pct, "%");
    doc_value(d, u->mean[GPU_MEAN_POWER], "W");
    doc_value(d, u->mean[GPU_MEAN_CLOCK], "MHz");
}

static void loop_put_gpus(const struct report *r, struct doc *d)
{
    const struct efficiency *x = &r->show.gpu.x;
    if (x->n_gpus < 2)
        return;
    doc_table(d, r->show.gpu.loop ? "GPUs in the training loop" : "GPUs in the whole job",
              "Node|GPU|>Busy|>SMs|>Tensor cores|>Memory bandwidth|>TFLOP/s|>Share of "
              "peak|>Power|>Clock");
    for (size_t i = 0; i < MIN_OF(x->n_gpus, (size_t)REPORT_GPUS); i++)
        loop_put_gpu(r, d, &x->gpus[i]);
    doc_table_end(d);
    if (x->n_gpus > REPORT_GPUS)
        doc_text(d, "The first %d of %zu GPUs.", (int)REPORT_GPUS, x->n_gpus);
}

static void put_efficiency(const struct report *r, struct doc *d)
{
    const struct gpu_view *g = &r->show.gpu;
    if (g->x.n_used == 0)
        return;
    doc_part(d, "gpus",
             g->loop ? "GPU performance in the training loop" : "GPU performance in the whole job");
    doc_facts(d);
    doc_fact(d, "Activity", NAN, gpuview_activity(g, g->use));
    doc_fact(d, "Compute", NAN, gpuview_compute(g));
    doc_fact(d, "Power and energy", NAN, gpuview_power(g));
    doc_fact(d, "SM clock", NAN, gpuview_clock(g, g->use));
    doc_fact(d, "Memory", NAN, gpuview_memory(g));
    if (g->loop)
        doc_fact(d, "Activity, whole job", NAN, gpuview_activity(g, &g->x.job));
    if (!isnan(g->x.job.energy_j))
        doc_fact(d, "Energy, whole job", NAN, joules_text(r->arena, g->x.job.energy_j));
    doc_facts_end(d);
    loop_put_gpus(r, d);
}

void report_put_loop(const struct report *r, struct doc *d)
{
    doc_section(d, "loop", "Training loop");
    if (r->steps.why)
        doc_note(d, TONE_INFO, "%s",
                 sentence(r->arena, steps_none_text(r->info, r->steps.why, r->arena)));
    put_iterations(r, d);
    loop_put_parts(r, d);
    put_efficiency(r, d);
    doc_section_end(d);
}

/* ---- general metrics: time outside of the passes of steps and operators ---- */

static void put_bars(const struct report *r, struct doc *d)
{
    struct svg_part parts[REPORT_GENERAL];
    const struct figure f = {
        .kind = FIGURE_BARS,
        .words = {.title = "Time in general metrics", .unit = "s"},
        .caption = "Seconds summed over all threads; can exceed the job duration if threads run in "
                   "parallel.",
        .parts = parts,
        .n = r->general.n,
        .in_table = true,
    };
    for (size_t i = 0; i < f.n; i++)
        parts[i] = (struct svg_part){r->general.rows[i].what, r->general.rows[i].total_s, -1};
    doc_figure(d, &f);
}

static void general_put_row(struct doc *d, const struct general_row *x)
{
    doc_cell(d, x->what);
    doc_bar(d, x->share, value_text(d->arena, x->share * 100, "%"));
    doc_value(d, x->total_s, "s");
    doc_count(d, x->count);
    doc_value(d, x->longest_s, "s");
    doc_count(d, x->threads);
}

static void put_rows(const struct report *r, struct doc *d)
{
    const struct general *g = &r->general;
    doc_table(d, "General metrics by total time", "~What|>Share|>Time|>Spans|>Longest|>Threads");
    for (size_t i = 0; i < g->n; i++)
        general_put_row(d, &g->rows[i]);
    doc_table_end(d);
    if (g->left_out)
        doc_text(d, "%zu more span names took less time each.", g->left_out);
}

static void report_put_general(const struct report *r, struct doc *d)
{
    doc_part(d, "general", "General metrics");
    if (r->general.n == 0) {
        doc_note(
            d, TONE_INFO,
            "None recorded (data wait, checkpoint, copy, compilation, collective, user span).");
        return;
    }
    doc_text(d, "Time that threads spent outside step phases and operators. Shares are relative to "
                "the summed recording time of the processes. Spans can be nested and threads run "
                "in parallel, so shares do not add up to the whole.");
    put_bars(r, d);
    put_rows(r, d);
}

/* ---- steps ---- */

static void put_steps_row(const struct report *r, struct doc *d, const struct steps_row *row)
{
    const struct step_stats *s = &row->stats;
    doc_cell(d, row->rank->node);
    doc_number(d, (double)row->rank->rank,
               arena_printf(r->arena, "%lld", (long long)row->rank->rank));
    doc_cell(d, mode_name(s->mode));
    doc_count(d, s->count);
    DOC_VALUES(d, "s", s->mean_s, s->p50_s, s->p95_s, s->p99_s, s->max_s);
}

static void framework_put_steps(const struct report *r, struct doc *d)
{
    doc_table(d, "Steps by rank", "Node|>Rank|Mode|>Steps|>Mean|>p50|>p95|>p99|>Max");
    for (size_t i = 0; i < r->steps.n_rows; i++)
        put_steps_row(r, d, &r->steps.rows[i]);
    doc_table_end(d);
}

/* Parts that took time in the steps of these rows; returns how many. */
static size_t parts_shown(const struct report *r, size_t parts[STEP_PARTS_MOST])
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
static void framework_put_last(const struct report *r, struct doc *d)
{
    const struct steps_view *s = &r->steps;
    const char *labels[REPORT_LAST_STEPS];
    struct report_look looks[STEP_PARTS_MOST + 1];
    double v[REPORT_LAST_STEPS * (STEP_PARTS_MOST + 1)] = {0};
    size_t parts[STEP_PARTS_MOST + 1], n = 0;
    size_t n_parts = parts_shown(r, parts);
    parts[n_parts++] = step_parts();
    for (size_t k = 0; k < n_parts; k++)
        looks[k] = loop_part(parts[k]);
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
        .stack = {looks, n_parts, labels, v, n},
    };
    doc_figure(d, &f);
}

/* ---- operators ---- */

static void put_op(const struct report *r, struct doc *d, const struct op_row *x)
{
    doc_cell(d, x->name);
    doc_bar(d, x->share, arena_printf(r->arena, "%.1f %%", x->share * 100));
    DOC_VALUES(d, "s", ns_to_s(x->self_ns), ns_to_s(x->total_ns));
    doc_count(d, x->calls);
    doc_value(d, op_mean_s(x), "s");
}

static void framework_put_ops(const struct report *r, struct doc *d, enum op_device device,
                              const char *caption)
{
    if (r->op_s[device] <= 0)
        return;
    doc_table(d, caption, "~Operator|>Share|>Self time|>Total time|>Calls|>Mean");
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

static void framework_put_operators(const struct report *r, struct doc *d)
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
    framework_put_ops(r, d, OP_CPU, "Most expensive CPU operators");
    framework_put_ops(r, d, OP_GPU, "Most expensive GPU operators");
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
        framework_put_steps(r, d);
        if (r->n_paces)
            put_pace(r, d);
        framework_put_last(r, d);
    }
    put_devices(r, d);
    report_put_general(r, d);
    framework_put_operators(r, d);
    doc_section_end(d);
}
