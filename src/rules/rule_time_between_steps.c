/* SPDX-License-Identifier: Apache-2.0 */
/* TimeBetweenSteps: too much of the training loop lies outside of steps. Checkpoints, waits for the
 * GPU and starts of loaders that lie there are other rules'; evaluation steps are steps. */
#include <math.h>

#include "base/mem.h"
#include "query/steps.h"
#include "rules/per_entity.h"
#include "rules/windows.h"

enum { THRESHOLD }; /* parameters */

enum { STEPS_LEAST = 10 };

struct gap_rank {
    struct rank_head head;
    uint64_t steps;
    int64_t loop_ns, gap_ns, longest_ns; /* of steady iterations */
    uint64_t starts;                     /* of loaders, in the loop */
    int64_t start_ns;
    struct counted ran, delay; /* CPU time of the loop's thread, and its waits for a core */
    struct episodes when;
};

/* Of the time between steps: what is most of it. */
static const double MOST = 0.5;

/* ---- seeing ---- */

/* What follows the step until the next, without waits for the GPU. Where a checkpoint was saved all
 * of it belongs to that: files are moved and old ones removed. */
static int64_t gap_of(const struct step *s, uint8_t checkpoint)
{
    const bool saves = s->save_ns > s->part_ns[checkpoint];
    return saves ? 0 : MAX_OF(s->between_ns - s->between_sync_ns, 0);
}

static void gap_steps(void *state, const struct rule_view *c, const struct rule_rank *r,
                      const struct step *v, size_t n)
{
    struct gap_rank *own = state_rank(state, c, r);
    const uint8_t checkpoint = step_part_of(EV_CHECKPOINT);
    for (size_t i = 0; i < n; i++) {
        const int64_t iteration = step_iteration_ns(&v[i]), gap = gap_of(&v[i], checkpoint);
        if (!step_is_steady(&v[i]) || iteration < 0)
            continue;
        own->steps++;
        own->loop_ns += iteration;
        own->gap_ns += gap;
        own->longest_ns = MAX_OF(own->longest_ns, gap);
        if ((double)gap * 100 > c->p[THRESHOLD].v * (double)iteration)
            episodes_add(&own->when, v[i].start, iteration);
    }
}

static void gap_event(void *state, const struct rule_view *c, const struct rule_event *v)
{
    const bool cpu = v->id == EV_CPU_THREAD || v->id == EV_CPU_DELAY;
    if (v->worker >= 0 || (!cpu && (v->id != EV_LOADER_START || v->at.ns < c->from.ns)))
        return;
    struct gap_rank *own = state_event_rank(state, c, v);
    if (cpu) {
        counted_see(v->id == EV_CPU_THREAD ? &own->ran : &own->delay, c->from, v);
        return;
    }
    own->starts++;
    own->start_ns += v->dur_ns;
}

static void gap_memory_rank(void *rank, enum state_op op)
{
    episodes_memory(&((struct gap_rank *)rank)->when, op);
}

/* ---- judging ---- */

static double gap_s(const struct gap_rank *r)
{
    return ns_to_s(MAX_OF(r->gap_ns - r->start_ns, 0));
}

/* What the loop's thread did between steps. Its CPU time is read once a second, so only bounds are
 * known: it worked in all of the steps, or in none. */
static const char *gap_thread(const struct judge *j, const struct gap_rank *r, double share)
{
    const wall_ns end = j->run->loop_end;
    const double delay = counted_per_s(&r->delay, end),
                 worked = (counted_per_s(&r->ran, end) + (isnan(delay) ? 0 : delay)) / 1e9,
                 most = fmax(worked / share, 0), least = (worked - (1 - share)) / share;
    return most < 1 - MOST ? "; its thread slept or waited for most of that time"
           : least > MOST  ? "; its thread worked for most of that time"
                           : "";
}

