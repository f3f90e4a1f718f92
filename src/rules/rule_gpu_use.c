/* SPDX-License-Identifier: Apache-2.0 */
/* rule_gpu_use.c - rules about GPUs that do less than they could: LowGPUUtilization, UnusedGPU and
 * TensorCoresUnused. */
#include <math.h>

#include "base/mem.h"
#include "query/efficiency.h"
#include "rules/gpu_activity.h"
#include "rules/per_entity.h"
#include "rules/windows.h"

/* ==== LowGPUUtilization ====
 *
 * A GPU that is under-used, or whose use comes and goes. */

enum { P95, P5, WINDOW, LOW_GPU_PATIENCE }; /* parameters */

enum { FINE, UNDER_USED, FLUCTUATING };

static unsigned low_gpu_classify(const struct hist *util, const struct param_value *p)
{
    const double p95 = hist_quantile(util, 0.95);
    if (p95 < p[P95].v)
        return UNDER_USED;
    return p95 > p[P95].v && hist_quantile(util, 0.05) < p[P5].v ? FLUCTUATING : FINE;
}

static const struct windows_spec spec = {
    .columns = 1, .points = WINDOW, .classify = low_gpu_classify};

struct low_gpu {
    struct gpu_head head;
    struct windows windows;
    struct hist all;
};

static void low_gpu_see(void *gpu, const struct gpu_batch *c)
{
    struct low_gpu *g = gpu;
    const float *util = c->gpu->v[GPU_SIG_UTIL];
    if (!util)
        return;
    windows_add(&g->windows, &spec, c->rule, c->s, &util);
    shared_hist(c->s, util, &g->all);
}

static void low_gpu_memory(void *gpu, enum state_op op)
{
    windows_memory(&((struct low_gpu *)gpu)->windows, op);
}

static const struct {
    const char *words, *advice;
} kinds[] = {
    [UNDER_USED] = {"was underused", "Find out what the GPU waits for. If nothing limits it, use a "
                                     "larger batch, or fewer or smaller GPUs."},
    [FLUCTUATING] = {"was used intermittently",
                     "Look for work that the GPU waits for between kernels: data loading, copies, "
                     "blocking calls, evaluation."},
};

static void low_gpu_find(const struct judge *j, const struct judged_node *node,
                         const struct low_gpu *g, const struct windows *w, unsigned kind,
                         struct verdict *v)
{
    const struct episodes *e = &w->episodes[kind];
    if (e->n == 0)
        return;
    const double p95 = hist_quantile(&g->all, 0.95), p5 = hist_quantile(&g->all, 0.05),
                 mean = hist_mean(&g->all);
    struct finding *f = verdict_find(v, node->facts->id, g->head.entity);
    finding_in(v, f, e);
    finding_say(v, f, "%s %s: utilization p95 %.0f %% (threshold %g %%), p5 %.0f %%, mean %.0f %%",
                g->head.entity, kinds[kind].words, p95, j->p[P95].v, p5, mean);
    f->advice = kinds[kind].advice;
    f->refute = "SM activity or power is near its limit while utilization is low";
    FINDING_NUMBERS(v, f, p95, p5, mean);
    f->lost_s = f->lost_gpu_s = ns_to_s(episodes_held_ns(e)) * (1 - mean / 100);
    finding_count(v, f, w->in_class[kind], w->in_class[kind]);
}

static void low_gpu_judge(const struct judge *j, struct verdict *out)
{
    uint64_t judged = 0;
    struct plot *box = verdict_plot(out, PLOT_BOX, "GPU utilization", "%");
    const struct low_gpu *g;
    for (struct entity_at at = {0}; (g = next_gpu(j, &at));) {
        struct windows w = windows_ended(&g->windows, &spec, j->p, at.node->from, j->run->ended);
        plot_box(out, box, judge_gpu_name(j, at.node, g), &g->all);
        for (unsigned kind = UNDER_USED; kind <= FLUCTUATING; kind++)
            low_gpu_find(j, at.node, g, &w, kind, out);
        judged += w.judged;
        windows_memory(&w, STATE_FREE);
        out->datapoints = MAX_OF(out->datapoints, g->all.n);
    }
    if (judged)
        return;
    const uint64_t needed =
        windows_needed(&j->p[WINDOW], j->nodes[0].facts->period_ns, j->run->ended);
    if (!judge_is_short(j, needed, out))
        verdict_not_evaluated(out, "needs %llu readings of a GPU in use%s, has %llu",
                              (unsigned long long)needed, judge_time_of(j, needed, true),
                              (unsigned long long)out->datapoints);
}

