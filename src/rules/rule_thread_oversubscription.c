/* SPDX-License-Identifier: Apache-2.0 */
/* ThreadOversubscription: far more threads of the job want to run than it has cores. Threads that
 * wait for each other (OpenMP) then wait for those that have no core.
 *
 * Runnable threads are the job's own demand, whoever has the cores: other processes do not raise
 * it. The first thread of each process does not count as too many, so that many loader workers,
 * which are processes, are no finding here. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "rules/per_entity.h"
#include "rules/windows.h"

enum { THRESHOLD, RATIO }; /* parameters */

enum { LEAST = 3 };

struct threads_rank {
    struct rank_head head;
    uint64_t steps;
    struct counted delay; /* of the loop's thread */
};

struct threads_state {
    struct node_state head;
    uint64_t n, over;                /* readings; of them, with too many */
    int64_t runnable, delay, usable; /* sums of those, in hundredths: threads, threads, cores */
    struct episodes when;
};

/* ---- seeing ---- */

static float threads_value(const struct sweeps *s, enum node_signal k, size_t at)
{
    return s->v[k] ? s->v[k][at] : NAN;
}

/* Cores that the job may use: those of the node, of its affinity, of the limit of its control
 * group. */
static float threads_usable(const struct rule_view *c, const struct sweeps *s, size_t at)
{
    const float limit = threads_value(s, SIG_CGROUP_CPU_LIMIT, at) / 100;
    float cores = fminf((float)c->node->cores, threads_value(s, SIG_JOB_CORES, at));
    return limit > 0 ? fmaxf(fminf(cores, limit), 1) : cores; /* fmin drops a NAN */
}

static void threads_sweeps(void *state, const struct rule_view *c, const struct sweeps *s)
{
    struct threads_state *t = state;
    if (!s->v[SIG_RUNNABLE] || !s->v[SIG_RUNNABLE_EXTRA] || !c->node->cores)
        return;
    for (size_t i = 0; i < s->n; i++) {
        const float runnable = s->v[SIG_RUNNABLE][i], extra = s->v[SIG_RUNNABLE_EXTRA][i],
                    usable = threads_usable(c, s, i),
                    delay = threads_value(s, SIG_RUN_DELAY, i) / 100;
        if (isnan(runnable) || isnan(extra))
            continue;
        t->n++;
        if (!(runnable * 100 > (float)c->p[RATIO].v * usable && extra >= usable))
            continue;
        t->over++;
        t->runnable += llround((double)runnable * 100);
        t->usable += llround((double)usable * 100);
        t->delay += isnan(delay) ? 0 : llround((double)delay * 100);
        episodes_add(&t->when, s->at[i], s->period_ns);
    }
}

static void threads_steps(void *state, const struct rule_view *c, const struct rank_sight *r,
                          const struct step *v, size_t n)
{
    struct threads_rank *own = state_rank(state, c, r);
    (void)v;
    own->steps += n;
}

static void threads_event(void *state, const struct rule_view *c, const struct rule_event *v)
{
    if (v->id != EV_CPU_DELAY || v->worker >= 0)
        return;
    struct threads_rank *r = state_event_rank(state, c, v);
    counted_see(&r->delay, c->from, v);
}

static void threads_memory(void *state, enum state_op op)
{
    episodes_memory(&((struct threads_state *)state)->when, op);
}

/* ---- judging ---- */

/* The share of the time in which the loop's thread waited for a core, of the worst rank; NAN: not
 * recorded. */
static double threads_waits(const struct judge *j, const struct threads_state *t, size_t *ranks)
{
    double most = NAN;
    *ranks = 0;
    for (size_t i = 0; i < t->head.n_ranks; i++) {
        const struct threads_rank *r = t->head.ranks[i];
        most = fmax(most, counted_per_s(&r->delay, j->run->loop_end) / 1e9);
        *ranks += r->steps > 0;
    }
    return fmin(most, 1) + 0 * most; /* fmin drops a NAN */
}

