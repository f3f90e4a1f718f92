/* SPDX-License-Identifier: Apache-2.0 */
/* SyncBound: the program waits for the GPU (Tensor.item, .cpu, synchronize) so often that the GPU
 * runs dry: while the program waits it launches nothing, and when the wait is over the GPU is idle
 * until the program has launched again.
 *
 * A wait alone is no loss: a loop that reads its loss once a step waits long for a busy GPU. So the
 * GPU must be low, too. How much is lost: of the steps' time S (without loading, saving, compiling
 * and communication) the program spends W waiting and the GPU is busy for B. Without the waits a
 * step takes as long as the longer of what the program does itself, S - W, and what the GPU does,
 * B:
 *
 *     lost = S - max(S - W, B) = min(W, S - B)
 *
 * the time in which the GPU is idle, but no more than the waits themselves. */
#include <math.h>

#include "base/mem.h"
#include "rules/gpu_activity.h"
#include "rules/judging.h"

enum { THRESHOLD, GPU };

static const struct param params[] = {
    [THRESHOLD] = {"threshold", 10, 0, 100, PARAM_PERCENT,
                   "maximum share of the iterations spent waiting for the GPU"},
    [GPU] = {"gpu_threshold", 80, 0, 100, PARAM_PERCENT,
             "a GPU with higher utilization is not affected by waits"},
    {0},
};

enum { STEPS_LEAST = 10 };

struct sync_rank {
    struct rank_head head;
    struct rank_time time;
    bool hooks_measure; /* its hooks are of those that measure waits */
};

struct sync_state {
    struct per_rank ranks;
    struct per_gpu gpus;
};

/* ---- seeing ---- */

static void sync_sweeps(void *state, const struct rule_view *c, const struct sweeps *s)
{
    (void)c;
    gpu_activity_see(&((struct sync_state *)state)->gpus, s);
}

static void sync_steps(void *state, const struct rule_view *c, const struct rank_sight *r,
                       const struct step *v, size_t n)
{
    struct sync_rank *own =
        per_rank_see(&((struct sync_state *)state)->ranks, sizeof(struct sync_rank), r);
    rank_time_add(&own->time, c->from, v, n);
}

/* Hooks that record the CPU time of the process measure waits, too. */
static void sync_events(void *state, const struct rule_view *c, const struct rule_event *v,
                        size_t n)
{
    struct sync_state *t = state;
    (void)c;
    for (size_t i = 0; i < n; i++) {
        const struct rank_sight who = {.rank = v[i].rank, .device = -1, .pid = v[i].pid};
        if (v[i].id != EV_CPU_PROCESS || v[i].worker >= 0)
            continue;
        struct sync_rank *own = per_rank_see(&t->ranks, sizeof *own, &who);
        own->hooks_measure = true;
    }
}

static void sync_memory(void *state, enum state_op op)
{
    per_rank_memory(&((struct sync_state *)state)->ranks, NULL, op);
    per_gpu_memory(&((struct sync_state *)state)->gpus, NULL, op);
}

/* ---- judging ---- */

struct sync_use {
    const struct sync_rank *rank;
    double waits_s, idle_s; /* W, and S - B */
    double share;           /* of the waits, percent of the iterations */
    double util;            /* of the GPUs in that time, if all their work was done in it */
};

/* The time that launching and waiting take: the GPU may be busy in all of it. */
static struct sync_use sync_use_of(const struct judge *j, const struct node_activity *gpus,
                                   const struct sync_rank *r)
{
    struct sync_use u = {.rank = r, .waits_s = rank_time_waits_s(&r->time)};
    const double steps_s = rank_time_launch_s(&r->time) + u.waits_s,
                 busy_s = gpus->util / 100 * judge_steady_s(j);
    u.idle_s = fmax(steps_s - busy_s, 0);
    u.util = steps_s > 0 ? fmin(100 * busy_s / steps_s, 100) : NAN;
    u.share = 100 * u.waits_s / rank_time_iterations_s(&r->time);
    return u;
}

static double sync_lost_s(const struct sync_use *u)
{
    return fmin(u->waits_s, u->idle_s);
}

static bool is_sync_bound(const struct judge *j, const struct sync_use *u)
{
    return u->share >= j->p[THRESHOLD].v && u->util < j->p[GPU].v;
}

