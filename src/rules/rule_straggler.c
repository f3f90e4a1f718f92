/* SPDX-License-Identifier: Apache-2.0 */
/* Straggler: one rank arrives last at most synchronizations, and the others wait for it.
 *
 * Where all ranks arrive together, one may still be slower inside backward, which ends for all at
 * once. Its duration does not show that, but what the loop's thread did in it does: it worked, or
 * waited for a core, while the threads of the others waited for it. That is evaluated where there
 * is no GPU; a GPU works on its own. Durations are those of the host, so with GPUs those of the
 * launches, up to where the host waits: the finding states so. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/stat.h"
#include "base/vec.h"
#include "query/frontier.h"
#include "rules/per_entity.h"

enum { THRESHOLD };

struct straggler_rank {
    struct rank_head head;
    uint64_t steps;
    struct time_range seen;
    struct frontier_rank own;
    struct counted ran, delay; /* CPU time of the loop's thread, and its waits for a core */
};

/* How near to the busiest rank another must not come. */
static const double NEAR_BUSIEST = 0.5;

/* ---- seeing ---- */

static void straggler_steps(void *state, const struct rule_view *c, const struct rule_rank *r,
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

static void straggler_event(void *state, const struct rule_view *c, const struct rule_event *v)
{
    if (v->worker >= 0 || (v->id != EV_CPU_THREAD && v->id != EV_CPU_DELAY))
        return;
    struct straggler_rank *r = state_event_rank(state, c, v);
    counted_see(v->id == EV_CPU_THREAD ? &r->ran : &r->delay, c->from, v);
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
    const size_t most =
        SUM_OF(i, j->n_nodes, ((const struct node_state *)j->nodes[i].state)->n_ranks);
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

/* The busiest of all ranks. */
struct straggler_busy {
    size_t rank;
    double work_s, usual_s; /* of its thread and of the median of the others, per iteration */
    double excess_s;
    bool alone; /* no other is nearly as busy */
};

/* What the loop's thread of a rank worked or wanted to, share of the time; NAN: not recorded. */
static double straggler_work(const struct judge *j, const struct straggler_rank *r)
{
    const double ran = counted_per_s(&r->ran, j->run->loop_end),
                 delay = counted_per_s(&r->delay, j->run->loop_end);
    return (ran + (isnan(delay) ? 0 : delay)) / 1e9;
}

/* False: it is not known of all ranks, or there are GPUs. */
static bool straggler_busiest(const struct judge *j, const struct straggler_ranks *all,
                              double iteration_s, struct straggler_busy *out)
{
    double *v = arena_array(j->arena, double, all->n);
    *out = (struct straggler_busy){0};
    for (size_t i = 0; i < all->n; i++) {
        v[i] = straggler_work(j, all->v[i]) * iteration_s;
        if (isnan(v[i]) || all->node[i]->facts->n_gpus)
            return false;
        out->rank = v[i] > v[out->rank] ? i : out->rank;
    }
    stat_sort(v, all->n);
    const size_t others = all->n - 1;
    out->work_s = v[others];
    out->usual_s = (v[others / 2] + v[(others - 1) / 2]) / 2;
    out->excess_s = out->work_s - out->usual_s;
    out->alone = v[others - 1] - out->usual_s <= NEAR_BUSIEST * out->excess_s;
    return true;
}

static void straggler_find_busy(const struct judge *j, struct verdict *v,
                                const struct straggler_ranks *all, const struct frontier *x,
                                const struct straggler_busy *b)
{
    const struct straggler_rank *r = all->v[b->rank];
    const long long rank = (long long)r->head.id.rank;
    const double share = 100 * b->excess_s / x->iteration_s;
    struct finding *f = verdict_find(v, all->node[b->rank]->facts->id, rank_entity(j, r));
    finding_when(v, f, &r->seen, 1);
    finding_say(
        v, f,
        "rank %lld slowed the others down by %s of each iteration of %s, %.0f %% (threshold "
        "%g %%), inside 'backward': its thread worked or waited for a core for %s, those of "
        "the others for %s",
        rank, judge_time(j, b->excess_s), judge_time(j, x->iteration_s), share, j->p[THRESHOLD].v,
        judge_time(j, b->work_s), judge_time(j, b->usual_s));
    finding_advise(v, f,
                   "Look at what rank %lld computes in 'backward', at its share of the data and at "
                   "the cores that it has; with the others' work each iteration takes %s less.",
                   rank, judge_time(j, b->excess_s));
    f->part = step_part_name(step_part_of(EV_BACKWARD));
    f->refute = "the ranks wait by spinning (MPI, oneCCL): then this rank waits for the others";
    FINDING_NUMBERS(v, f, 1e3 * b->excess_s, share, 1e3 * b->work_s, 1e3 * b->usual_s,
                    1e3 * b->excess_s, (double)NUMBER_ABSENT, (double)x->steps);
    finding_lost(f, b->excess_s * (double)r->steps, judge_gpus(j));
    f->estimated = true;
    finding_count(v, f, 1, r->steps);
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
        "%g %%): '%s' took %s%s on it and %s on the median of the others; it led %.0f %% of "
        "%zu steps",
        (long long)r->head.id.rank, judge_time(j, x->excess_s), judge_time(j, x->iteration_s),
        share, j->p[THRESHOLD].v, stage, judge_time(j, x->stage_s),
        all->node[x->rank]->facts->n_gpus ? " of host time" : "", judge_time(j, x->usual_s),
        100 * x->led, x->steps);
    finding_advise(v, f,
                   "Look at what rank %lld does %s and at its node and GPU; with the others' "
                   "time there, each iteration takes %s less.",
                   (long long)r->head.id.rank,
                   x->stage < step_parts() ? arena_printf(j->arena, "in '%s'", stage) : stage,
                   judge_time(j, x->excess_s));
    f->part = stage;
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
    struct straggler_busy b;
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
            (long long)all.v[x.rank]->head.id.rank, share);
    else if (!much && straggler_busiest(j, &all, x.iteration_s, &b) && b.alone &&
             100 * b.excess_s > j->p[THRESHOLD].v * x.iteration_s &&
             judge_is_much(j, b.excess_s * (double)all.v[b.rank]->steps))
        straggler_find_busy(j, out, &all, &x, &b);
    else
        verdict_why(out, "no rank was later than the others by more than %.1f %% of the iteration",
                    fmax(share, 0));
}