static void threads_find(const struct judge *j, struct verdict *v, const struct judged_node *node)
{
    const struct threads_state *t = node->state;
    const double n = 100 * (double)t->over, runnable = (double)t->runnable / n,
                 usable = (double)t->usable / n, delay = (double)t->delay / n,
                 share = 100 * (double)t->over / (double)t->n;
    size_t ranks;
    const double waits = threads_waits(j, t, &ranks);
    const double each = fmax(floor(usable / (double)MAX_OF(ranks, (size_t)1)), 1);
    struct finding *f = verdict_find(v, node->facts->id, "");
    finding_in(v, f, &t->when);
    finding_say(v, f,
                "%.1f threads of the job wanted to run on %.0f cores, in %.0f %% of the readings "
                "(threshold %g %%); %.1f of them waited for a core on average",
                runnable, usable, share, j->p[THRESHOLD].v, delay);
    finding_advise(v, f,
                   "Set OMP_NUM_THREADS=%.0f in the environment, or call "
                   "torch.set_num_threads(%.0f): %.0f cores for %zu training process%s.",
                   each, each, usable, ranks, ranks == 1 ? "" : "es");
    f->refute = "the threads do not wait for each other, and the cores are busy with useful work";
    FINDING_NUMBERS(v, f, share, runnable, usable, delay, each, 100 * waits);
    finding_lost(f, judge_counted_s(j) * share / 100 * (1 - usable / runnable),
                 node->facts->n_gpus);
    finding_count(v, f, 1, t->over);
}

static void threads_judge(const struct judge *j, struct verdict *out)
{
    double most = 0;
    for (size_t i = 0; i < j->n_nodes; i++) {
        const struct threads_state *t = j->nodes[i].state;
        const double share = t->n ? 100 * (double)t->over / (double)t->n : 0;
        out->datapoints = MAX_OF(out->datapoints, t->n);
        most = fmax(most, share);
        if (t->n >= LEAST && share > j->p[THRESHOLD].v && !(node_gpu_use(t) > GPU_BUSY))
            threads_find(j, out, &j->nodes[i]);
    }
    if (out->datapoints < LEAST && !judge_is_short(j, LEAST, out))
        verdict_not_evaluated(out, "runnable threads of the job were not recorded");
    else if (out->state == RULE_CLEAR)
        verdict_why(out, "in %.0f %% of the readings too many threads wanted to run", most);
}

const struct rule rule_thread_oversubscription = {
    .name = "ThreadOversubscription",
    .title = "Too many threads",
    .description = "Checks whether far more threads of the job want to run than it may use cores "
                   "(of the node, its CPU affinity and the limit of its control group). Processes "
                   "of a loader with one busy thread each do not count. The lost time is an "
                   "estimate.",
    .recommendation = "Set OMP_NUM_THREADS to the number of cores for each training process.",
    RULE_PARAMS([THRESHOLD] = {"threshold", 20, 0, 100, PARAM_PERCENT, "maximum share of readings"},
                [RATIO] = {"ratio_threshold", 200, 100, 10000, PARAM_PERCENT,
                           "runnable threads / usable cores that is too much"}),
    .labels = {{"share", "%", "Share of readings"},
               {"runnable", "", "Runnable threads, mean"},
               {"cores", "", "Usable cores"},
               {"delay", "", "Threads waiting for a core, mean"},
               {"threads_per_rank", "", "Threads per training process that fit"},
               {"main_delay", "%", "Wait of the training loop for a core"}},
    .needs = NEEDS_SWEEPS | NEEDS_STEPS,
    RULE_STATE(struct threads_state, KEEPS_BUSY_GPUS, .rank_size = sizeof(struct threads_rank),
               .sweeps = threads_sweeps, .event = threads_event, .memory_own = threads_memory),
    .steps = threads_steps,
    .judge = threads_judge,
};
