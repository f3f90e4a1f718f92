/* SPDX-License-Identifier: Apache-2.0 */
/* BatchSize: CPU, GPU and GPU memory all have room, so the batch could be larger or the machine
 * smaller. Memory is what is occupied; only of a run that does not have it, as those imported from
 * SageMaker, what the memory controller was busy with, and the finding states so. */
#include <math.h>

#include "base/mem.h"
#include "rules/gpu_activity.h"
#include "rules/per_entity.h"
#include "rules/windows.h"

enum { CPU_P95, GPU_P95, MEM_P95, PATIENCE, WINDOW }; /* parameters */

enum { COL_CPU, COL_GPU, COL_MEM, COLUMNS };
enum { FINE, ROOM, NOT_READ };

/* Memory up to which a batch may grow: the rest is for what is not the batch's. */
static const double MEM_AIM = 90; /* percent */

static unsigned batch_classify(const struct hist *cols, const struct param_value *p)
{
    for (size_t k = 0; k < COLUMNS; k++)
        if (cols[k].n == 0)
            return NOT_READ;
    return hist_quantile(&cols[COL_CPU], 0.95) < p[CPU_P95].v &&
                   hist_quantile(&cols[COL_GPU], 0.95) < p[GPU_P95].v &&
                   hist_quantile(&cols[COL_MEM], 0.95) < p[MEM_P95].v
               ? ROOM
               : FINE;
}

static const struct windows_spec spec = {
    .columns = COLUMNS, .points = WINDOW, .classify = batch_classify};

/* By one kind of memory. */
struct batch_use {
    struct windows windows;
    struct hist mem;
};

struct batch_gpu {
    struct gpu_head head;
    struct hist util;
    struct batch_use use[GPU_MEMORY_N]; /* none of MEMORY_OF_JOB: others may fill the GPU too */
};

struct batch_state {
    struct node_state head; /* with the CPU as its signal */
    int64_t batch;          /* samples of the largest training step; 0: not known */
};

/* As long as the better kind was not read. */
static void batch_see_gpu(void *gpu, const struct gpu_batch *c)
{
    struct batch_gpu *g = gpu;
    const float *cols[COLUMNS] = {c->s->v[SIG_CPU], c->gpu->v[GPU_SIG_UTIL]};
    if (!cols[COL_CPU] || !cols[COL_GPU])
        return;
    shared_hist(c->s, cols[COL_GPU], &g->util);
    for (enum gpu_memory k = MEMORY_OF_DEVICE; k < GPU_MEMORY_N; k++) {
        cols[COL_MEM] = gpu_memory_column(k, c, NULL);
        if (cols[COL_MEM]) {
            windows_add(&g->use[k].windows, &spec, c->rule, c->s, cols);
            shared_hist(c->s, cols[COL_MEM], &g->use[k].mem);
        }
        if (g->use[k].mem.n)
            return;
    }
}

static void batch_steps(void *state, const struct rule_view *c, const struct rule_rank *r,
                        const struct step *v, size_t n)
{
    struct batch_state *t = state;
    (void)c;
    (void)r;
    for (size_t i = 0; i < n; i++)
        if (v[i].mode == MODE_TRAIN && step_is_steady(&v[i]))
            t->batch = MAX_OF(t->batch, v[i].batch);
}

static void batch_memory_gpu(void *gpu, enum state_op op)
{
    for (size_t k = 0; k < GPU_MEMORY_N; k++)
        windows_memory(&((struct batch_gpu *)gpu)->use[k].windows, op);
}

/* ---- judging ---- */

/* Whether it is known how much memory is occupied; else only how busy the controller is. */
static bool batch_is_occupied(const struct batch_gpu *g)
{
    return g->use[MEMORY_OF_DEVICE].mem.n;
}

static const struct batch_use *batch_use_of(const struct batch_gpu *g)
{
    return &g->use[batch_is_occupied(g) ? MEMORY_OF_DEVICE : MEMORY_ACTIVITY];
}