const struct rule rule_straggler = {
    .name = "Straggler",
    .title = "Slow rank",
    .description =
        "Checks whether one rank makes the others wait: its own work (all but collectives, and all "
        "but backward where the ranks wait in it) takes longest in most steps, and the others wait "
        "for it. Only durations of the same steps are compared. On machines without a GPU a rank "
        "that is slow inside backward is found by the CPU time of its thread. Nothing is reported "
        "where another rank or part of the step is as likely.",
    .recommendation = "Look at the rank's data, node and GPU.",
    RULE_PARAMS([THRESHOLD] =
                    {"threshold", 5, 0, 100, PARAM_PERCENT,
                     "maximum share of the iteration that a rank is later than the others"}),
    .labels = {{"excess", "ms", "Later than the others, per step"},
               {"share", "%", "Share of the iteration"},
               {"stage", "ms", "That part of the step, or the work of its thread, on this rank"},
               {"usual", "ms", "On the median of the others"},
               {"waited", "ms", "Waited by the median of the others, per step"},
               {"led", "%", "Share of the steps"},
               {"steps", "", "Steps compared"}},
    .needs = NEEDS_STEPS,
    .explained_by = (const char *const[]){"GPUThrottling", NULL},
    RULE_STATE(struct node_state, .rank_size = sizeof(struct straggler_rank),
               .memory_rank = straggler_memory, .event = straggler_event),
    .steps = straggler_steps,
    .judge = straggler_judge,
};
