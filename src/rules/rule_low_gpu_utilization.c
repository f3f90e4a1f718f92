/* SPDX-License-Identifier: Apache-2.0 */
/* LowGPUUtilization: a GPU that is under-used, or whose use comes and goes. */
#include <math.h>

#include "base/mem.h"
#include "rules/hist.h"
#include "rules/judging.h"
#include "rules/per_entity.h"
#include "rules/values.h"
#include "rules/windows.h"

enum { P95, P5, WINDOW, PATIENCE };

static const struct param params[] = {
    [P95] = {"threshold_p95", 70, 0, 100, PARAM_PERCENT,
             "utilization is low when its p95 is below this"},
    [P5] = {"threshold_p5", 10, 0, 100, PARAM_PERCENT,
            "otherwise, utilization fluctuates when its p5 is below this"},
    [WINDOW] = {"window", 500, 1, 1e6, PARAM_POINTS, "window length"},
    [PATIENCE] = {"patience", 1000, 0, 1e7, PARAM_POINTS,
                  "readings skipped at the start when no steps are known"},
    {0},
};

enum { FINE, UNDER_USED, FLUCTUATING };

static unsigned rule_low_gpu_utilization_classify(const struct readings *util,
                                                  const struct param_value *p)
{
    const int p95 = readings_side(util, 0.95, p[P95].v);
    if (p95 < 0)
        return UNDER_USED;
    return p95 > 0 && readings_side(util, 0.05, p[P5].v) < 0 ? FLUCTUATING : FINE;
}

static const struct windows_spec spec = {
    .columns = 1, .points = WINDOW, .classify = rule_low_gpu_utilization_classify};

struct rule_low_gpu_utilization_gpu {
    struct gpu_head head;
    struct windows windows;
    struct hist all;
    int64_t period_ns;
};

struct rule_low_gpu_utilization_state {
    struct per_gpu gpus;
};

static void rule_low_gpu_utilization_sweeps(void *state, const struct rule_view *c,
                                            const struct sweeps *s)
{
    struct rule_low_gpu_utilization_state *t = state;
    per_gpu_see(&t->gpus, sizeof(struct rule_low_gpu_utilization_gpu), s);
    for (size_t i = 0; i < s->n_gpus; i++) {
        struct rule_low_gpu_utilization_gpu *g = per_gpu_at(&t->gpus, i);
        const float *util = s->gpus[i].v[GPU_SIG_UTIL];
        if (!util)
            continue;
        windows_add(&g->windows, &spec, c, s, &util);
        shared_hist(s, util, &g->all);
        g->period_ns = s->period_ns;
    }
}

static void rule_low_gpu_utilization_one_memory(void *own, enum state_op op)
{
    windows_memory(&((struct rule_low_gpu_utilization_gpu *)own)->windows, op);
}

