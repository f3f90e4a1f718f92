/* SPDX-License-Identifier: Apache-2.0 */
/* rule_host_threads.c - rules about threads of the job that wait for each other: GilContention and
 * ThreadOversubscription. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "rules/per_entity.h"
#include "rules/windows.h"

/* ==== GilContention ====
 *
 * Python threads compute beside the training loop and hold the interpreter lock,
 * so that the loop waits for it.
 *
 * The signature: loop and threads together use about one core, the loop's thread neither runs nor
 * waits for a core, and it does so in many short waits. Shares are of the time in which the loop's
 * thread does not wait for a core: others that take the cores slow down both sides. A thread that
 * waits for the lock wakes up every 5 ms (sys.getswitchinterval) to request it; one that waits for
 * a batch, a lock of its own or a timer sleeps until that is there. */

enum { WAIT, BESIDE }; /* parameters */

/* Cores that one lock allows, with what runs without it. */
static const double ONE_AT_A_TIME = 1.25;
/* Context switches per second of waiting: half of what the switch interval makes. */
static const double SWITCHES = 100;

/* Of the threshold, where the loop hardly has a core: less is what is not known exactly. */
static const double LIMIT_LEAST = 0.5;

enum { STEPS_LEAST = 10 };

struct gil_rank {
    struct rank_head head;
    uint64_t steps;
    int64_t loop_ns; /* of steady iterations */
    struct time_range seen;
    struct counted main, beside, delay, switches;
};

static void gil_steps(void *state, const struct rule_view *c, const struct rule_rank *r,
                      const struct step *v, size_t n)
{
    struct gil_rank *own = state_rank(state, c, r);
    for (size_t i = 0; i < n; i++) {
        const int64_t iteration = step_iteration_ns(&v[i]);
        if (!step_is_steady(&v[i]) || iteration < 0)
            continue;
        if (!own->steps++)
            own->seen.start = v[i].start;
        own->seen.end.ns = v[i].start.ns + iteration;
        own->loop_ns += iteration;
    }
}

static void gil_event(void *state, const struct rule_view *c, const struct rule_event *v)
{
    const struct {
        enum event_id id;
        size_t at;
    } fields[] = {{EV_CPU_THREAD, offsetof(struct gil_rank, main)},
                  {EV_CPU_BESIDE, offsetof(struct gil_rank, beside)},
                  {EV_CPU_DELAY, offsetof(struct gil_rank, delay)},
                  {EV_CPU_SWITCHES, offsetof(struct gil_rank, switches)}};
    for (size_t i = 0; v->worker < 0 && i < COUNT_OF(fields); i++)
        if (v->id == fields[i].id) {
            char *r = state_event_rank(state, c, v);
            counted_see((struct counted *)(void *)(r + fields[i].at), c->from, v);
        }
}

/* Of one rank; cores and shares of the loop's time. NAN: not recorded. */
struct gil_use {
    double main, beside, wait, switches;
    double limit; /* of the wait, percent */
    bool held;
};

static struct gil_use gil_use_of(const struct judge *j, const struct gil_rank *r)
{
    const wall_ns end = j->run->loop_end;
    const double delay = counted_per_s(&r->delay, end) / 1e9;
    struct gil_use u = {.main = counted_per_s(&r->main, end) / 1e9,
                        .beside = counted_per_s(&r->beside, end) / 1e9,
                        .switches = counted_per_s(&r->switches, end)};
    const double with_core = fmax(1 - (isnan(delay) ? 0 : delay), 0);
    u.wait = isnan(u.main) ? NAN : fmax(with_core - u.main, 0);
    u.limit = j->p[WAIT].v * fmax(with_core, LIMIT_LEAST);
    u.held = 100 * u.beside >= j->p[BESIDE].v * with_core && 100 * u.wait > u.limit &&
             u.main + u.beside <= ONE_AT_A_TIME && u.switches >= SWITCHES * u.wait;
    return u;
}

/* Not more than the other threads computed. */
static double gil_lost_s(const struct gil_rank *r, const struct gil_use *u)
{
    return ns_to_s(r->loop_ns) * fmin(u->wait, u->beside);
}

