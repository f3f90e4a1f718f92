/* SPDX-License-Identifier: Apache-2.0 */
/* rule_launch.c - GPUs that idle because the program launches too little work for them: HostBound
 * and SyncBound. Both compare the time of a rank's steps with the use of the node's GPUs. */
#include <math.h>

#include "base/mem.h"
#include "base/vec.h"
#include "rules/gpu_activity.h"
#include "rules/per_entity.h"

enum { STEPS_LEAST = 10 };

/* ==== what is seen ==== */

struct launch_rank {
    struct rank_head head;
    struct rank_time time;
    struct counted cpu; /* CPU time of the process, ns */
    bool hooks_measure; /* its hooks record the CPU time of the process, and waits, too */
};

struct launch_state {
    struct node_state head;
    uint64_t job_cpus, job_cpu_sum; /* readings of the job's CPU use, and their sum in percent */
};

static void launch_sweeps(void *state, const struct rule_view *c, const struct sweeps *s)
{
    struct launch_state *t = state;
    const float *cpu = s->v[SIG_JOB_CPU];
    (void)c;
    for (size_t i = 0; cpu && i < s->n; i++) {
        const bool is_read = cpu[i] >= 0; /* NAN is not */
        t->job_cpus += is_read;
        t->job_cpu_sum += is_read ? (uint64_t)lrintf(cpu[i]) : 0;
    }
}

static void launch_steps(void *state, const struct rule_view *c, const struct rule_rank *r,
                         const struct step *v, size_t n)
{
    struct launch_rank *own = state_rank(state, c, r);
    rank_time_add(&own->time, c->from, v, n);
}

static void launch_event(void *state, const struct rule_view *c, const struct rule_event *v)
{
    if (v->id != EV_CPU_PROCESS || v->worker >= 0)
        return;
    struct launch_rank *r = state_event_rank(state, c, v);
    r->hooks_measure = true;
    counted_see(&r->cpu, c->from, v);
}

#define LAUNCH_STATE(kind)                                                                         \
    RULE_STATE(struct launch_state, GPU_ACTIVITY, .sweeps = launch_sweeps,                         \
               .rank_size = sizeof(struct launch_rank), .event = launch_event, .family = &(kind)), \
        .steps = launch_steps, .judge = launch_judge

/* ==== judging ==== */

/* What is known of a rank; NAN: not known. */
struct launch_use {
    const struct launch_rank *rank;
    double level;    /* what the rule has a threshold for */
    double util, sm; /* of the GPUs, while it launches */
    bool is_known, is_bound;
    double lost_s;
    bool of_the_job;   /* HostBound: the level is that of all processes of the job */
    double wait, data; /* HostBound: percent of its iterations */
    double waits_s;    /* SyncBound */
};

/* One of the two rules. */
struct launch_kind {
    struct launch_use (*use_of)(const struct judge *j, const struct launch_state *t,
                                const struct node_activity *gpus, const struct launch_rank *r);
    void (*say)(const struct judge *j, struct verdict *v, struct finding *f,
                const struct launch_use *u);
    bool by_lost;           /* the worst rank of a node: by what is lost, or by the level */
    const char *missing;    /* nothing is known of a rank */
    const char *clear, *of; /* the highest level in words, before and after the number */
    int decimals;
};

/* What was seen of all nodes, for the words when nothing is found. */
struct launch_seen {
    bool has_steps, has_gpu;
    struct launch_use most; /* rank NULL: nothing is known of any */
};

static bool is_worse_use(const struct launch_kind *k, const struct launch_use *a,
                         const struct launch_use *b)
{
    return !b->rank || (k->by_lost ? a->lost_s > b->lost_s : a->level > b->level);
}

static void launch_judge_node(const struct judge *j, const struct launch_kind *kind,
                              const struct judged_node *node, struct launch_seen *seen,
                              struct verdict *out)
{
    const struct launch_state *t = node->state;
    const struct node_activity gpus = node_activity_of(&t->head);
    struct launch_use worst = {.rank = NULL};
    seen->has_gpu |= !isnan(gpus.util);
    for (size_t i = 0; i < t->head.n_ranks; i++) {
        const struct launch_rank *r = t->head.ranks[i];
        if (r->time.steps < STEPS_LEAST || isnan(gpus.util))
            continue;
        const struct launch_use u = kind->use_of(j, t, &gpus, r);
        seen->has_steps = true;
        if (!u.is_known)
            continue;
        out->datapoints += r->time.steps;
        if (!seen->most.rank || u.level > seen->most.level)
            seen->most = u;
        if (u.is_bound && is_worse_use(kind, &u, &worst))
            worst = u;
    }
    if (!worst.rank)
        return;
    struct finding *f = verdict_find(out, node->facts->id, rank_entity(j, worst.rank));
    finding_when(out, f, &gpus.range, 1);
    kind->say(j, out, f, &worst);
    finding_lost(f, worst.lost_s, gpus.gpus);
    finding_count(out, f, 1, worst.rank->time.steps);
}