static void sync_find(const struct judge *j, struct verdict *v, const struct judged_node *node,
                      const struct node_activity *gpus, const struct sync_use *u)
{
    const struct rank_time *t = &u->rank->time;
    struct finding *f = verdict_find(v, node->facts->id, rank_entity(j, &u->rank->head.who));
    finding_when(v, f, &gpus->range, 1);
    finding_say(v, f,
                "waits for the GPU took %.0f %% of the iterations (threshold %g %%), %s per step, "
                "while the GPU was busy only %.0f %% of the time",
                u->share, j->p[THRESHOLD].v, judge_time(j, u->waits_s / (double)t->steps), u->util);
    finding_advise(v, f,
                   "Read results from the GPU less often: keep sums as tensors on the GPU and call "
                   "item(), cpu() or tolist() only every n-th step, copy with non_blocking=True, "
                   "and avoid synchronize(), nonzero() and boolean indexing in the step.");
    f->refute = "the GPU is idle in other parts of the training loop";
    finding_number(v, f, "wait_share", u->share, "%");
    finding_number(v, f, "wait", u->waits_s, "s");
    finding_number(v, f, "gpu_util", u->util, "%");
    finding_number(v, f, "sm_active", gpus->sm, "%");
    finding_number(v, f, "steps", (double)t->steps, "");
    f->lost_s = sync_lost_s(u);
    f->lost_gpu_s = f->lost_s * (double)gpus->gpus;
    v->triggered++;
    v->violations += t->steps;
    v->last_triggered.ns = MAX_OF(v->last_triggered.ns, f->end.ns);
}

/* What was seen of all nodes, for the words when nothing is found. */
struct sync_seen {
    bool measured, has_steps, has_gpu;
    double share, util;
};

static void sync_judge_node(const struct judge *j, const struct judged_node *node,
                            struct verdict *out, struct sync_seen *seen)
{
    const struct sync_state *t = node->state;
    const struct node_activity gpus = node_activity_of(&t->gpus);
    struct sync_use worst = {.rank = NULL};
    seen->has_gpu |= !isnan(gpus.util);
    for (size_t i = 0; i < t->ranks.n; i++) {
        const struct sync_rank *r = t->ranks.v[i];
        if (r->time.steps < STEPS_LEAST || isnan(gpus.util))
            continue;
        const struct sync_use u = sync_use_of(j, &gpus, r);
        seen->has_steps = true;
        if (!r->hooks_measure && u.waits_s <= 0)
            continue;
        out->datapoints += r->time.steps;
        if (!seen->measured || u.share > seen->share) {
            seen->share = u.share;
            seen->util = u.util;
        }
        seen->measured = true;
        if (is_sync_bound(j, &u) && (!worst.rank || sync_lost_s(&u) > sync_lost_s(&worst)))
            worst = u;
    }
    if (worst.rank)
        sync_find(j, out, node, &gpus, &worst);
}

static void sync_judge(const struct judge *j, struct verdict *out)
{
    struct sync_seen seen = {.measured = false};
    for (size_t i = 0; i < j->n_nodes; i++)
        sync_judge_node(j, &j->nodes[i], out, &seen);
    if (out->state == RULE_ISSUE)
        return;
    if (seen.measured)
        verdict_why(out,
                    "waits for the GPU took %.1f %% of the iterations, the GPU was busy %.0f %% of "
                    "the time",
                    seen.share, seen.util);
    else if (!seen.has_gpu && !judge_is_short(j, GPU_ACTIVITY_LEAST, out))
        verdict_not_evaluated(out, "no GPU was in use in the training loop");
    else if (seen.has_gpu && !seen.has_steps)
        verdict_not_evaluated(out, "needs %d training steps after warm-up", STEPS_LEAST);
    else if (seen.has_gpu)
        verdict_not_evaluated(out, "waits for the GPU were not recorded");
}

static const struct number_label labels[] = {
    {"wait_share", "Waits for the GPU, share of iteration"},
    {"wait", "Waits for the GPU"},
    {"gpu_util", "GPU utilization"},
    {"sm_active", "SM activity"},
    {"steps", "Steps"},
    {"waits_per_step", "Waits per step"},
    {0},
};

const struct rule rule_sync_bound = {
    .name = "SyncBound",
    .title = "Synchronization",
    .description = "Checks whether the program synchronizes with the GPU (item, cpu, synchronize) "
                   "so often that the GPU runs out of work.",
    .recommendation = "Read results from the GPU less often and without blocking.",
    .params = params,
    .labels = labels,
    .patience = -1,
    .needs = NEEDS_SWEEPS | NEEDS_GPU | NEEDS_STEPS,
    .state_size = sizeof(struct sync_state),
    .sweeps = sync_sweeps,
    .steps = sync_steps,
    .events = sync_events,
    .memory = sync_memory,
    .judge = sync_judge,
};
