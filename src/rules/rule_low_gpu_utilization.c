/* SPDX-License-Identifier: Apache-2.0 */
/* LowGPUUtilization: a GPU that is under-used, or whose use comes and goes. */
#include <math.h>

#include "base/mem.h"
#include "rules/per_entity.h"
#include "rules/windows.h"

enum { P95, P5, WINDOW, PATIENCE }; /* parameters */

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

/* ---- judging ---- */

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
                [PATIENCE] = {"patience", 1000, 0, 1e7, PARAM_POINTS,
                              "readings skipped at the start when no steps are known"}),
    .labels = {{"gpu_p95", "%", "GPU utilization, p95"},
               {"gpu_p5", "%", "GPU utilization, p5"},
               {"gpu_mean", "%", "GPU utilization, mean"}},
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