static void gil_find(const struct judge *j, struct verdict *v, const struct judged_node *node,
                     const struct gil_rank *r, const struct gil_use *u)
{
    const double step_s = ns_to_s(r->loop_ns) / (double)r->steps, lost_s = gil_lost_s(r, u);
    struct finding *f = verdict_find(v, node->facts->id, rank_entity(j, r));
    finding_when(v, f, &r->seen, 1);
    finding_say(v, f,
                "the training loop waited %.0f %% of the time (threshold %.0f %%) for the Python "
                "interpreter lock: other Python threads of the process used %.2f of a core and the "
                "loop %.2f",
                100 * u->wait, u->limit, u->beside, u->main);
    finding_advise(v, f,
                   "Move that work into a process of its own (multiprocessing), do it less often, "
                   "or do it in NumPy or PyTorch calls, which release the lock. That saves up to "
                   "%s of each iteration of %s.",
                   judge_time(j, lost_s / (double)r->steps), judge_time(j, step_s));
    f->refute = "the loop waits for what these threads make, in many short waits";
    FINDING_NUMBERS(v, f, 100 * u->wait, 100 * u->beside, 100 * u->main, u->switches, step_s);
    finding_lost(f, lost_s, node->facts->n_gpus);
    finding_count(v, f, 1, r->steps);
}

static void gil_judge(const struct judge *j, struct verdict *out)
{
    const struct gil_rank *r;
    double beside = 0;
    bool steps = false, known = false;
    for (struct entity_at at = {0}; (r = next_rank(j, &at));) {
        const struct gil_use u = gil_use_of(j, r);
        out->datapoints += r->steps;
        steps |= r->steps >= STEPS_LEAST;
        if (r->steps < STEPS_LEAST || isnan(u.main))
            continue;
        known = true;
        beside = fmax(beside, u.beside); /* which drops a NAN: there were no other threads */
        if (u.held && judge_is_much(j, gil_lost_s(r, &u)) &&
            !(node_gpu_use(at.node->state) > GPU_BUSY))
            gil_find(j, out, at.node, r, &u);
    }
    if (!steps)
        verdict_not_evaluated(out, "needs %d steps after warm-up", STEPS_LEAST);
    else if (!known)
        verdict_not_evaluated(out, "the CPU time of the training loop's thread was not recorded");
    else if (out->state == RULE_CLEAR)
        verdict_why(out, "other Python threads used %.2f of a core", beside);
}

const struct rule rule_gil_contention = {
    .name = "GilContention",
    .title = "Python GIL contention",
    .description = "Checks whether Python threads that compute beside the training loop hold the "
                   "interpreter lock (GIL) while the loop waits for it. The wait is an estimate "
                   "from CPU time and context switches.",
    .recommendation = "Move Python work of other threads into a process of its own, or do it less "
                      "often.",
    RULE_PARAMS([WAIT] =
                    {"threshold", 20, 0, 100, PARAM_PERCENT,
                     "maximum share of the training loop in which its thread waits for the lock"},
                [BESIDE] = {"cpu_threshold", 20, 0, 1000, PARAM_PERCENT,
                            "CPU use of other Python threads (of one core) that matters"}),
    .labels = {{"wait_share", "%", "Wait for the interpreter lock"},
               {"beside", "%", "CPU of other Python threads"},
               {"main", "%", "CPU of the training loop"},
               {"switches", "/s", "Context switches of the loop"},
               {"iteration", "s", "Iteration time"}},
    .estimates = true,
    .needs = NEEDS_STEPS,
    RULE_STATE(struct node_state, KEEPS_BUSY_GPUS, .rank_size = sizeof(struct gil_rank),
               .event = gil_event),
    .steps = gil_steps,
    .judge = gil_judge,
};

/* ==== ThreadOversubscription ====
 *
 * Far more threads of the job want to run than it has cores. Threads that
 * wait for each other (OpenMP) then wait for those that have no core.
 *
 * Runnable threads are the job's own demand, whichever process has the cores: other processes do
 * not raise it. The first thread of each process does not count as too many, so that many loader
 * workers, which are processes, are no finding here. */

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

static void threads_steps(void *state, const struct rule_view *c, const struct rule_rank *r,
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
    size_t with_steps;
    const double waits = threads_waits(j, t, &with_steps);
    const size_t ranks = MAX_OF(with_steps, (size_t)1); /* none may have had a step yet */
    const double each = fmax(floor(usable / (double)ranks), 1);
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
    .estimates = true,
    .needs = NEEDS_SWEEPS | NEEDS_STEPS,
    RULE_STATE(struct threads_state, KEEPS_BUSY_GPUS, .rank_size = sizeof(struct threads_rank),
               .sweeps = threads_sweeps, .event = threads_event, .memory_own = threads_memory),
    .steps = threads_steps,
    .judge = threads_judge,
};