static void launch_judge(const struct judge *j, struct verdict *out)
{
    const struct launch_kind *kind = j->rule->spec->family;
    struct launch_seen seen = {.has_gpu = false};
    for (size_t i = 0; i < j->n_nodes; i++)
        launch_judge_node(j, kind, &j->nodes[i], &seen, out);
    if (out->state == RULE_ISSUE)
        return;
    if (seen.most.rank)
        verdict_why(out, "%s %.*f %% of %s, the GPU was busy %.0f %% of the time", kind->clear,
                    kind->decimals, seen.most.level, kind->of, seen.most.util);
    else if (!seen.has_gpu && !judge_is_short(j, GPU_ACTIVITY_LEAST, out))
        verdict_not_evaluated(out, "no GPU was in use in the training loop");
    else if (seen.has_gpu && !seen.has_steps)
        verdict_not_evaluated(out, "needs %d training steps after warm-up", STEPS_LEAST);
    else if (seen.has_gpu)
        verdict_not_evaluated(out, "%s", kind->missing);
}

/* ==== HostBound ==== */

/* HostBound: the process that launches work for the GPU occupies one core fully, and the GPU is
 * idle in between. Its signature is the CPU time of the process near 100 % of a core while the GPU
 * is low; the thread wanders over the cores, so that no single core shows it.
 *
 * The GPU's use is that of the time in which the program launches (rank_time_gpu_use): a job that
 * saves, loads or evaluates half of the time has other causes, and other rules for them. */

enum { HOST_CPU, HOST_GPU, HOST_SM, HOST_WAIT, HOST_DATA }; /* parameters */

/* With a GPU that always runs some kernel, low SM activity has other causes than the host. */
static const double SM_COUNTS_BELOW_UTIL = 85;
/* CPU use of a whole job that may be one training process alone. */
static const double JOB_CPU_MOST = 140;
/* Of the whole job, where that may be one training process alone; else NAN. */
static double job_cpu_percent(const struct launch_state *t)
{
    const size_t training =
        SUM_OF(i, t->head.n_ranks, ((const struct launch_rank *)t->head.ranks[i])->time.steps > 0);
    const double mean =
        t->job_cpus >= GPU_ACTIVITY_LEAST ? (double)t->job_cpu_sum / (double)t->job_cpus : NAN;
    return training == 1 && mean <= JOB_CPU_MOST ? mean : NAN;
}

static struct launch_use host_use_of(const struct judge *j, const struct launch_state *t,
                                     const struct node_activity *gpus, const struct launch_rank *r)
{
    const double iterations_s = ns_to_s(r->time.iteration_ns);
    struct launch_use u = {.rank = r, .level = counted_per_s(&r->cpu, j->run->loop_end) / 1e7};
    if (isnan(u.level)) {
        u.level = job_cpu_percent(t);
        u.of_the_job = true;
    }
    u.util = rank_time_gpu_use(j, &r->time, gpus->util);
    u.sm = rank_time_gpu_use(j, &r->time, gpus->sm);
    u.wait = 100 * rank_time_waits_s(&r->time) / iterations_s;
    u.data = 100 * rank_time_part_s(&r->time, EV_DATA) / iterations_s;
    u.is_known = !isnan(u.level) && !isnan(u.util);
    const bool low =
        u.util < j->p[HOST_GPU].v || (u.util < SM_COUNTS_BELOW_UTIL && u.sm < j->p[HOST_SM].v);
    u.is_bound = u.level >= j->p[HOST_CPU].v && low && u.wait < j->p[HOST_WAIT].v &&
                 u.data < j->p[HOST_DATA].v;
    u.lost_s = rank_time_launch_s(&r->time) * (1 - u.util / 100);
    return u;
}

static void host_say(const struct judge *j, struct verdict *v, struct finding *f,
                     const struct launch_use *u)
{
    const char *sm = isnan(u->sm) ? "" : arena_printf(j->arena, ", its SMs active %.0f %%", u->sm);
    finding_say(v, f,
                "the host limits the GPU: %s used %.0f %% of one core (threshold %g %%) while the "
                "GPU was busy %.0f %% of the time%s; waits for the GPU took %.0f %% of the "
                "iterations, waits for data %.0f %%",
                u->of_the_job ? "the job" : "the training process", u->level, j->p[HOST_CPU].v,
                u->util, sm, u->wait, u->data);
    f->advice =
        "Launch fewer kernels from Python: use CUDA graphs, "
        "torch.compile(mode=\"reduce-overhead\") or a fused optimizer (fused=True). Or give "
        "each launch more work with a larger batch.";
    f->refute = "a CPU profile shows work other than launching kernels";
    FINDING_NUMBERS(v, f, u->level, u->util, u->sm, u->wait, u->data);
}

static const struct launch_kind host_bound = {
    .use_of = host_use_of,
    .say = host_say,
    .missing = "the CPU time of the training process was not recorded",
    .clear = "the training process used",
    .of = "one core",
};