static void batch_advise(struct verdict *v, struct finding *f, int64_t batch, double factor,
                         double room)
{
    const int decimals = factor < 10;
    if (isnan(factor))
        finding_advise(v, f, "Increase the batch size, or use fewer or smaller machines.");
    else if (batch > 0)
        finding_advise(v, f,
                       "%.0f %% of the GPU memory is free: batches of %lld samples could be %.*f "
                       "times as large (%.0f). Alternatively, use fewer or smaller machines.",
                       room, (long long)batch, decimals, factor, floor((double)batch * factor));
    else
        finding_advise(v, f,
                       "%.0f %% of the GPU memory is free: the batch could be %.*f times as large. "
                       "Alternatively, use fewer or smaller machines.",
                       room, decimals, factor);
}

/* The factor is as if all memory in use grew with the batch: weights do not, so there is room for
 * at least this. How busy the controller is does not show that. */
static void batch_find(const struct judge *j, const struct judged_node *node,
                       const struct batch_gpu *g, const struct windows *w, struct verdict *v)
{
    const struct batch_state *t = node->state;
    const struct hist *mem = &batch_use_of(g)->mem;
    const bool occupied = batch_is_occupied(g);
    const double cpu = hist_quantile(state_signal(t, 0), 0.95), gpu = hist_quantile(&g->util, 0.95),
                 p95 = hist_quantile(mem, 0.95), most = hist_max(mem),
                 factor = most > 0 && occupied ? fmax(MEM_AIM / most, 1) : NAN;
    struct finding *f = verdict_find(v, node->facts->id, g->head.entity);
    finding_in(v, f, &w->episodes[ROOM]);
    finding_say(v, f,
                "%s had headroom: utilization p95 %.0f %% (threshold %g %%), %s p95 %.0f %% "
                "(threshold %g %%), node CPU p95 %.0f %% (threshold %g %%)",
                g->head.entity, gpu, j->p[GPU_P95].v,
                occupied ? "memory" : "memory controller activity (memory use was not recorded)",
                p95, j->p[MEM_P95].v, cpu, j->p[CPU_P95].v);
    batch_advise(v, f, t->batch, factor, 100 - most);
    f->refute = "step time grows in proportion to the batch size";
    FINDING_NUMBERS(v, f, cpu, gpu, occupied ? p95 : NUMBER_ABSENT, occupied ? NUMBER_ABSENT : p95,
                    occupied ? 100 - most : NAN, factor, t->batch > 0 ? (double)t->batch : NAN);
    f->lost_s = f->lost_gpu_s =
        ns_to_s(episodes_held_ns(&w->episodes[ROOM])) * (1 - hist_mean(&g->util) / 100);
    finding_count(v, f, w->in_class[ROOM], w->in_class[ROOM]);
}

/* Returns how many windows there were to judge. */
static uint64_t batch_judge_gpu(const struct judge *j, const struct judged_node *node,
                                const struct batch_gpu *g, struct verdict *out)
{
    struct windows w =
        windows_ended(&batch_use_of(g)->windows, &spec, j->p, node->from, j->run->ended);
    const uint64_t judged = w.judged - w.in_class[NOT_READ];
    if (w.episodes[ROOM].n)
        batch_find(j, node, g, &w, out);
    windows_memory(&w, STATE_FREE);
    return judged;
}

