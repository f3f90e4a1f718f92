/* SPDX-License-Identifier: Apache-2.0 */
/* UnusedGPU: a GPU that the job could use and never did. */
#include <math.h>

#include "base/mem.h"
#include "rules/judging.h"
#include "rules/per_entity.h"
#include "rules/values.h"

enum { PATIENCE };

static const struct param params[] = {
    [PATIENCE] = {"patience", 1000, 0, 1e7, PARAM_POINTS,
                  "readings after which an idle GPU is reported during a run"},
    {0},
};

enum { LEAST = 10 };

struct rule_unused_gpu_gpu {
    struct gpu_head head;
    uint64_t readings; /* of its utilization */
    int64_t held_ns;   /* that they cover */
    int64_t first_ns, last_ns;
};

struct rule_unused_gpu_state {
    struct per_gpu gpus;
};

static void rule_unused_gpu_see(struct rule_unused_gpu_gpu *g, const struct sweeps *s,
                                const float *util)
{
    const size_t n = values_read(util, s->n);
    size_t first = 0, last = s->n;
    if (n == 0)
        return;
    while (isnan(util[first]))
        first++;
    while (isnan(util[last - 1]))
        last--;
    if (g->readings == 0)
        g->first_ns = s->at[first].ns;
    g->readings += n;
    g->held_ns += (int64_t)n * s->period_ns;
    g->last_ns = s->at[last - 1].ns + s->period_ns;
}

static void rule_unused_gpu_sweeps(void *state, const struct rule_view *c, const struct sweeps *s)
{
    struct rule_unused_gpu_state *t = state;
    (void)c;
    per_gpu_see(&t->gpus, sizeof(struct rule_unused_gpu_gpu), s);
    for (size_t i = 0; i < s->n_gpus; i++)
        if (s->gpus[i].v[GPU_SIG_UTIL])
            rule_unused_gpu_see(per_gpu_at(&t->gpus, i), s, s->gpus[i].v[GPU_SIG_UTIL]);
}

static void rule_unused_gpu_memory(void *state, enum state_op op)
{
    per_gpu_memory(&((struct rule_unused_gpu_state *)state)->gpus, NULL, op);
}

/* ---- judging ---- */

/* While a run goes on a GPU may still be waiting for its turn. */
static uint64_t rule_unused_gpu_needed(const struct judge *j, const struct judged_node *node)
{
    const struct param_value *p = &j->p[PATIENCE];
    if (j->run->ended || p->v <= 0)
        return LEAST;
    return MAX_OF((uint64_t)param_points(p, MAX_OF(node->facts->period_ns, 1)), LEAST);
}

struct rule_unused_gpu_tally {
    size_t measured, unused;
};

static bool is_measured(const struct judge *j, const struct judged_node *node,
                        const struct rule_unused_gpu_gpu *g)
{
    return gpu_was_used(&g->head) || g->readings >= rule_unused_gpu_needed(j, node);
}

static struct rule_unused_gpu_tally rule_unused_gpu_count(const struct judge *j,
                                                          const struct judged_node *node)
{
    const struct rule_unused_gpu_state *t = node->state;
    struct rule_unused_gpu_tally n = {0};
    for (size_t k = 0; k < t->gpus.n; k++) {
        const struct rule_unused_gpu_gpu *g = per_gpu_at(&t->gpus, k);
        n.measured += is_measured(j, node, g);
        n.unused += is_measured(j, node, g) && !gpu_was_used(&g->head);
    }
    return n;
}

static void rule_unused_gpu_find(const struct judged_node *node,
                                 const struct rule_unused_gpu_gpu *g,
                                 struct rule_unused_gpu_tally n, struct verdict *v)
{
    char when[48];
    const double held_s = (double)g->held_ns / 1e9;
    struct finding *f = verdict_find(v, node->facts->id, g->head.entity);
    finding_when(v, f, &(struct time_range){{g->first_ns}, {g->last_ns}}, 1);
    finding_say(v, f,
                "%s stayed at or below %.1f %% for %s with no process of the job on it; %zu of the "
                "node's %zu GPUs were unused",
                g->head.entity, (double)g->head.most_util, duration_text(held_s, when, sizeof when),
                n.unused, n.measured);
    if (n.unused == n.measured)
        finding_advise(v, f,
                       "The job used no GPU of this node: run it on a machine without GPUs, or "
                       "check that the framework can see them.");
    else
        finding_advise(v, f,
                       "Start a process for it (%zu per node instead of %zu), or use a machine "
                       "with %zu GPU%s.",
                       n.measured, n.measured - n.unused, n.measured - n.unused,
                       n.measured - n.unused == 1 ? "" : "s");
    f->refute = "a process of the job uses the GPU, but the driver does not list it";
    finding_number(v, f, "gpu_max", (double)g->head.most_util, "%");
    finding_number(v, f, "unused_gpus", (double)n.unused, "");
    finding_number(v, f, "gpus", (double)n.measured, "");
    f->lost_gpu_s = held_s;
    f->lost_s = held_s * (double)n.unused / (double)n.measured; /* that share of the node */
    v->triggered++;
    v->violations++;
    v->last_triggered.ns = MAX_OF(v->last_triggered.ns, f->end.ns);
}

static size_t rule_unused_gpu_judge_node(const struct judge *j, const struct judged_node *node,
                                         struct verdict *out)
{
    const struct rule_unused_gpu_state *t = node->state;
    const struct rule_unused_gpu_tally n = rule_unused_gpu_count(j, node);
    for (size_t k = 0; k < t->gpus.n; k++) {
        const struct rule_unused_gpu_gpu *g = per_gpu_at(&t->gpus, k);
        out->datapoints = MAX_OF(out->datapoints, g->readings);
        if (is_measured(j, node, g) && !gpu_was_used(&g->head))
            rule_unused_gpu_find(node, g, n, out);
    }
    return n.measured;
}

static void rule_unused_gpu_judge(const struct judge *j, struct verdict *out)
{
    size_t measured = 0;
    uint64_t need = LEAST;
    for (size_t i = 0; i < j->n_nodes; i++) {
        measured += rule_unused_gpu_judge_node(j, &j->nodes[i], out);
        need = MAX_OF(need, rule_unused_gpu_needed(j, &j->nodes[i]));
    }
    if (measured == 0 && !judge_is_short(j, need, out))
        verdict_not_evaluated(out, "GPU utilization was not reported");
    else if (out->state == RULE_CLEAR && measured == 1)
        verdict_why(out, "the GPU was used");
    else if (out->state == RULE_CLEAR)
        verdict_why(out, "all %zu GPUs were used", measured);
}

static const struct number_label labels[] = {
    {"gpu_max", "Highest utilization"},
    {"unused_gpus", "Unused GPUs"},
    {"gpus", "GPUs"},
    {0},
};

const struct rule rule_unused_gpu = {
    .name = "UnusedGPU",
    .title = "Unused GPU",
    .description = "Checks whether a GPU visible to the job stayed below 1 % utilization with no "
                   "process of the job on it.",
    .recommendation = "Start a process for each GPU, or use a machine with fewer GPUs.",
    .params = params,
    .labels = labels,
    .patience = -1, /* it looks at the whole job; its patience is for runs that go on */
    .needs = NEEDS_SWEEPS | NEEDS_GPU,
    .whole_job = true,
    .state_size = sizeof(struct rule_unused_gpu_state),
    .sweeps = rule_unused_gpu_sweeps,
    .memory = rule_unused_gpu_memory,
    .judge = rule_unused_gpu_judge,
};
