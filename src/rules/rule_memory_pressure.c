/* SPDX-License-Identifier: Apache-2.0 */
/* MemoryPressure: tasks of the node wait for memory: it swaps, reads programs from disk again, or
 * searches for pages to free. */
#include <math.h>

#include "base/human.h"
#include "base/mem.h"
#include "rules/per_entity.h"
#include "rules/windows.h"

enum { THRESHOLD };

static const struct param params[] = {
    [THRESHOLD] = {"threshold", 5, 0, 100, PARAM_PERCENT,
                   "maximum share of the time in which tasks wait for memory"},
    {0},
};

/* A reading above this is a moment of pressure; percent. */
static const float HIGH = 5;

enum { LEAST = 20 };

struct memory_state {
    struct node_state head;
    bool has_swap;
    float first_swap, last_swap; /* bytes */
    float most_limit;            /* of its control group's limit, percent */
    struct episodes when;
};

/* ---- seeing ---- */

static void memory_see_swap(struct memory_state *t, const float *v, size_t n)
{
    for (size_t i = 0; v && i < n; i++)
        if (!isnan(v[i])) {
            t->first_swap = t->has_swap ? t->first_swap : v[i];
            t->last_swap = v[i];
            t->has_swap = true;
        }
}

static void memory_see_limit(struct memory_state *t, const float *used, const float *limit,
                             size_t n)
{
    for (size_t i = 0; used && limit && i < n; i++)
        if (limit[i] > 0 && 100 * used[i] > t->most_limit * limit[i])
            t->most_limit = 100 * used[i] / limit[i];
}

static void memory_sweeps(void *state, const struct rule_view *c, const struct sweeps *s)
{
    struct memory_state *t = state;
    const float *psi = s->v[SIG_PSI_MEM];
    (void)c;
    memory_see_swap(t, s->v[SIG_SWAP], s->n);
    memory_see_limit(t, s->v[SIG_CGROUP_MEM], s->v[SIG_CGROUP_MEM_LIMIT], s->n);
    if (!(values_highest(psi, s->n, 0) > HIGH))
        return;
    for (size_t i = 0; i < s->n; i++)
        if (psi[i] > HIGH)
            episodes_add(&t->when, s->at[i], s->period_ns);
}

static void pressure_memory(void *state, enum state_op op)
{
    episodes_memory(&((struct memory_state *)state)->when, op);
}

/* ---- judging ---- */

static void memory_find(const struct judge *j, struct verdict *v, const struct judged_node *node,
                        double loop_s)
{
    const struct memory_state *t = node->state;
    const double psi = hist_mean(state_signal(t, 0)), full = hist_mean(state_signal(t, 1)),
                 used = hist_quantile(state_signal(t, 2), 0.95),
                 grown = t->has_swap ? (double)t->last_swap - (double)t->first_swap : NAN;
    char bytes[HUMAN_LEN];
    const char *swap = grown > 0 ? arena_printf(j->arena, "; swap in use grew by %s",
                                                human_value(grown, "B", bytes, sizeof bytes))
                                 : "",
               *limit = t->most_limit > 0
                            ? arena_printf(j->arena,
                                           "; its control group used up to %.0f %% of its "
                                           "memory limit",
                                           (double)t->most_limit)
                            : "";
    struct finding *f = verdict_find(v, node->facts->id, "");
    finding_in(v, f, &t->when);
    finding_say(v, f, "tasks waited for memory for %.0f %% of the time (threshold %g %%)%s%s", psi,
                j->p[THRESHOLD].v, swap, limit);
    f->refute = "other processes wait for memory, and the job does not";
    FINDING_NUMBERS(v, f, psi, full, used, grown,
                    t->most_limit > 0 ? (double)t->most_limit : NUMBER_ABSENT);
    finding_lost(f, loop_s * psi / 100, node->facts->n_gpus);
    finding_count(v, f, 1, 1);
}

static void memory_judge(const struct judge *j, struct verdict *out)
{
    const double loop_s = j->run->has_steps ? judge_counted_s(j) : judge_job_s(j);
    double highest = 0;
    for (size_t i = 0; i < j->n_nodes; i++) {
        const struct hist *h = state_signal(j->nodes[i].state, 0);
        out->datapoints = MAX_OF(out->datapoints, h->n);
        if (h->n < LEAST)
            continue;
        const double psi = hist_mean(h);
        highest = fmax(highest, psi);
        if (psi > j->p[THRESHOLD].v && judge_is_much(j, loop_s * psi / 100))
            memory_find(j, out, &j->nodes[i], loop_s);
    }
    if (out->datapoints < LEAST && !judge_is_short(j, LEAST, out))
        verdict_not_evaluated(out,
                              "memory pressure was not recorded (a kernel with PSI is needed)");
    else if (out->state == RULE_CLEAR)
        verdict_why(out, "tasks waited for memory for %.1f %% of the time", highest);
}

const struct rule rule_memory_pressure = {
    .name = "MemoryPressure",
    .title = "Memory pressure",
    .description = "Checks how long tasks of the node waited for memory (PSI): it swaps, or frees "
                   "pages that are needed again.",
    .recommendation = "Use less memory (fewer loader workers, less prefetching, a smaller data set "
                      "in memory), raise the memory limit, or use a machine with more memory.",
    .params = params,
    .labels = {{"pressure", "%", "Memory pressure, mean"},
               {"pressure_full", "%", "Memory pressure (all tasks), mean"},
               {"memory_p95", "%", "Memory used, p95"},
               {"swap_growth", "B", "Growth of swap in use"},
               {"limit", "%", "Highest use of the memory limit"}},
    .needs = NEEDS_SWEEPS | NEEDS_STEPS,
    RULE_STATE(struct memory_state, .signals = {SIG_PSI_MEM, SIG_PSI_MEM_FULL, SIG_MEM},
               .n_signals = 3, .sweeps = memory_sweeps, .memory_own = pressure_memory),
    .judge = memory_judge,
};