const struct rule rule_low_gpu_utilization = {
    .name = "LowGPUUtilization",
    .title = "Low GPU utilization",
    .description = "Checks whether GPU utilization is low or fluctuates, by its 95th and 5th "
                   "percentiles in windows of the training loop.",
    .recommendation = "Look for bottlenecks, avoid blocking calls, and use a larger batch or "
                      "another distribution strategy.",
    RULE_PARAMS([P95] = {"threshold_p95", 70, 0, 100, PARAM_PERCENT,
                         "utilization is low when its p95 is below this"},
                [P5] = {"threshold_p5", 10, 0, 100, PARAM_PERCENT,
                        "otherwise, utilization fluctuates when its p5 is below this"},
                [WINDOW] = {"window", 500, 1, 1e6, PARAM_POINTS, "window length"},
                [LOW_GPU_PATIENCE] = {"patience", 1000, 0, 1e7, PARAM_POINTS,
                                      "readings skipped at the start when no steps are known"}),
    .labels = {{"gpu_p95", "%", "GPU utilization, p95"},
               {"gpu_p5", "%", "GPU utilization, p5"},
               {"gpu_mean", "%", "GPU utilization, mean"}},
    .estimates = true,
    .needs = NEEDS_SWEEPS | NEEDS_GPU,
    .explained_by = (const char *const[]){"CPUBottleneck", "IOBottleneck", "Dataloader",
                                          "CheckpointStall", "EvalHeavy", "SyncBound", "HostBound",
                                          "CompileTime", "TimeBetweenSteps", "SharedMachine",
                                          "LoaderStart", "SlowStorage", "ThreadOversubscription",
                                          "GilContention", "Straggler", "MemoryPressure", NULL},
    RULE_STATE(struct node_state, .gpu_size = sizeof(struct low_gpu), .gpu = low_gpu_see,
               .memory_gpu = low_gpu_memory),
    .judge = low_gpu_judge,
};

/* ==== UnusedGPU ====
 *
 * A GPU that the job could use and never did. */

enum { UNUSED_GPU_PATIENCE }; /* parameters */

enum { LEAST = 10 };

struct unused_gpu {
    struct gpu_head head;
    uint64_t readings; /* of its utilization */
    int64_t held_ns;   /* that they cover */
    struct time_range range;
};

static void unused_gpu_see(void *gpu, const struct gpu_batch *c)
{
    struct unused_gpu *g = gpu;
    const float *util = c->gpu->v[GPU_SIG_UTIL];
    const size_t n = util ? values_read(util, c->s->n) : 0;
    size_t first = 0, last = c->s->n;
    if (n == 0)
        return;
    while (isnan(util[first]))
        first++;
    while (isnan(util[last - 1]))
        last--;
    if (g->readings == 0)
        g->range.start = c->s->at[first];
    g->readings += n;
    g->held_ns += (int64_t)n * c->s->period_ns;
    g->range.end.ns = c->s->at[last - 1].ns + c->s->period_ns;
}

/* While a run is being recorded, a GPU may still be waiting for its turn. */
static uint64_t unused_gpu_needed(const struct judge *j, const struct judged_node *node)
{
    const struct param_value *p = &j->p[UNUSED_GPU_PATIENCE];
    if (j->run->ended || p->v <= 0)
        return LEAST;
    return MAX_OF((uint64_t)param_points(p, MAX_OF(node->facts->period_ns, 1)), LEAST);
}

static void unused_gpu_find(const struct judge *j, const struct judged_node *node,
                            const struct unused_gpu *g, size_t unused, size_t measured,
                            struct verdict *v)
{
    const double held_s = ns_to_s(g->held_ns);
    const size_t used = measured - unused;
    struct finding *f = verdict_find(v, node->facts->id, g->head.entity);
    finding_when(v, f, &g->range, 1);
    finding_say(v, f,
                "%s stayed at or below %.1f %% for %s with no process of the job on it; %zu of the "
                "node's %zu GPUs %s unused",
                g->head.entity, (double)g->head.most_util, judge_time(j, held_s), unused, measured,
                unused == 1 ? "was" : "were");
    if (used == 0)
        finding_advise(v, f,
                       "The job used no GPU of this node: run it on a machine without GPUs, or "
                       "check that the framework can see them.");
    else
        finding_advise(v, f,
                       "Start a process for it (%zu per node instead of %zu), or use a machine "
                       "with %zu GPU%s.",
                       measured, used, used, used == 1 ? "" : "s");
    f->refute = "a process of the job uses the GPU, but the driver does not list it";
    FINDING_NUMBERS(v, f, (double)g->head.most_util, (double)unused, (double)measured);
    f->lost_gpu_s = held_s;
    f->lost_s = held_s * (double)unused / (double)measured; /* that share of the node */
    finding_count(v, f, 1, 1);
}

