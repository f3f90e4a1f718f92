/* SPDX-License-Identifier: Apache-2.0 */
/* EvalHeavy: too much of the training loop goes into evaluation. */
#include <math.h>

#include "base/mem.h"
#include "rules/per_entity.h"
#include "rules/windows.h"

enum { THRESHOLD }; /* parameters */

struct evals {
    uint64_t n;
    int64_t ns;
    struct episodes when;
};

struct eval_rank {
    struct rank_head head;
    uint64_t steps;
    bool trains;
    struct evals before; /* its first training step that is no warm-up: a look that belongs to
                            getting ready */
    struct evals evals;
};

static void eval_steps(void *state, const struct rule_view *c, const struct rank_sight *r,
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

/* ---- judging ---- */

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
                 limit = j->p[THRESHOLD].v / 100;
    /* n times as rare an evaluation is a share of s/n of (loop - s + s/n). */
    const double times = ceil(s * (1 - limit) / fmax(limit * (judge_counted_s(j) - s), 1e-9));
    struct finding *f = verdict_find(v, node->facts->id, rank_entity(j, r));
    finding_in(v, f, &x->when);
    finding_say(v, f,
                "evaluation took %.0f %% of the training loop (threshold %g %%): %llu steps, %s",
                share * 100, j->p[THRESHOLD].v, (unsigned long long)x->n, judge_time(j, s));
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
        if (most && share * 100 > j->p[THRESHOLD].v)
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
    RULE_PARAMS([THRESHOLD] = {"threshold", 30, 0, 100, PARAM_PERCENT,
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
