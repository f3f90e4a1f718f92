/* SPDX-License-Identifier: Apache-2.0 */
/* rule_interruptions.c - rules about what training is interrupted for in its loop: CheckpointStall
 * and EvalHeavy. */
#include <math.h>

#include "base/mem.h"
#include "rules/per_entity.h"
#include "rules/windows.h"

/* ==== CheckpointStall ====
 *
 * Too much of the training loop goes into saving checkpoints. */

enum { CHECKPOINT_THRESHOLD }; /* parameters */

/* One checkpoint does not show how often they are saved, unless it is a long one. */
static const double ALONE_S = 60;

struct save {
    int64_t at_ns, dur_ns;
};

/* Those that begin before or after the loop delay no step, but where it begins and ends is known
 * only at the end of the run: so some of either end are stored. */
enum { FIRST_KEPT = 8 };

struct saving_rank {
    struct rank_head head;
    uint64_t n;
    int64_t sum_ns, longest_ns;
    struct save first[FIRST_KEPT]; /* in order of time */
    struct save last;
    struct episodes when;
};

static void checkpoint_event(void *state, const struct rule_view *c, const struct rule_event *v)
{
    if (v->id != EV_CHECKPOINT)
        return;
    struct saving_rank *r = state_event_rank(state, c, v);
    const struct save s = {v->at.ns, v->dur_ns};
    if (r->n < FIRST_KEPT)
        r->first[r->n] = s;
    r->n++;
    r->sum_ns += v->dur_ns;
    r->longest_ns = MAX_OF(r->longest_ns, v->dur_ns);
    if (v->at.ns >= r->last.at_ns)
        r->last = s;
    episodes_add(&r->when, v->at, v->dur_ns);
}

static void checkpoint_memory_rank(void *rank, enum state_op op)
{
    episodes_memory(&((struct saving_rank *)rank)->when, op);
}

struct saved {
    const struct saving_rank *rank;
    uint64_t n;
    double s, share;
};

static struct saved saved_by(const struct judge *j, const struct saving_rank *r)
{
    const double loop_s = judge_counted_s(j);
    struct saved x = {.rank = r, .n = r->n};
    int64_t ns = r->sum_ns;
    uint64_t early = 0;
    while (early < MIN_OF(r->n, (uint64_t)FIRST_KEPT) &&
           r->first[early].at_ns < judge_loop_start(j).ns)
        ns -= r->first[early++].dur_ns;
    const bool after = r->n > early && r->last.at_ns >= j->run->loop_end.ns;
    x.n -= early + after;
    x.s = (double)(ns - (after ? r->last.dur_ns : 0)) / 1e9;
    x.share = loop_s > 0 ? x.s / loop_s : 0;
    return x;
}

static void checkpoint_find(const struct judge *j, struct verdict *v,
                            const struct judged_node *node, const struct saved *x)
{
    const double limit = j->p[CHECKPOINT_THRESHOLD].v / 100;
    const double times = limit > 0 ? ceil(x->share / limit) : NAN, mean_s = x->s / (double)x->n;
    struct finding *f = verdict_find(v, node->facts->id, rank_entity(j, x->rank));
    finding_in(v, f, &x->rank->when);
    finding_say(v, f,
                "%llu checkpoint%s took %s, %.1f %% of the training loop (threshold %g %%); "
                "average %s, longest %s",
                (unsigned long long)x->n, x->n == 1 ? "" : "s", judge_time(j, x->s), x->share * 100,
                j->p[CHECKPOINT_THRESHOLD].v, judge_time(j, mean_s),
                judge_time(j, (double)x->rank->longest_ns / 1e9));
    if (isnan(times))
        finding_advise(v, f, "Save checkpoints in the background.");
    else
        finding_advise(
            v, f,
            "Save %.0f times less often, or in the background: copy the state to host memory (a "
            "save now takes %s) and write it from another thread, to a faster disk.",
            times, judge_time(j, mean_s));
    f->refute = "other ranks keep training while one rank saves";
    FINDING_NUMBERS(v, f, (double)x->n, x->share * 100, mean_s, ns_to_s(x->rank->longest_ns));
    finding_lost(f, x->s, node->facts->n_gpus);
    finding_count(v, f, 1, x->n);
}

static void checkpoint_judge(const struct judge *j, struct verdict *out)
{
    double worst = 0;
    for (size_t i = 0; i < j->n_nodes; i++) {
        const struct node_state *t = j->nodes[i].state;
        struct saved most = {0};
        for (size_t k = 0; k < t->n_ranks; k++) {
            const struct saved x = saved_by(j, t->ranks[k]);
            out->datapoints += x.n;
            most = x.s > most.s ? x : most;
        }
        worst = fmax(worst, most.share);
        if (most.rank && most.share * 100 > j->p[CHECKPOINT_THRESHOLD].v &&
            (most.n > 1 || most.s >= ALONE_S))
            checkpoint_find(j, out, &j->nodes[i], &most);
    }
    if (out->state == RULE_CLEAR && out->datapoints == 0)
        verdict_why(out, "no checkpoint was saved in the training loop");
    else if (out->state == RULE_CLEAR && worst * 100 > j->p[CHECKPOINT_THRESHOLD].v)
        verdict_why(out,
                    "one checkpoint took %.1f %% of the training loop; at least two are needed",
                    worst * 100);
    else if (out->state == RULE_CLEAR)
        verdict_why(out, "checkpoints took %.1f %% of the training loop", worst * 100);
}