/* Returns how many GPUs were measured. */
static size_t unused_gpu_judge_node(const struct judge *j, const struct judged_node *node,
                                    struct verdict *out)
{
    const struct node_state *t = node->state;
    const uint64_t needed = unused_gpu_needed(j, node);
    size_t used = 0, unused = 0;
    for (size_t k = 0; k < t->n_gpus; k++) {
        const struct unused_gpu *g = state_gpu(t, k);
        out->datapoints = MAX_OF(out->datapoints, g->readings);
        used += gpu_was_used(&g->head);
        unused += !gpu_was_used(&g->head) && g->readings >= needed;
    }
    for (size_t k = 0; k < t->n_gpus; k++) {
        const struct unused_gpu *g = state_gpu(t, k);
        if (!gpu_was_used(&g->head) && g->readings >= needed)
            unused_gpu_find(j, node, g, unused, used + unused, out);
    }
    return used + unused;
}

static void unused_gpu_judge(const struct judge *j, struct verdict *out)
{
    size_t measured = 0;
    uint64_t need = LEAST;
    for (size_t i = 0; i < j->n_nodes; i++) {
        measured += unused_gpu_judge_node(j, &j->nodes[i], out);
        need = MAX_OF(need, unused_gpu_needed(j, &j->nodes[i]));
    }
    if (measured == 0 && !judge_is_short(j, need, out))
        verdict_not_evaluated(out, "GPU utilization was not reported");
    else if (out->state == RULE_CLEAR && measured == 1)
        verdict_why(out, "the GPU was used");
    else if (out->state == RULE_CLEAR)
        verdict_why(out, "all %zu GPUs were used", measured);
}

const struct rule rule_unused_gpu = {
    .name = "UnusedGPU",
    .title = "Unused GPU",
    .description = "Checks whether a GPU visible to the job stayed below 1 % utilization with no "
                   "process of the job on it.",
    .recommendation = "Start a process for each GPU, or use a machine with fewer GPUs.",
    RULE_PARAMS([UNUSED_GPU_PATIENCE] =
                    {"patience", 1000, 0, 1e7, PARAM_POINTS,
                     "readings after which an idle GPU is reported during a run"}),
    .labels = {{"gpu_max", "%", "Highest utilization"},
               {"unused_gpus", "", "Unused GPUs"},
               {"gpus", "", "GPUs"}},
    .needs = NEEDS_SWEEPS | NEEDS_GPU,
    .whole_job = true,
    RULE_STATE(struct node_state, .gpu_size = sizeof(struct unused_gpu), .gpu = unused_gpu_see),
    .judge = unused_gpu_judge,
};

/* ==== TensorCoresUnused ====
 *
 * The SMs of a GPU are busy, its tensor cores are not. The usual cause are
 * matrix products in FP32 without TF32.
 *
 * Work that is limited by memory (elementwise operations, embeddings) uses no tensor cores either,
 * and would not gain by them: with high DRAM activity nothing is found. */

enum { SM, TENSOR, DRAM }; /* parameters */

static const double TENSOR_OF_SM = 0.1;
/* Of the time in which SMs are busy. Matrix products become 6 times as fast and more (H200: TF32
 * 495 TFLOP/s against FP32 67, a GPT in bf16 6.3 times as fast); if the whole becomes only 3 times
 * as fast, so much of its time is lost. */
static const double LOST_SHARE = 1 - 1.0 / 3;

static const char *factor_text(const struct judge *j, const char *gpu)
{
    const struct gpu_peak *p = gpu ? gpu_peak_find(gpu) : NULL;
    if (!p || p->tf32_tflops <= 0 || p->fp32_tflops <= 0)
        return "matrix products can be several times faster";
    return arena_printf(j->arena,
                        "on this GPU the peak is %.0f TFLOP/s in TF32 and %.0f in FP32, so matrix "
                        "products can be up to %.0f times as fast",
                        p->tf32_tflops, p->fp32_tflops, floor(p->tf32_tflops / p->fp32_tflops));
}