static void rule_low_gpu_utilization_memory(void *state, enum state_op op)
{
    per_gpu_memory(&((struct rule_low_gpu_utilization_state *)state)->gpus,
                   rule_low_gpu_utilization_one_memory, op);
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

/* GPU time that was not used, of the time in which the rule held. */
static double idle_share(const struct hist *h)
{
    return 1 - hist_mean(h) / 100;
}

static void rule_low_gpu_utilization_find(struct verdict *v, const struct judge *j,
                                          const struct judged_node *node,
                                          const struct rule_low_gpu_utilization_gpu *g,
                                          const struct windows *w, unsigned kind)
{
    const struct episodes *e = &w->episodes[kind];
    if (e->n == 0)
        return;
    const double held_s = (double)episodes_held_ns(e) / 1e9, p95 = hist_quantile(&g->all, 0.95),
                 p5 = hist_quantile(&g->all, 0.05);
    struct finding *f = verdict_find(v, node->facts->id, g->head.entity);
    finding_when(v, f, episodes_ranges(e, j->arena), e->n);
    finding_say(v, f, "%s %s: utilization p95 %.0f %% (threshold %g %%), p5 %.0f %%, mean %.0f %%",
                g->head.entity, kinds[kind].words, p95, j->p[P95].v, p5, hist_mean(&g->all));
    finding_advise(v, f, "%s", kinds[kind].advice);
    f->refute = "SM activity or power is near its limit while utilization is low";
    finding_number(v, f, "gpu_p95", p95, "%");
    finding_number(v, f, "gpu_p5", p5, "%");
    finding_number(v, f, "gpu_mean", hist_mean(&g->all), "%");
    f->lost_gpu_s = held_s * idle_share(&g->all);
    f->lost_s = f->lost_gpu_s;
    v->triggered += w->in_class[kind];
    v->violations += w->in_class[kind];
    v->last_triggered.ns = MAX_OF(v->last_triggered.ns, f->end.ns);
}

static void rule_low_gpu_utilization_plot(struct verdict *v, struct plot *p,
                                          const struct judged_node *node,
                                          const struct rule_low_gpu_utilization_gpu *g,
                                          struct arena *a)
{
    plot_box(v, p, arena_printf(a, "%s %s", node->facts->id, g->head.entity), &g->all);
}

static uint64_t rule_low_gpu_utilization_judge_gpu(const struct judge *j,
                                                   const struct judged_node *node,
                                                   const struct rule_low_gpu_utilization_gpu *g,
                                                   struct verdict *out)
{
    struct windows w = windows_ended(&g->windows, &spec, j->p, node->from, j->run->ended);
    const uint64_t judged = w.judged;
    for (unsigned kind = UNDER_USED; kind <= FLUCTUATING; kind++)
        rule_low_gpu_utilization_find(out, j, node, g, &w, kind);
    windows_memory(&w, STATE_FREE);
    return judged;
}

static void rule_low_gpu_utilization_judge(const struct judge *j, struct verdict *out)
{
    uint64_t judged = 0, most = 0;
    struct plot *box = verdict_plot(out, PLOT_BOX, "GPU utilization", "%");
    for (size_t i = 0; i < j->n_nodes; i++) {
        const struct rule_low_gpu_utilization_state *t = j->nodes[i].state;
        for (size_t k = 0; k < t->gpus.n; k++) {
            const struct rule_low_gpu_utilization_gpu *g = per_gpu_at(&t->gpus, k);
            if (!gpu_was_used(&g->head))
                continue;
            rule_low_gpu_utilization_plot(out, box, &j->nodes[i], g, j->arena);
            judged += rule_low_gpu_utilization_judge_gpu(j, &j->nodes[i], g, out);
            most = MAX_OF(most, g->all.n);
        }
    }
    out->datapoints = most;
    if (judged)
        return;
    const uint64_t needed =
        windows_needed(&j->p[WINDOW], j->nodes[0].facts->period_ns, j->run->ended);
    if (!judge_is_short(j, needed, out))
        verdict_not_evaluated(out, "needs %llu readings of a GPU in use%s, has %llu",
                              (unsigned long long)needed, judge_time_of(j, needed, true),
                              (unsigned long long)most);
}

static const char *const explained_by[] = {"CPUBottleneck",   "IOBottleneck", "Dataloader",
                                           "CheckpointStall", "EvalHeavy",    "SyncBound",
                                           "HostBound",       "CompileTime",  NULL};

static const struct number_label labels[] = {
    {"gpu_p95", "GPU utilization, p95"},
    {"gpu_p5", "GPU utilization, p5"},
    {"gpu_mean", "GPU utilization, mean"},
    {0},
};

const struct rule rule_low_gpu_utilization = {
    .name = "LowGPUUtilization",
    .title = "Low GPU utilization",
    .description = "Checks whether GPU utilization is low or fluctuates, by its 95th and 5th "
                   "percentiles in windows of the training loop.",
    .recommendation = "Look for bottlenecks, avoid blocking calls, and use a larger batch or "
                      "another distribution strategy.",
    .params = params,
    .labels = labels,
    .patience = PATIENCE,
    .needs = NEEDS_SWEEPS | NEEDS_GPU,
    .explained_by = explained_by,
    .state_size = sizeof(struct rule_low_gpu_utilization_state),
    .sweeps = rule_low_gpu_utilization_sweeps,
    .memory = rule_low_gpu_utilization_memory,
    .judge = rule_low_gpu_utilization_judge,
};
