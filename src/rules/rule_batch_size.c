/* SPDX-License-Identifier: Apache-2.0 */
/* BatchSize: CPU, GPU and GPU memory all have room, so the batch could be larger or the machine
 * smaller. Memory is what is occupied; only of a run that does not have it, as those imported from
 * SageMaker, what the memory controller was busy with, and the finding says so. */
#include <math.h>

#include "base/mem.h"
#include "rules/gpu_activity.h"
#include "rules/hist.h"
#include "rules/judging.h"
#include "rules/per_entity.h"
#include "rules/values.h"
#include "rules/windows.h"

enum { CPU_P95, GPU_P95, MEM_P95, PATIENCE, WINDOW };

static const struct param params[] = {
    [CPU_P95] = {"cpu_threshold_p95", 70, 0, 100, PARAM_PERCENT,
                 "p95 of the node's CPU utilization must be below this"},
    [GPU_P95] = {"gpu_threshold_p95", 70, 0, 100, PARAM_PERCENT,
                 "p95 of GPU utilization must be below this"},
    [MEM_P95] = {"gpu_memory_threshold_p95", 70, 0, 100, PARAM_PERCENT,
                 "p95 of GPU memory use must be below this"},
    [PATIENCE] = {"patience", 1000, 0, 1e7, PARAM_POINTS,
                  "readings skipped at the start when no steps are known"},
    [WINDOW] = {"window", 500, 1, 1e6, PARAM_POINTS, "window length"},
    {0},
};

enum { COL_CPU, COL_GPU, COL_MEM, COLUMNS };
enum { FINE, ROOM, NOT_READ };

/* Memory up to which a batch may grow: the rest is for what is not the batch's. */
static const double MEM_AIM = 90; /* percent */

static unsigned rule_batch_size_classify(const struct readings *cols, const struct param_value *p)
{
    for (size_t k = 0; k < COLUMNS; k++)
        if (readings_are_empty(&cols[k]))
            return NOT_READ;
    return readings_side(&cols[COL_CPU], 0.95, p[CPU_P95].v) < 0 &&
                   readings_side(&cols[COL_GPU], 0.95, p[GPU_P95].v) < 0 &&
                   readings_side(&cols[COL_MEM], 0.95, p[MEM_P95].v) < 0
               ? ROOM
               : FINE;
}

static const struct windows_spec spec = {
    .columns = COLUMNS, .points = WINDOW, .classify = rule_batch_size_classify};

/* By one kind of memory. */
struct use {
    struct windows windows;
    struct hist mem;
};

struct rule_batch_size_gpu {
    struct gpu_head head;
    struct hist util;
    struct use use[GPU_MEMORY_N]; /* none of MEMORY_OF_JOB: others may fill the GPU as well */
};

struct rule_batch_size_state {
    struct per_gpu gpus;
    struct hist cpu;
    int64_t batch; /* samples of the largest training step; 0: not known */
};

/* As long as the better kind was not read. */
static void rule_batch_size_see_gpu(struct rule_batch_size_gpu *g, const struct rule_view *c,
                                    const struct sweeps *s, size_t i)
{
    const float *cols[COLUMNS] = {s->v[SIG_CPU], s->gpus[i].v[GPU_SIG_UTIL]};
    if (!cols[COL_CPU] || !cols[COL_GPU])
        return;
    shared_hist(s, cols[COL_GPU], &g->util);
    for (enum gpu_memory k = MEMORY_OF_DEVICE; k < GPU_MEMORY_N; k++) {
        cols[COL_MEM] = gpu_memory_column(k, s, i, c->node, NULL);
        if (cols[COL_MEM]) {
            windows_add(&g->use[k].windows, &spec, c, s, cols);
            shared_hist(s, cols[COL_MEM], &g->use[k].mem);
        }
        if (g->use[k].mem.n)
            return;
    }
}

static void rule_batch_size_sweeps(void *state, const struct rule_view *c, const struct sweeps *s)
{
    struct rule_batch_size_state *t = state;
    per_gpu_see(&t->gpus, sizeof(struct rule_batch_size_gpu), s);
    shared_hist(s, s->v[SIG_CPU], &t->cpu);
    for (size_t i = 0; i < s->n_gpus; i++)
        rule_batch_size_see_gpu(per_gpu_at(&t->gpus, i), c, s, i);
}

static void rule_batch_size_steps(void *state, const struct rule_view *c,
                                  const struct rank_sight *r, const struct step *v, size_t n)
{
    struct rule_batch_size_state *t = state;
    (void)c;
    (void)r;
    for (size_t i = 0; i < n; i++)
        if (v[i].mode == MODE_TRAIN && step_is_steady(&v[i]))
            t->batch = MAX_OF(t->batch, v[i].batch);
}