static void gap_find(const struct judge *j, struct verdict *v, const struct judged_node *node,
                     const struct gap_rank *r)
{
    const double s = gap_s(r), each_s = s / (double)r->steps,
                 step_s = ns_to_s(r->loop_ns) / (double)r->steps, share = 100 * each_s / step_s;
    struct finding *f = verdict_find(v, node->facts->id, rank_entity(j, r));
    finding_in(v, f, &r->when);
    finding_say(v, f,
                "%.0f %% of the training loop was between steps (threshold %g %%): %s of each "
                "iteration of %s, longest %s; this is neither a checkpoint nor evaluation%s",
                share, j->p[THRESHOLD].v, judge_time(j, each_s), judge_time(j, step_s),
                judge_time(j, ns_to_s(r->longest_ns)), gap_thread(j, r, share / 100));
    f->refute = "part of the training itself is outside of the steps that were detected or marked";
    FINDING_NUMBERS(v, f, share, s, each_s, step_s, ns_to_s(r->longest_ns));
    finding_lost(f, s, node->facts->n_gpus);
    finding_count(v, f, 1, r->steps);
}

static void gap_judge(const struct judge *j, struct verdict *out)
{
    double worst = 0, busiest = NAN;
    bool known = false, hidden = false;
    for (size_t i = 0; i < j->n_nodes; i++) {
        const struct node_state *t = j->nodes[i].state;
        const double use = node_gpu_use(t);
        const struct gap_rank *most = NULL;
        for (size_t k = 0; k < t->n_ranks; k++) {
            const struct gap_rank *r = t->ranks[k];
            out->datapoints += r->steps;
            if (r->steps >= STEPS_LEAST && (!most || gap_s(r) > gap_s(most)))
                most = r;
        }
        if (!most)
            continue;
        const double share = 100 * gap_s(most) / ns_to_s(MAX_OF(most->loop_ns, 1));
        const bool much = share > j->p[THRESHOLD].v && judge_is_much(j, gap_s(most));
        known = true;
        worst = fmax(worst, share);
        hidden |= much && use > GPU_BUSY;
        busiest = much ? fmax(busiest, use) : busiest;
        if (much && !(use > GPU_BUSY))
            gap_find(j, out, &j->nodes[i], most);
    }
    if (!known)
        verdict_not_evaluated(out, "needs %d steps after warm-up", STEPS_LEAST);
    else if (out->state == RULE_CLEAR && hidden)
        verdict_why(out, "%.1f %% of the loop was between steps, but the GPUs were %.0f %% busy",
                    worst, busiest);
    else if (out->state == RULE_CLEAR)
        verdict_why(out, "%.1f %% of the training loop was between steps", worst);
}

const struct rule rule_time_between_steps = {
    .name = "TimeBetweenSteps",
    .title = "Time between steps",
    .part = "between steps",
    .description = "Checks what share of the training loop is outside of steps. Checkpoints, "
                   "evaluation, waits for the GPU, starts of data loaders and detail windows do "
                   "not count.",
    .recommendation = "Look at the code between optimizer.step() and the next batch: logging, "
                      "metrics, images, sleep, work on one rank. Do it less often or in another "
                      "thread.",
    RULE_PARAMS([THRESHOLD] = {"threshold", 10, 0, 100, PARAM_PERCENT,
                               "maximum share of the training loop"}),
    .labels = {{"share", "%", "Share of the training loop"},
               {"between", "s", "Time between steps"},
               {"mean", "s", "Mean per iteration"},
               {"iteration", "s", "Iteration time"},
               {"longest", "s", "Longest"}},
    .needs = NEEDS_STEPS,
    .explained_by = (const char *const[]){"GilContention", NULL},
    RULE_STATE(struct node_state, KEEPS_BUSY_GPUS, .rank_size = sizeof(struct gap_rank),
               .event = gap_event, .memory_rank = gap_memory_rank),
    .steps = gap_steps,
    .judge = gap_judge,
};