const struct rule rule_host_bound = {
    .name = "HostBound",
    .title = "Host bound",
    .description = "Checks whether launching kernels keeps one core busy while the GPU is partly "
                   "idle, with no waits for data or for the GPU.",
    .recommendation = "Launch fewer kernels from Python: CUDA graphs, torch.compile, a fused "
                      "optimizer, a larger batch.",
    RULE_PARAMS([HOST_CPU] = {"cpu_threshold", 85, 0, 1000, PARAM_PERCENT,
                              "the training process is busy from this CPU use (of one core)"},
                [HOST_GPU] = {"gpu_threshold", 60, 0, 100, PARAM_PERCENT,
                              "GPU utilization below this is low"},
                [HOST_SM] = {"sm_threshold", 50, 0, 100, PARAM_PERCENT,
                             "SM activity below this is low (where recorded)"},
                [HOST_WAIT] =
                    {"wait_threshold", 20, 0, 100, PARAM_PERCENT,
                     "from this share of the iteration, waits for the GPU are the cause instead"},
                [HOST_DATA] =
                    {"data_threshold", 20, 0, 100, PARAM_PERCENT,
                     "from this share of the iteration, waits for data are the cause instead"}),
    .labels = {{"process_cpu", "%", "CPU use of the training process"},
               {"gpu_util", "%", "GPU utilization"},
               {"sm_active", "%", "SM activity"},
               {"wait_share", "%", "Waits for the GPU, share of iteration"},
               {"data_share", "%", "Waits for data, share of iteration"}},
    .estimates = true,
    .needs = NEEDS_SWEEPS | NEEDS_GPU | NEEDS_STEPS,
    .explained_by = (const char *const[]){"SyncBound", "CompileTime", "GilContention", NULL},
    LAUNCH_STATE(host_bound),
};

/* ==== SyncBound ==== */

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

enum { SYNC_SHARE, SYNC_GPU }; /* parameters */

/* S is the time that launching and waiting take: the GPU may be busy in all of it. */
static struct launch_use sync_use_of(const struct judge *j, const struct launch_state *t,
                                     const struct node_activity *gpus, const struct launch_rank *r)
{
    const double waits_s = rank_time_waits_s(&r->time),
                 steps_s = rank_time_launch_s(&r->time) + waits_s,
                 busy_s = gpus->util / 100 * judge_counted_s(j);
    struct launch_use u = {.rank = r, .sm = gpus->sm, .waits_s = waits_s};
    (void)t;
    u.level = 100 * waits_s / ns_to_s(r->time.iteration_ns);
    u.util = steps_s > 0 ? fmin(100 * busy_s / steps_s, 100) : NAN;
    u.is_known = r->hooks_measure || waits_s > 0;
    u.is_bound = u.level >= j->p[SYNC_SHARE].v && u.util < j->p[SYNC_GPU].v;
    u.lost_s = fmin(waits_s, fmax(steps_s - busy_s, 0));
    return u;
}

static void sync_say(const struct judge *j, struct verdict *v, struct finding *f,
                     const struct launch_use *u)
{
    const double steps = (double)u->rank->time.steps;
    finding_say(v, f,
                "waits for the GPU took %.0f %% of the iterations (threshold %g %%), %s per step, "
                "while the GPU was busy only %.0f %% of the time",
                u->level, j->p[SYNC_SHARE].v, judge_time(j, u->waits_s / steps), u->util);
    f->advice = "Read results from the GPU less often: keep sums as tensors on the GPU and call "
                "item(), cpu() or tolist() only every n-th step, copy with non_blocking=True, and "
                "avoid synchronize(), nonzero() and boolean indexing in the step.";
    f->refute = "the GPU is idle in other parts of the training loop";
    FINDING_NUMBERS(v, f, u->level, u->waits_s, u->util, u->sm, steps);
}

static const struct launch_kind sync_bound = {
    .use_of = sync_use_of,
    .say = sync_say,
    .by_lost = true,
    .missing = "waits for the GPU were not recorded",
    .clear = "waits for the GPU took",
    .of = "the iterations",
    .decimals = 1,
};

const struct rule rule_sync_bound = {
    .name = "SyncBound",
    .title = "Synchronization",
    .part = "sync",
    .description = "Checks whether the program synchronizes with the GPU (item, cpu, synchronize) "
                   "so often that the GPU runs out of work.",
    .recommendation = "Read results from the GPU less often and without blocking.",
    RULE_PARAMS([SYNC_SHARE] = {"threshold", 10, 0, 100, PARAM_PERCENT,
                                "maximum share of the iterations spent waiting for the GPU"},
                [SYNC_GPU] = {"gpu_threshold", 80, 0, 100, PARAM_PERCENT,
                              "a GPU with higher utilization is not affected by waits"}),
    .labels = {{"wait_share", "%", "Waits for the GPU, share of iteration"},
               {"wait", "s", "Waits for the GPU"},
               {"gpu_util", "%", "GPU utilization"},
               {"sm_active", "%", "SM activity"},
               {"steps", "", "Steps"},
               {"waits_per_step", "", "Waits per step"}},
    .needs = NEEDS_SWEEPS | NEEDS_GPU | NEEDS_STEPS,
    LAUNCH_STATE(sync_bound),
};