static void rule_batch_size_gpu_memory(void *own, enum state_op op)
{
    for (size_t k = 0; k < GPU_MEMORY_N; k++)
        windows_memory(&((struct rule_batch_size_gpu *)own)->use[k].windows, op);
}

static void rule_batch_size_memory(void *state, enum state_op op)
{
    per_gpu_memory(&((struct rule_batch_size_state *)state)->gpus, rule_batch_size_gpu_memory, op);
}

/* ---- judging ---- */

static enum gpu_memory rule_batch_size_memory_of(const struct rule_batch_size_gpu *g)
{
    return g->use[MEMORY_OF_DEVICE].mem.n ? MEMORY_OF_DEVICE : MEMORY_ACTIVITY;
}

static const struct hist *mem_of(const struct rule_batch_size_gpu *g)
{
    return &g->use[rule_batch_size_memory_of(g)].mem;
}

/* As if all memory in use grew with the batch: weights do not, so there is room for at least this.
 * How busy the controller is says nothing about that. */
static double batch_factor(const struct rule_batch_size_gpu *g)
{
    const double most = hist_max(mem_of(g));
    return most > 0 && rule_batch_size_memory_of(g) == MEMORY_OF_DEVICE ? fmax(MEM_AIM / most, 1)
                                                                        : NAN;
}

static void advise(struct verdict *v, struct finding *f, const struct rule_batch_size_state *t,
                   const struct rule_batch_size_gpu *g)
{
    const double factor = batch_factor(g), room = 100 - hist_max(mem_of(g));
    const int decimals = factor < 10;
    if (isnan(factor))
        finding_advise(v, f, "Increase the batch size, or use fewer or smaller machines.");
    else if (t->batch > 0)
        finding_advise(v, f,
                       "%.0f %% of the GPU memory is free: batches of %lld samples could be %.*f "
                       "times as large (%.0f). Alternatively, use fewer or smaller machines.",
                       room, (long long)t->batch, decimals, factor,
                       floor((double)t->batch * factor));
    else
        finding_advise(v, f,
                       "%.0f %% of the GPU memory is free: the batch could be %.*f times as large. "
                       "Alternatively, use fewer or smaller machines.",
                       room, decimals, factor);
}

static void rule_batch_size_add_numbers(struct verdict *v, struct finding *f,
                                        const struct rule_batch_size_state *t,
                                        const struct rule_batch_size_gpu *g)
{
    const bool occupied = rule_batch_size_memory_of(g) == MEMORY_OF_DEVICE;
    const double p95 = hist_quantile(mem_of(g), 0.95);
    finding_number(v, f, "cpu_p95", hist_quantile(&t->cpu, 0.95), "%");
    finding_number(v, f, "gpu_p95", hist_quantile(&g->util, 0.95), "%");
    finding_number(v, f, occupied ? "gpu_memory_p95" : "gpu_memory_activity_p95", p95, "%");
    finding_number(v, f, "gpu_memory_free", occupied ? 100 - hist_max(mem_of(g)) : NAN, "%");
    finding_number(v, f, "batch_factor", batch_factor(g), "");
    finding_number(v, f, "batch", t->batch > 0 ? (double)t->batch : NAN, "samples");
}

static void rule_batch_size_find(const struct judge *j, const struct judged_node *node,
                                 const struct rule_batch_size_gpu *g, const struct windows *w,
                                 struct verdict *v)
{
    const struct rule_batch_size_state *t = node->state;
    const struct episodes *e = &w->episodes[ROOM];
    const double held_s = (double)episodes_held_ns(e) / 1e9;
    struct finding *f = verdict_find(v, node->facts->id, g->head.entity);
    finding_when(v, f, episodes_ranges(e, j->arena), e->n);
    finding_say(v, f,
                "%s has headroom: utilization p95 %.0f %% (threshold %g %%), %s p95 %.0f %% "
                "(threshold %g %%), node CPU p95 %.0f %% (threshold %g %%)",
                g->head.entity, hist_quantile(&g->util, 0.95), j->p[GPU_P95].v,
                rule_batch_size_memory_of(g) == MEMORY_OF_DEVICE
                    ? "memory"
                    : "memory controller activity (memory use was not recorded)",
                hist_quantile(mem_of(g), 0.95), j->p[MEM_P95].v, hist_quantile(&t->cpu, 0.95),
                j->p[CPU_P95].v);
    advise(v, f, t, g);
    f->refute = "step time grows in proportion to the batch size";
    rule_batch_size_add_numbers(v, f, t, g);
    f->lost_gpu_s = held_s * (1 - hist_mean(&g->util) / 100);
    f->lost_s = f->lost_gpu_s;
    v->triggered += w->in_class[ROOM];
    v->violations += w->in_class[ROOM];
    v->last_triggered.ns = MAX_OF(v->last_triggered.ns, f->end.ns);
}

