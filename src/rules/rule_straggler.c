/* SPDX-License-Identifier: Apache-2.0 */
/* Straggler: one rank arrives last at most synchronizations, and the others wait for it. */
#include <math.h>

#include "base/mem.h"
#include "query/frontier.h"
#include "rules/judging.h"
#include "rules/per_entity.h"

enum { THRESHOLD };

static const struct param params[] = {
    [THRESHOLD] = {"threshold", 5, 0, 100, PARAM_PERCENT,
                   "maximum share of the iteration that a rank is later than the others"},
    {0},
};

struct straggler_rank {
    struct rank_head head;
    uint64_t steps;
    struct time_range seen;
    struct frontier_rank own;
};

/* ---- seeing ---- */

static void straggler_steps(void *state, const struct rule_view *c, const struct rank_sight *r,
                            const struct step *v, size_t n)
{
    struct straggler_rank *own = state_rank(state, c, r);
    for (size_t i = 0; i < n; i++) {
        if (v[i].mode != MODE_TRAIN || !step_is_steady(&v[i]))
            continue;
        if (!own->steps++)
            own->seen.start = v[i].start;
        own->seen.end = step_time(&v[i]).end;
    }
    frontier_see(&own->own, v, n);
}

static void straggler_memory(void *rank, enum state_op op)
{
    STATE_VEC(op, &((struct straggler_rank *)rank)->own);
}

/* ---- judging ---- */

struct straggler_ranks {
    const struct straggler_rank **v;
    const struct frontier_rank **own;
    const struct judged_node **node;
    size_t n;
};

static struct straggler_ranks straggler_all(const struct judge *j)
{
    struct straggler_ranks x = {.n = 0};
    size_t most = 0;
    for (size_t i = 0; i < j->n_nodes; i++)
        most += ((const struct node_state *)j->nodes[i].state)->n_ranks;
    x.v = arena_array(j->arena, const struct straggler_rank *, most);
    x.own = arena_array(j->arena, const struct frontier_rank *, most);
    x.node = arena_array(j->arena, const struct judged_node *, most);
    const struct straggler_rank *r;
    for (struct entity_at at = {0}; (r = next_rank(j, &at));) {
        if (!r->own.n)
            continue;
        x.v[x.n] = r;
        x.own[x.n] = &r->own;
        x.node[x.n++] = at.node;
    }
    return x;
}

static void straggler_find(const struct judge *j, struct verdict *v,
                           const struct straggler_ranks *all, const struct frontier *x)
{
    const struct straggler_rank *r = all->v[x->rank];
    const char *stage = frontier_stage_name(x->stage);
    const double share = 100 * x->excess_s / x->iteration_s;
    struct finding *f = verdict_find(v, all->node[x->rank]->facts->id, rank_entity(j, r));
    finding_when(v, f, &r->seen, 1);
    finding_say(
        v, f,
        "rank %lld slowed the others down by %s of each iteration of %s, %.0f %% (threshold "
        "%g %%): '%s' took %s on it and %s on the median of the others; it led %.0f %% of "
        "%zu steps",
        (long long)r->head.who.rank, judge_time(j, x->excess_s), judge_time(j, x->iteration_s),
        share, j->p[THRESHOLD].v, stage, judge_time(j, x->stage_s), judge_time(j, x->usual_s),
        100 * x->led, x->steps);
    finding_advise(v, f,
                   "Look at what rank %lld does in '%s' and at its node and GPU; with the others' "
                   "time there, each iteration takes %s less.",
                   (long long)r->head.who.rank, stage, judge_time(j, x->excess_s));
    f->refute = "the ranks do not train together, or this rank has more work by design";
    FINDING_NUMBERS(v, f, 1e3 * x->excess_s, share, 1e3 * x->stage_s, 1e3 * x->usual_s,
                    1e3 * x->waited_s, 100 * x->led, (double)x->steps);
    finding_lost(f, x->excess_s * (double)r->steps, judge_gpus(j));
    finding_count(v, f, 1, r->steps);
}

static void straggler_judge(const struct judge *j, struct verdict *out)
{
    const struct straggler_ranks all = straggler_all(j);
    struct frontier x;
    if (all.n < 2) {
        verdict_not_evaluated(out, "needs at least two ranks with training steps");
        return;
    }
    if (!frontier_of(all.own, all.n, j->arena, &x)) {
        verdict_not_evaluated(out, "needs 20 training steps after warm-up that all ranks have");
        return;
    }
    const double share = 100 * x.excess_s / x.iteration_s;
    const bool much =
        share > j->p[THRESHOLD].v && judge_is_much(j, x.excess_s * (double)all.v[x.rank]->steps);
    out->datapoints = x.steps;
    if (x.trust == FRONTIER_SURE && much)
        straggler_find(j, out, &all, &x);
    else if (x.trust == FRONTIER_AMBIGUOUS && much)
        verdict_why(
            out,
            "rank %lld was last most often, by %.1f %% of the iteration, but another rank or "
            "part of the step is as likely the reason",
            (long long)all.v[x.rank]->head.who.rank, share);
    else
        verdict_why(out, "no rank was later than the others by more than %.1f %% of the iteration",
                    fmax(share, 0));
}

static const struct number_label labels[] = {
    {"excess", "ms", "Later than the others, per step"},
    {"share", "%", "Share of the iteration"},
    {"stage", "ms", "That part of the step on this rank"},
    {"usual", "ms", "On the median of the others"},
    {"waited", "ms", "Waited by the median of the others, per step"},
    {"led", "%", "Share of the steps"},
    {"steps", "", "Steps compared"},
    {0},
};

const struct rule rule_straggler = {
    .name = "Straggler",
    .title = "Slow rank",
    .description =
        "Checks whether one rank makes the others wait: its own work (all but backward and "
        "collectives) takes longest in most steps, and the others wait for it. Only durations of "
        "the same steps are compared. Nothing is reported where another rank or part of the step "
        "is as likely.",
    .recommendation = "Look at the rank's data, node and GPU.",
    .params = params,
    .labels = labels,
    .patience = -1,
    .needs = NEEDS_STEPS,
    .explained_by = (const char *const[]){"GPUThrottling", NULL},
    RULE_STATE(struct node_state, .rank_size = sizeof(struct straggler_rank),
               .memory_rank = straggler_memory),
    .steps = straggler_steps,
    .judge = straggler_judge,
};