static uint64_t batch_judge_node(const struct judge *j, const struct judged_node *node,
                                 struct verdict *out)
{
    const struct batch_state *t = node->state;
    uint64_t judged = 0;
    struct plot *box = verdict_plot(
        out, PLOT_BOX, arena_printf(j->arena, "Utilization of %s", node->facts->id), "%");
    for (size_t k = 0; k < t->head.n_gpus; k++) {
        const struct batch_gpu *g = state_gpu(t, k);
        const struct hist *mem = &batch_use_of(g)->mem;
        if (!gpu_was_used(&g->head) || g->util.n == 0 || mem->n == 0 || state_signal(t, 0)->n == 0)
            continue;
        plot_box(out, box, g->head.entity, &g->util);
        plot_box(out, box,
                 arena_printf(j->arena, "%s memory%s", g->head.entity,
                              batch_is_occupied(g) ? "" : " controller"),
                 mem);
        judged += batch_judge_gpu(j, node, g, out);
    }
    if (box->n_rows)
        plot_box(out, box, "CPU", state_signal(t, 0));
    else
        out->n_plots--;
    return judged;
}

static void batch_judge(const struct judge *j, struct verdict *out)
{
    uint64_t judged = 0;
    for (size_t i = 0; i < j->n_nodes; i++) {
        out->datapoints = MAX_OF(out->datapoints, state_signal(j->nodes[i].state, 0)->n);
        judged += batch_judge_node(j, &j->nodes[i], out);
    }
    if (judged)
        return;
    const uint64_t needed =
        windows_needed(&j->p[WINDOW], j->nodes[0].facts->period_ns, j->run->ended);
    if (!judge_is_short(j, needed, out))
        verdict_not_evaluated(
            out, "utilization, memory and CPU were not recorded together for any GPU in use");
}

const struct rule rule_batch_size = {
    .name = "BatchSize",
    .title = "Batch size",
    .description = "Checks whether CPU, GPU and GPU memory all have headroom in a window of the "
                   "training loop, by their 95th percentiles. Where memory use was not recorded, "
                   "as in SageMaker runs, memory controller activity is used instead.",
    .recommendation = "Increase the batch size, or use fewer or smaller machines.",
    RULE_PARAMS([CPU_P95] = {"cpu_threshold_p95", 70, 0, 100, PARAM_PERCENT,
                             "p95 of the node's CPU utilization must be below this"},
                [GPU_P95] = {"gpu_threshold_p95", 70, 0, 100, PARAM_PERCENT,
                             "p95 of GPU utilization must be below this"},
                [MEM_P95] = {"gpu_memory_threshold_p95", 70, 0, 100, PARAM_PERCENT,
                             "p95 of GPU memory use must be below this"},
                [PATIENCE] = {"patience", 1000, 0, 1e7, PARAM_POINTS,
                              "readings skipped at the start when no steps are known"},
                [WINDOW] = {"window", 500, 1, 1e6, PARAM_POINTS, "window length"}),
    .labels = {{"cpu_p95", "%", "Node CPU, p95"},
               {"gpu_p95", "%", "GPU utilization, p95"},
               {"gpu_memory_p95", "%", "GPU memory, p95"},
               {"gpu_memory_activity_p95", "%", "Memory controller activity, p95"},
               {"gpu_memory_free", "%", "Free GPU memory"},
               {"batch_factor", "", "Possible batch size / current"},
               {"batch", "samples", "Batch size"}},
    .estimates = true,
    .needs = NEEDS_SWEEPS | NEEDS_GPU,
    /* Low use has causes that a larger batch does not cure, and a job that leaks must not grow. */
    .explained_by =
        (const char *const[]){"CPUBottleneck", "IOBottleneck", "Dataloader", "CheckpointStall",
                              "EvalHeavy", "SyncBound", "HostBound", "CompileTime",
                              "TimeBetweenSteps", "SharedMachine", "LoaderStart", "SlowStorage",
                              "ThreadOversubscription", "GilContention", "Straggler",
                              "MemoryPressure", "GPUMemoryIncrease", NULL},
    RULE_STATE(struct batch_state, .signals = {SIG_CPU}, .n_signals = 1,
               .gpu_size = sizeof(struct batch_gpu), .gpu = batch_see_gpu,
               .memory_gpu = batch_memory_gpu),
    .steps = batch_steps,
    .judge = batch_judge,
};