/* Returns how many windows there were to judge. */
static uint64_t rule_batch_size_judge_gpu(const struct judge *j, const struct judged_node *node,
                                          const struct rule_batch_size_gpu *g, struct verdict *out)
{
    struct windows w = windows_ended(&g->use[rule_batch_size_memory_of(g)].windows, &spec, j->p,
                                     node->from, j->run->ended);
    const uint64_t judged = w.judged - w.in_class[NOT_READ];
    if (w.episodes[ROOM].n)
        rule_batch_size_find(j, node, g, &w, out);
    windows_memory(&w, STATE_FREE);
    return judged;
}

static uint64_t rule_batch_size_judge_node(const struct judge *j, const struct judged_node *node,
                                           struct verdict *out)
{
    const struct rule_batch_size_state *t = node->state;
    uint64_t judged = 0;
    bool used = false;
    struct plot *box = verdict_plot(
        out, PLOT_BOX, arena_printf(j->arena, "Utilization of %s", node->facts->id), "%");
    for (size_t k = 0; k < t->gpus.n; k++) {
        const struct rule_batch_size_gpu *g = per_gpu_at(&t->gpus, k);
        if (!gpu_was_used(&g->head) || g->util.n == 0 || mem_of(g)->n == 0 || t->cpu.n == 0)
            continue;
        used = true;
        plot_box(out, box, g->head.entity, &g->util);
        plot_box(
            out, box,
            arena_printf(j->arena, "%s memory%s", g->head.entity,
                         rule_batch_size_memory_of(g) == MEMORY_OF_DEVICE ? "" : " controller"),
            mem_of(g));
        judged += rule_batch_size_judge_gpu(j, node, g, out);
    }
    if (used)
        plot_box(out, box, "CPU", &t->cpu);
    else
        out->n_plots--;
    return judged;
}

static void rule_batch_size_judge(const struct judge *j, struct verdict *out)
{
    uint64_t judged = 0;
    for (size_t i = 0; i < j->n_nodes; i++) {
        const struct rule_batch_size_state *t = j->nodes[i].state;
        out->datapoints = MAX_OF(out->datapoints, t->cpu.n);
        judged += rule_batch_size_judge_node(j, &j->nodes[i], out);
    }
    if (judged)
        return;
    const uint64_t needed =
        windows_needed(&j->p[WINDOW], j->nodes[0].facts->period_ns, j->run->ended);
    if (!judge_is_short(j, needed, out))
        verdict_not_evaluated(
            out, "utilization, memory and CPU were not recorded together for any GPU in use");
}

/* Low use has causes that a larger batch does not cure, and a job that leaks must not grow. */
static const char *const explained_by[] = {
    "CPUBottleneck", "IOBottleneck", "Dataloader",  "CheckpointStall",   "EvalHeavy",
    "SyncBound",     "HostBound",    "CompileTime", "GPUMemoryIncrease", NULL};

static const struct number_label labels[] = {
    {"cpu_p95", "Node CPU, p95"},
    {"gpu_p95", "GPU utilization, p95"},
    {"gpu_memory_p95", "GPU memory, p95"},
    {"gpu_memory_activity_p95", "Memory controller activity, p95"},
    {"gpu_memory_free", "Free GPU memory"},
    {"batch_factor", "Possible batch size / current"},
    {"batch", "Batch size"},
    {0},
};

const struct rule rule_batch_size = {
    .name = "BatchSize",
    .title = "Batch size",
    .description = "Checks whether CPU, GPU and GPU memory all have headroom in a window of the "
                   "training loop, by their 95th percentiles. Where memory use was not recorded, "
                   "as in SageMaker runs, memory controller activity is used instead.",
    .recommendation = "Increase the batch size, or use fewer or smaller machines.",
    .params = params,
    .labels = labels,
    .patience = PATIENCE,
    .needs = NEEDS_SWEEPS | NEEDS_GPU,
    .explained_by = explained_by,
    .state_size = sizeof(struct rule_batch_size_state),
    .sweeps = rule_batch_size_sweeps,
    .steps = rule_batch_size_steps,
    .memory = rule_batch_size_memory,
    .judge = rule_batch_size_judge,
};