static void tensor_find(const struct judge *j, struct verdict *v, const struct judged_node *node,
                        const struct gpu_activity *g)
{
    const double sm = gpu_level_mean(&g->sm), tensor = gpu_level_mean(&g->tensor),
                 dram = gpu_level_mean(&g->dram);
    struct finding *f = verdict_find(v, node->facts->id, g->head.entity);
    finding_when(v, f, &g->range, 1);
    finding_say(v, f,
                "the SMs of %s were active %.0f %% of the time, its tensor cores %.1f %% "
                "(threshold %g %%): matrix products run in FP32 without TF32, or in a format that "
                "tensor cores do not support",
                g->head.entity, sm, tensor, j->p[TENSOR].v);
    finding_advise(v, f,
                   "Call torch.set_float32_matmul_precision(\"high\") for TF32, or train in bf16 "
                   "with torch.autocast(\"cuda\", dtype=torch.bfloat16): %s.",
                   factor_text(j, node->facts->gpu));
    f->refute = "the model has no matrix products or convolutions, or needs FP64";
    FINDING_NUMBERS(v, f, sm, tensor, dram);
    const double seconds =
        j->run->has_steps ? judge_counted_s(j) : wall_span_s(g->range.start, g->range.end);
    f->lost_s = f->lost_gpu_s = seconds * sm / 100 * LOST_SHARE;
    finding_count(v, f, 1, g->tensor.n);
}

static bool tensor_cores_are_unused(const struct judge *j, const struct gpu_activity *g)
{
    const double sm = gpu_level_mean(&g->sm), tensor = gpu_level_mean(&g->tensor),
                 dram = gpu_level_mean(&g->dram);
    const bool limited_by_memory = dram >= j->p[DRAM].v; /* no, where it is not known */
    return sm >= j->p[SM].v && tensor < j->p[TENSOR].v && tensor < TENSOR_OF_SM * sm &&
           !limited_by_memory;
}

static void tensor_judge(const struct judge *j, struct verdict *out)
{
    const struct gpu_activity *least = NULL, *g;
    for (struct entity_at at = {0}; (g = next_gpu(j, &at));) {
        const double tensor = gpu_level_mean(&g->tensor);
        if (isnan(gpu_level_mean(&g->sm)) || isnan(tensor))
            continue;
        out->datapoints = MAX_OF(out->datapoints, g->tensor.n);
        least = least && gpu_level_mean(&least->tensor) <= tensor ? least : g;
        if (tensor_cores_are_unused(j, g))
            tensor_find(j, out, at.node, g);
    }
    if (!least)
        gpu_activity_is_missing(j, out);
    else if (out->state == RULE_CLEAR)
        verdict_why(out, "tensor cores active %.1f %% of the time, SMs %.0f %%, DRAM %.0f %%",
                    gpu_level_mean(&least->tensor), gpu_level_mean(&least->sm),
                    gpu_level_mean(&least->dram));
}

const struct rule rule_tensor_cores_unused = {
    .name = "TensorCoresUnused",
    .title = "Tensor cores unused",
    .description = "Checks whether the SMs of a GPU are busy while its tensor cores are not, as "
                   "with FP32 matrix products without TF32.",
    .recommendation = "Enable TF32, or train in bf16.",
    RULE_PARAMS([SM] = {"sm_threshold", 50, 0, 100, PARAM_PERCENT,
                        "the SMs are busy from this SM activity"},
                [TENSOR] = {"tensor_threshold", 5, 0, 100, PARAM_PERCENT,
                            "tensor cores are unused below this activity, if also below a tenth of "
                            "the SM activity"},
                [DRAM] = {"dram_threshold", 60, 0, 100, PARAM_PERCENT,
                          "from this DRAM activity, memory bandwidth is the limit instead"}),
    .labels = {{"sm_active", "%", "SM activity"},
               {"tensor_active", "%", "Tensor core activity"},
               {"dram_active", "%", "DRAM activity"}},
    .estimates = true,
    .needs = NEEDS_SWEEPS | NEEDS_GPU,
    RULE_STATE(struct node_state, GPU_ACTIVITY),
    .judge = tensor_judge,
};
