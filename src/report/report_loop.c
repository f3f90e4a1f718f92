/* SPDX-License-Identifier: Apache-2.0 */
/* report_loop.c - the training loop: what an iteration is spent on, by each clock, and what the
 * GPUs achieved in it. It comes before the whole job: import, first kernels and the end of a job
 * say nothing about how it trains. */
#include <math.h>
#include <string.h>

#include "base/human.h"
#include "base/mem.h"
#include "report/report_internal.h"

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
static double report_loop_part_of(const struct steps_row *row, enum steps_clock clock, size_t part)
{
    if (clock == CLOCK_GPU && part == step_parts() - 1)
        return NAN; /* what no timed phase had is no phase */
    return steps_iteration_part_s(row, clock, part);
}

/* Parts that any clock of any row has; returns how many. */
static size_t report_loop_parts_seen(const struct report *r, size_t parts[STEP_PARTS_MOST + 1])
{
    size_t n = 0;
    for (size_t k = 0; k <= step_parts(); k++) {
        bool any = false;
        for (size_t i = 0; i < r->steps.n_rows; i++)
            for (enum steps_clock c = 0; c < CLOCKS; c++)
                any |= steps_has_clock(&r->steps.rows[i].stats, c) &&
                       report_loop_part_of(&r->steps.rows[i], c, k) > 0;
        if (any)
            parts[n++] = k;
    }
    return n;
}

static void report_loop_put_clock(const struct report *r, struct doc *d,
                                  const struct steps_row *row, enum steps_clock clock,
                                  const size_t *parts, size_t n)
{
    char text[HUMAN_LEN];
    doc_cell(d, arena_printf(r->arena, "%lld", (long long)row->rank->rank));
    doc_cell(d, mode_name(row->stats.mode));
    doc_cell(d, steps_clock_text(&row->stats, row->rank, clock, r->arena));
    for (size_t k = 0; k < n; k++) {
        const double s = report_loop_part_of(row, clock, parts[k]);
        doc_number(d, s, isnan(s) ? "-" : human_value(s, "s", text, sizeof text));
    }
}

/* GPU time first: it is the work; the host's is how long its launch took. */
static void report_loop_put_parts(const struct report *r, struct doc *d)
{
    struct page_column columns[STEP_PARTS_MOST + 5] = {{"Rank"}, {"Mode"}, {"Clock"}};
    size_t parts[STEP_PARTS_MOST + 1];
    const size_t n = report_loop_parts_seen(r, parts);
    if (n == 0)
        return;
    for (size_t k = 0; k < n; k++)
        columns[3 + k] = (struct page_column){
            parts[k] < step_parts() ? step_part_name(parts[k]) : "between steps", .right = true};
    doc_table(d, "Iteration breakdown, mean", columns);
    for (size_t i = 0; i < r->steps.n_rows; i++)
        for (enum steps_clock c = 0; c < CLOCKS; c++)
            if (steps_has_clock(&r->steps.rows[i].stats, c))
                report_loop_put_clock(r, d, &r->steps.rows[i], c, parts, n);
    doc_table_end(d);
}

/* ---- iterations ---- */

static const struct page_column iteration_columns[] = {
    {"Node"},
    {"Rank", .right = true},
    {"Mode"},
    {"Iterations", .right = true},
    {"Mean", .right = true},
    {"p50", .right = true},
    {"p95", .right = true},
    {"p99", .right = true},
    {"Max", .right = true},
    {"Samples/s, steady", .right = true},
    {"Samples/s, overall", .right = true},
    {0},
};

static void put_rate(const struct report *r, struct doc *d, double v)
{
    char text[HUMAN_LEN];
    doc_number(d, v, arena_strdup(r->arena, human_value(v, "", text, sizeof text)));
}

