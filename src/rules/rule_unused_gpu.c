/* SPDX-License-Identifier: Apache-2.0 */
/* UnusedGPU: a GPU that the job could use and never did. */
#include <math.h>

#include "base/mem.h"
#include "rules/per_entity.h"

enum { PATIENCE }; /* parameters */

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

/* ---- judging ---- */

/* While a run goes on a GPU may still be waiting for its turn. */
static uint64_t unused_gpu_needed(const struct judge *j, const struct judged_node *node)
{
    const struct param_value *p = &j->p[PATIENCE];
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
    RULE_PARAMS([PATIENCE] = {"patience", 1000, 0, 1e7, PARAM_POINTS,
                              "readings after which an idle GPU is reported during a run"}),
    .labels = {{"gpu_max", "%", "Highest utilization"},
               {"unused_gpus", "", "Unused GPUs"},
               {"gpus", "", "GPUs"}},
    .needs = NEEDS_SWEEPS | NEEDS_GPU,
    .whole_job = true,
    RULE_STATE(struct node_state, .gpu_size = sizeof(struct unused_gpu), .gpu = unused_gpu_see),
    .judge = unused_gpu_judge,
};
