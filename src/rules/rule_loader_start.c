/* SPDX-License-Identifier: Apache-2.0 */
/* LoaderStart: workers of a data loader are started anew for each epoch, and the loop waits for
 * them and for their first batch. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/vec.h"
#include "query/steps.h"
#include "rules/per_entity.h"
#include "rules/step_spread.h"

enum { THRESHOLD }; /* parameters */

/* KEPT: starts with their time, and longest waits for a batch, of a rank. */
enum { STARTS_LEAST = 2, KEPT = 2048 };

/* A step that begins so soon after a start waits for the first batch. */
static const int64_t SOON_NS = NS_PER_S / 10;

struct start_rank {
    struct rank_head head;
    uint64_t starts;
    int64_t start_ns;
    struct time_range *v; /* in order of time */
    size_t n, cap;
    uint64_t steps;
    int64_t wait_ns;
    struct longest waits;
};

struct start_state {
    struct node_state head;
    int64_t most_workers;
    bool persistent; /* all loaders that reported it */
    uint64_t reported;
};

/* ---- seeing ---- */

static void start_event(void *state, const struct rule_view *c, const struct rule_event *v)
{
    struct start_state *t = state;
    if (v->id == EV_LOADER_WORKERS)
        t->most_workers = MAX_OF(t->most_workers, v->value);
    if (v->id == EV_LOADER_PERSISTENT)
        t->persistent = (t->reported++ == 0 || t->persistent) && v->value != 0;
    if (v->id != EV_LOADER_START || v->worker >= 0 || v->at.ns < c->from.ns)
        return;
    struct start_rank *r = state_event_rank(state, c, v);
    r->starts++;
    r->start_ns += v->dur_ns;
    if (r->n < KEPT)
        *VEC_ADD(r->v, r->n, r->cap) = (struct time_range){v->at, {v->at.ns + v->dur_ns}};
}

static void start_steps(void *state, const struct rule_view *c, const struct rank_sight *r,
                        const struct step *v, size_t n)
{
    struct start_rank *own = state_rank(state, c, r);
    const size_t data = step_part_of(EV_DATA);
    for (size_t i = 0; i < n; i++)
        if (step_is_steady(&v[i])) {
            own->steps++;
            own->wait_ns += v[i].part_ns[data];
            longest_add(&own->waits, KEPT, &v[i], v[i].part_ns[data]);
        }
}

static void start_memory_rank(void *rank, enum state_op op)
{
    struct start_rank *r = rank;
    STATE_VEC(op, r);
    longest_memory(&r->waits, op);
}

/* ---- judging ---- */

/* What the first batches took longer than others, seconds. */
static double first_waits(const struct judge *j, const struct start_rank *r)
{
    const double usual_ns = (double)r->wait_ns / (double)MAX_OF(r->steps, (uint64_t)1);
    double sum_ns = 0;
    size_t n, k = 0;
    const struct long_step *w = longest_over(&r->waits, usual_ns, j->arena, &n);
    for (size_t i = 0; i < r->n; i++) {
        while (k < n && w[k].start_ns < r->v[i].start.ns)
            k++;
        if (k < n && w[k].start_ns <= r->v[i].end.ns + SOON_NS)
            sum_ns += (double)w[k++].dur_ns - usual_ns;
    }
    return sum_ns / 1e9;
}

static double start_s(const struct judge *j, const struct start_rank *r)
{
    return ns_to_s(r->start_ns) + first_waits(j, r);
}

static void start_find(const struct judge *j, struct verdict *v, const struct judged_node *node,
                       const struct start_rank *r)
{
    const struct start_state *t = node->state;
    const double s = start_s(j, r), share = 100 * s / judge_counted_s(j);
    struct finding *f = verdict_find(v, node->facts->id, rank_entity(j, r));
    finding_when(v, f, r->v, r->n);
    finding_say(v, f,
                "%llu starts of data loaders, with the wait for the first batch, took %s, %.1f %% "
                "of the training loop (threshold %g %%); average %s",
                (unsigned long long)r->starts, judge_time(j, s), share, j->p[THRESHOLD].v,
                judge_time(j, s / (double)r->starts));
    if (t->reported)
        finding_advise(v, f, "Set persistent_workers=True to keep the %lld workers between epochs.",
                       (long long)t->most_workers);
    f->refute = "the real run has longer epochs, so that starts are a small share of it";
    FINDING_NUMBERS(v, f, (double)r->starts, s, share, s / (double)r->starts);
    finding_lost(f, s, node->facts->n_gpus);
    finding_count(v, f, 1, r->starts);
}

/* Loaders without workers start nothing, and those that keep them only once. */
static bool starts_workers(const struct start_state *t)
{
    return t->reported == 0 || (t->most_workers > 0 && !t->persistent);
}

static void start_judge(const struct judge *j, struct verdict *out)
{
    const double loop_s = judge_counted_s(j);
    double worst_s = 0;
    for (size_t i = 0; i < j->n_nodes; i++) {
        const struct start_state *t = j->nodes[i].state;
        const struct start_rank *most = NULL;
        for (size_t k = 0; k < t->head.n_ranks; k++) {
            const struct start_rank *r = t->head.ranks[k];
            out->datapoints += r->starts;
            most = !most || start_s(j, r) > start_s(j, most) ? r : most;
        }
        const double s = most ? start_s(j, most) : 0;
        worst_s = fmax(worst_s, s);
        if (most && most->starts >= STARTS_LEAST && starts_workers(t) && judge_is_much(j, s) &&
            100 * s > j->p[THRESHOLD].v * loop_s && !(node_gpu_use(t) > GPU_BUSY))
            start_find(j, out, &j->nodes[i], most);
    }
    if (out->state == RULE_CLEAR && out->datapoints == 0)
        verdict_why(out, "no data loader was started in the training loop");
    else if (out->state == RULE_CLEAR)
        verdict_why(out, "starts of data loaders took %s, %.1f %% of the training loop",
                    judge_time(j, worst_s), loop_s > 0 ? 100 * worst_s / loop_s : 0);
}

const struct rule rule_loader_start = {
    .name = "LoaderStart",
    .title = "Loader start time",
    .description = "Checks what share of the training loop is spent starting data loaders anew "
                   "(usually each epoch) and waiting for their first batch.",
    .recommendation = "Keep the workers or the iterator of the data loader between epochs.",
    RULE_PARAMS([THRESHOLD] = {"threshold", 5, 0, 100, PARAM_PERCENT,
                               "maximum share of the training loop"}),
    .labels = {{"starts", "", "Starts of loaders"},
               {"start", "s", "Time of starts and first batches"},
               {"share", "%", "Share of the training loop"},
               {"mean", "s", "Mean time per start"}},
    .needs = NEEDS_STEPS,
    RULE_STATE(struct start_state, KEEPS_BUSY_GPUS, .rank_size = sizeof(struct start_rank),
               .event = start_event, .memory_rank = start_memory_rank),
    .steps = start_steps,
    .judge = start_judge,
};
