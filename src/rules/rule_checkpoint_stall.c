/* SPDX-License-Identifier: Apache-2.0 */
/* CheckpointStall: too much of the training loop goes into saving checkpoints. */
#include <math.h>

#include "base/mem.h"
#include "rules/judging.h"
#include "rules/per_entity.h"
#include "rules/windows.h"

enum { THRESHOLD };

static const struct param params[] = {
    [THRESHOLD] = {"threshold", 5, 0, 100, PARAM_PERCENT, "maximum share of the training loop"},
    {0},
};

/* One checkpoint says nothing about how often they are saved, unless it is a long one. */
static const double ALONE_S = 60;

struct save {
    int64_t at_ns, dur_ns;
};

/* Those that begin before or after the loop delay nobody, but where it begins and ends is known
 * only in the end: so some of either end are kept. */
enum { FIRST_KEPT = 8 };

struct rule_checkpoint_stall_rank {
    struct rank_head head;
    uint64_t n;
    int64_t sum_ns, longest_ns;
    struct save first[FIRST_KEPT]; /* in order of time */
    struct save last;
    struct episodes when;
};

struct rule_checkpoint_stall_state {
    struct per_rank ranks;
};

/* ---- seeing ---- */

static void keep_first(struct rule_checkpoint_stall_rank *r, uint64_t n, const struct save *s)
{
    if (n < FIRST_KEPT)
        r->first[n] = *s;
}

static void rule_checkpoint_stall_take(struct rule_checkpoint_stall_rank *r,
                                       const struct rule_event *v)
{
    keep_first(r, r->n, &(struct save){v->at.ns, v->dur_ns});
    r->n++;
    r->sum_ns += v->dur_ns;
    r->longest_ns = MAX_OF(r->longest_ns, v->dur_ns);
    if (v->at.ns >= r->last.at_ns)
        r->last = (struct save){v->at.ns, v->dur_ns};
    episodes_add(&r->when, v->at, v->dur_ns);
}

static void rule_checkpoint_stall_events(void *state, const struct rule_view *c,
                                         const struct rule_event *v, size_t n)
{
    struct rule_checkpoint_stall_state *t = state;
    (void)c;
    for (size_t i = 0; i < n; i++) {
        const struct rank_sight who = {.rank = v[i].rank, .device = -1, .pid = v[i].pid};
        if (v[i].id == EV_CHECKPOINT)
            rule_checkpoint_stall_take(
                per_rank_see(&t->ranks, sizeof(struct rule_checkpoint_stall_rank), &who), &v[i]);
    }
}

static void rule_checkpoint_stall_rank_memory(void *own, enum state_op op)
{
    episodes_memory(&((struct rule_checkpoint_stall_rank *)own)->when, op);
}

static void rule_checkpoint_stall_memory(void *state, enum state_op op)
{
    per_rank_memory(&((struct rule_checkpoint_stall_state *)state)->ranks,
                    rule_checkpoint_stall_rank_memory, op);
}

/* ---- judging ---- */

struct rule_checkpoint_stall_saved {
    const struct rule_checkpoint_stall_rank *rank;
    uint64_t n;
    double s, share;
};

static struct rule_checkpoint_stall_saved saved_by(const struct judge *j,
                                                   const struct rule_checkpoint_stall_rank *r)
{
    const double loop_s = judge_counted_s(j);
    struct rule_checkpoint_stall_saved x = {.rank = r, .n = r->n};
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

static void rule_checkpoint_stall_find(const struct judge *j, struct verdict *v,
                                       const struct judged_node *node,
                                       const struct rule_checkpoint_stall_saved *x)
{
    const double limit = j->p[THRESHOLD].v / 100;
    const double times = limit > 0 ? ceil(x->share / limit) : NAN, mean_s = x->s / (double)x->n;
    struct finding *f = verdict_find(v, node->facts->id, rank_entity(j, &x->rank->head.who));
    finding_when(v, f, episodes_ranges(&x->rank->when, j->arena), x->rank->when.n);
    finding_say(v, f,
                "%llu checkpoint%s took %s, %.1f %% of the training loop (threshold %g %%); "
                "average %s, longest %s",
                (unsigned long long)x->n, x->n == 1 ? "" : "s", judge_time(j, x->s), x->share * 100,
                j->p[THRESHOLD].v, judge_time(j, mean_s),
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
    finding_number(v, f, "checkpoints", (double)x->n, "");
    finding_number(v, f, "share", x->share * 100, "%");
    finding_number(v, f, "mean", mean_s, "s");
    finding_number(v, f, "longest", (double)x->rank->longest_ns / 1e9, "s");
    f->lost_s = x->s;
    f->lost_gpu_s = node->facts->n_gpus ? x->s * (double)node->facts->n_gpus : NAN;
    v->triggered++;
    v->violations += x->n;
    v->last_triggered.ns = MAX_OF(v->last_triggered.ns, f->end.ns);
}

static void rule_checkpoint_stall_judge(const struct judge *j, struct verdict *out)
{
    double worst = 0;
    for (size_t i = 0; i < j->n_nodes; i++) {
        const struct rule_checkpoint_stall_state *t = j->nodes[i].state;
        struct rule_checkpoint_stall_saved most = {0};
        for (size_t k = 0; k < t->ranks.n; k++) {
            const struct rule_checkpoint_stall_saved x = saved_by(j, t->ranks.v[k]);
            out->datapoints += x.n;
            most = x.s > most.s ? x : most;
        }
        worst = fmax(worst, most.share);
        if (most.rank && most.share * 100 > j->p[THRESHOLD].v && (most.n > 1 || most.s >= ALONE_S))
            rule_checkpoint_stall_find(j, out, &j->nodes[i], &most);
    }
    if (out->state == RULE_CLEAR && out->datapoints == 0)
        verdict_why(out, "no checkpoint was saved in the training loop");
    else if (out->state == RULE_CLEAR && worst * 100 > j->p[THRESHOLD].v)
        verdict_why(out,
                    "one checkpoint took %.1f %% of the training loop; at least two are needed",
                    worst * 100);
    else if (out->state == RULE_CLEAR)
        verdict_why(out, "checkpoints took %.1f %% of the training loop", worst * 100);
}

static const struct number_label labels[] = {
    {"checkpoints", "Checkpoints"},
    {"share", "Share of the training loop"},
    {"mean", "Mean time per checkpoint"},
    {"longest", "Longest checkpoint"},
    {0},
};

const struct rule rule_checkpoint_stall = {
    .name = "CheckpointStall",
    .title = "Checkpoint time",
    .description = "Checks what share of the training loop is spent saving checkpoints. Needs two "
                   "checkpoints, or one that takes at least a minute.",
    .recommendation = "Save checkpoints less often or in the background.",
    .params = params,
    .labels = labels,
    .patience = -1,
    .needs = NEEDS_STEPS,
    .state_size = sizeof(struct rule_checkpoint_stall_state),
    .events = rule_checkpoint_stall_events,
    .memory = rule_checkpoint_stall_memory,
    .judge = rule_checkpoint_stall_judge,
};