static void report_loop_put_iteration(const struct report *r, struct doc *d,
                                      const struct steps_row *row)
{
    const struct step_stats *s = &row->stats;
    const double v[] = {s->iteration_mean_s, s->iteration_p50_s, s->iteration_p95_s,
                        s->iteration_p99_s, s->iteration_max_s};
    char text[HUMAN_LEN];
    doc_cell(d, row->rank->node);
    doc_number(d, (double)row->rank->rank,
               arena_printf(r->arena, "%lld", (long long)row->rank->rank));
    doc_cell(d, mode_name(s->mode));
    doc_number(d, (double)s->iterations, human_count(s->iterations, text, sizeof text));
    for (size_t i = 0; i < COUNT_OF(v); i++)
        doc_number(d, v[i], human_value(v[i], "s", text, sizeof text));
    put_rate(r, d, s->throughput_steady);
    put_rate(r, d, s->throughput_overall);
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
    doc_table(d, "Iterations by rank", iteration_columns);
    for (size_t i = 0; i < r->steps.n_rows; i++)
        if (r->steps.rows[i].stats.iterations > 0)
            report_loop_put_iteration(r, d, &r->steps.rows[i]);
    doc_table_end(d);
}

/* ---- GPUs ---- */

static const struct page_column gpu_columns[] = {
    {"Node"},
    {"GPU"},
    {"Busy", .right = true},
    {"SMs", .right = true},
    {"Tensor cores", .right = true},
    {"Memory bandwidth", .right = true},
    {"TFLOP/s", .right = true},
    {"Share of peak", .right = true},
    {"Power", .right = true},
    {"Clock", .right = true},
    {0},
};

static void put_number(const struct report *r, struct doc *d, double v, const char *unit)
{
    char text[HUMAN_LEN];
    doc_number(d, v,
               isnan(v) ? "-" : arena_strdup(r->arena, human_value(v, unit, text, sizeof text)));
}

static void report_loop_put_gpu(const struct report *r, struct doc *d,
                                const struct gpu_efficiency *g)
{
    const struct gpu_use *u = r->show.gpu.loop ? &g->loop : &g->job;
    doc_cell(d, g->node);
    doc_cell(d, *g->name ? arena_printf(r->arena, "%s, %s%s", g->entity, g->name,
                                        g->used ? "" : " (not used)")
                         : g->entity);
    put_number(r, d, u->mean[GPU_MEAN_UTIL], "%");
    put_number(r, d, u->mean[GPU_MEAN_SM], "%");
    put_number(r, d, u->mean[GPU_MEAN_TENSOR], "%");
    put_number(r, d, u->mean[GPU_MEAN_DRAM], "%");
    doc_number(d, u->tflops, isnan(u->tflops) ? "-" : arena_printf(r->arena, "%.0f", u->tflops));
    put_number(r, d, u->mfu_pct, "%");
    put_number(r, d, u->mean[GPU_MEAN_POWER], "W");
    put_number(r, d, u->mean[GPU_MEAN_CLOCK], "MHz");
}

static void report_loop_put_gpus(const struct report *r, struct doc *d)
{
    const struct efficiency *x = &r->show.gpu.x;
    if (x->n_gpus < 2)
        return;
    doc_table(d, r->show.gpu.loop ? "GPUs in the training loop" : "GPUs in the whole job",
              gpu_columns);
    for (size_t i = 0; i < MIN_OF(x->n_gpus, (size_t)REPORT_GPUS); i++)
        report_loop_put_gpu(r, d, &x->gpus[i]);
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
    report_loop_put_gpus(r, d);
}

void report_put_loop(const struct report *r, struct doc *d)
{
    doc_section(d, "loop", "Training loop");
    if (r->steps.why)
        doc_note(d, TONE_INFO, "%s",
                 sentence(r->arena, steps_none_text(r->info, r->steps.why, r->arena)));
    put_iterations(r, d);
    report_loop_put_parts(r, d);
    put_efficiency(r, d);
    doc_section_end(d);
}