const struct rule rule_checkpoint_stall = {
    .name = "CheckpointStall",
    .title = "Checkpoint time",
    .description = "Checks what share of the training loop is spent saving checkpoints. Needs two "
                   "checkpoints, or one that takes at least a minute.",
    .recommendation = "Save checkpoints less often or in the background.",
    RULE_PARAMS([CHECKPOINT_THRESHOLD] = {"threshold", 5, 0, 100, PARAM_PERCENT,
                                          "maximum share of the training loop"}),
    .labels = {{"checkpoints", "", "Checkpoints"},
               {"share", "%", "Share of the training loop"},
               {"mean", "s", "Mean time per checkpoint"},
               {"longest", "s", "Longest checkpoint"}},
    .needs = NEEDS_STEPS,
    RULE_STATE(struct node_state, .rank_size = sizeof(struct saving_rank),
               .event = checkpoint_event, .memory_rank = checkpoint_memory_rank),
    .judge = checkpoint_judge,
};

/* ==== EvalHeavy ====
 *
 * Too much of the training loop goes into evaluation. */

enum { EVAL_THRESHOLD }; /* parameters */

struct evals {
    uint64_t n;
    int64_t ns;
    struct episodes when;
};

struct eval_rank {
    struct rank_head head;
    uint64_t steps;
    bool trains;
    struct evals before; /* its first training step that is no warm-up: an evaluation that
                            belongs to initialization */
    struct evals evals;
};

static void eval_steps(void *state, const struct rule_view *c, const struct rule_rank *r,
                       const struct step *v, size_t n)
{
    struct eval_rank *own = state_rank(state, c, r);
    for (size_t i = 0; i < n; i++) {
        own->steps += !v[i].cut;
        own->trains |= v[i].mode == MODE_TRAIN && !v[i].warmup;
        if (v[i].mode == MODE_TRAIN || v[i].cut || v[i].disturbed)
            continue;
        struct evals *e = own->trains ? &own->evals : &own->before;
        e->n++;
        e->ns += v[i].dur_ns;
        episodes_add(&e->when, v[i].start, v[i].dur_ns);
    }
}

static void eval_memory_rank(void *rank, enum state_op op)
{
    episodes_memory(&((struct eval_rank *)rank)->before.when, op);
    episodes_memory(&((struct eval_rank *)rank)->evals.when, op);
}

/* When nothing is trained, the loop begins with the first step there is. */
static const struct evals *evals_of(const struct eval_rank *r)
{
    return r->trains ? &r->evals : &r->before;
}

static void eval_find(const struct judge *j, struct verdict *v, const struct judged_node *node,
                      const struct eval_rank *r)
{
    const struct evals *x = evals_of(r);
    const double s = (double)x->ns / 1e9, share = s / judge_counted_s(j),
                 limit = j->p[EVAL_THRESHOLD].v / 100;
    /* n times as rare an evaluation is a share of s/n of (loop - s + s/n). */
    const double times = ceil(s * (1 - limit) / fmax(limit * (judge_counted_s(j) - s), 1e-9));
    struct finding *f = verdict_find(v, node->facts->id, rank_entity(j, r));
    finding_in(v, f, &x->when);
    finding_say(v, f,
                "evaluation took %.0f %% of the training loop (threshold %g %%): %llu steps, %s",
                share * 100, j->p[EVAL_THRESHOLD].v, (unsigned long long)x->n, judge_time(j, s));
    if (limit > 0 && times < 1000)
        finding_advise(v, f,
                       "Evaluate %.0f times less often, or on 1/%.0f of the data. Without "
                       "gradients a larger batch usually fits.",
                       times, times);
    f->refute = "evaluation is the purpose of the job";
    FINDING_NUMBERS(v, f, share * 100, s, (double)x->n);
    finding_lost(f, s, node->facts->n_gpus);
    finding_count(v, f, 1, x->n);
}

static void eval_judge(const struct judge *j, struct verdict *out)
{
    double worst = 0;
    if (judge_counted_s(j) <= 0) {
        verdict_not_evaluated(out, "the training loop has just started");
        return;
    }
    for (size_t i = 0; i < j->n_nodes; i++) {
        const struct node_state *t = j->nodes[i].state;
        const struct eval_rank *most = NULL;
        for (size_t k = 0; k < t->n_ranks; k++) {
            const struct eval_rank *r = t->ranks[k];
            out->datapoints += r->steps;
            most = !most || evals_of(r)->ns > evals_of(most)->ns ? r : most;
        }
        const double share = most ? (double)evals_of(most)->ns / 1e9 / judge_counted_s(j) : 0;
        worst = fmax(worst, share);
        if (most && share * 100 > j->p[EVAL_THRESHOLD].v)
            eval_find(j, out, &j->nodes[i], most);
    }
    if (out->state == RULE_CLEAR)
        verdict_why(out, "evaluation took %.1f %% of the training loop", worst * 100);
}

const struct rule rule_eval_heavy = {
    .name = "EvalHeavy",
    .title = "Evaluation time",
    .description = "Checks what share of the training loop is spent on evaluation. Above the "
                   "threshold, all of it is counted as lost time.",
    .recommendation = "Evaluate less often or on less data.",
    RULE_PARAMS([EVAL_THRESHOLD] = {"threshold", 30, 0, 100, PARAM_PERCENT,
                                    "maximum share of the training loop"}),
    .labels = {{"eval_share", "%", "Share of the training loop"},
               {"eval", "s", "Evaluation time"},
               {"eval_steps", "", "Evaluation steps"}},
    .needs = NEEDS_STEPS,
    RULE_STATE(struct node_state, .rank_size = sizeof(struct eval_rank),
               .memory_rank = eval_memory_rank),
    .steps = eval_steps,
    .judge = eval_judge,
};
