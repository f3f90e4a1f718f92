/* SPDX-License-Identifier: Apache-2.0 */
/* HostBound: the process that launches work for the GPU keeps one core fully busy, and the GPU is
 * idle in between. Its signature is the CPU time of the process near 100 % of a core while the
 * GPU is low; the thread wanders over the cores, so that no single core shows it.
 *
 * The GPU's use is that of the time in which the program launches (rank_time_gpu_use): a job that
 * saves, loads or evaluates half of the time has other causes, and other rules for them. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "rules/gpu_activity.h"
#include "rules/judging.h"

enum { CPU, GPU, SM, WAIT, DATA };

static const struct param params[] = {
    [CPU] = {"cpu_threshold", 85, 0, 1000, PARAM_PERCENT,
             "the training process is busy from this CPU use (of one core)"},
    [GPU] = {"gpu_threshold", 60, 0, 100, PARAM_PERCENT, "GPU utilization below this is low"},
    [SM] = {"sm_threshold", 50, 0, 100, PARAM_PERCENT,
            "SM activity below this is low (where recorded)"},
    [WAIT] = {"wait_threshold", 20, 0, 100, PARAM_PERCENT,
              "from this share of the iteration, waits for the GPU are the cause instead"},
    [DATA] = {"data_threshold", 20, 0, 100, PARAM_PERCENT,
              "from this share of the iteration, waits for data are the cause instead"},
    {0},
};

enum { STEPS_LEAST = 10, LAST_KEPT = 8 };

/* With a GPU that always runs some kernel, low SM activity has other causes than the host. */
static const double SM_COUNTS_BELOW_UTIL = 85;
/* CPU use of a whole job that may be one training process alone. */
static const double JOB_CPU_MOST = 140;
/* Of two readings of the CPU time. */
static const double CPU_APART_S = 1;

struct cpu_reading {
    int64_t at_ns, cpu_ns;
};

/* CPU times of the process, in order of time. The last ones are kept, since the end of the loop is
 * not known while they come. */
struct cpu_time {
    uint64_t n;
    struct cpu_reading first, last[LAST_KEPT];
};

struct host_rank {
    struct rank_head head;
    struct rank_time time;
    struct cpu_time cpu;
};

struct host_state {
    struct per_rank ranks;
    struct per_gpu gpus;
    uint64_t job_cpus, job_cpu_sum; /* readings of the job's CPU use, and their sum in percent */
};

/* ---- seeing ---- */

static void host_sweeps(void *state, const struct rule_view *c, const struct sweeps *s)
{
    struct host_state *t = state;
    const float *cpu = s->v[SIG_JOB_CPU];
    (void)c;
    gpu_activity_see(&t->gpus, s);
    for (size_t i = 0; cpu && i < s->n; i++) {
        const bool is_read = cpu[i] >= 0; /* NAN is not */
        t->job_cpus += is_read;
        t->job_cpu_sum += is_read ? (uint64_t)lrintf(cpu[i]) : 0;
    }
}

static void host_steps(void *state, const struct rule_view *c, const struct rank_sight *r,
                       const struct step *v, size_t n)
{
    struct host_rank *own =
        per_rank_see(&((struct host_state *)state)->ranks, sizeof(struct host_rank), r);
    rank_time_add(&own->time, c->from, v, n);
}

static void cpu_time_add(struct cpu_time *c, const struct cpu_reading *x)
{
    if (c->n == 0)
        c->first = *x;
    c->last[c->n++ % LAST_KEPT] = *x;
}

static void host_events(void *state, const struct rule_view *c, const struct rule_event *v,
                        size_t n)
{
    struct host_state *t = state;
    for (size_t i = 0; i < n; i++) {
        const struct rank_sight who = {.rank = v[i].rank, .device = -1, .pid = v[i].pid};
        if (v[i].id != EV_CPU_PROCESS || v[i].worker >= 0 || v[i].at.ns < c->from.ns)
            continue;
        struct host_rank *own = per_rank_see(&t->ranks, sizeof *own, &who);
        cpu_time_add(&own->cpu, &(struct cpu_reading){v[i].at.ns, v[i].value});
    }
}

static void host_memory(void *state, enum state_op op)
{
    per_rank_memory(&((struct host_state *)state)->ranks, NULL, op);
    per_gpu_memory(&((struct host_state *)state)->gpus, NULL, op);
}

/* ---- judging ---- */

/* What is known of a rank; NAN: not known. */
struct host_use {
    const struct host_rank *rank;
    double cpu;        /* percent of a core */
    bool of_the_job;   /* cpu is that of all processes of the job */
    double util, sm;   /* of the GPUs, while it launches */
    double wait, data; /* percent of its iterations */
};

/* The last reading in the loop, or the first one after it. */
static const struct cpu_reading *cpu_last(const struct cpu_time *c, int64_t loop_end_ns)
{
    const uint64_t first = c->n - MIN_OF(c->n, (uint64_t)LAST_KEPT);
    uint64_t at = c->n - 1;
    while (at > first && c->last[at % LAST_KEPT].at_ns > loop_end_ns)
        at--;
    return &c->last[at % LAST_KEPT];
}

static double cpu_percent(const struct cpu_time *c, int64_t loop_end_ns)
{
    if (c->n < 2)
        return NAN;
    const struct cpu_reading *last = cpu_last(c, loop_end_ns);
    const double wall_s = (double)(last->at_ns - c->first.at_ns) / 1e9,
                 cpu_s = (double)(last->cpu_ns - c->first.cpu_ns) / 1e9;
    return wall_s >= CPU_APART_S && cpu_s >= 0 ? 100 * cpu_s / wall_s : NAN;
}

static double job_cpu_percent(const struct host_state *t)
{
    return t->job_cpus >= GPU_ACTIVITY_LEAST ? (double)t->job_cpu_sum / (double)t->job_cpus : NAN;
}

static size_t training_ranks(const struct host_state *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->ranks.n; i++)
        n += ((const struct host_rank *)t->ranks.v[i])->time.steps > 0;
    return n;
}

static struct host_use host_use_of(const struct judge *j, const struct host_state *t,
                                   const struct node_activity *gpus, const struct host_rank *r)
{
    const double iterations_s = rank_time_iterations_s(&r->time);
    struct host_use u = {.rank = r, .cpu = cpu_percent(&r->cpu, j->run->loop_end.ns)};
    if (isnan(u.cpu) && training_ranks(t) == 1 && job_cpu_percent(t) <= JOB_CPU_MOST) {
        u.cpu = job_cpu_percent(t);
        u.of_the_job = true;
    }
    u.util = rank_time_gpu_use(j, &r->time, gpus->util);
    u.sm = rank_time_gpu_use(j, &r->time, gpus->sm);
    u.wait = 100 * rank_time_waits_s(&r->time) / iterations_s;
    u.data = 100 * rank_time_part_s(&r->time, event_words[EV_DATA].part) / iterations_s;
    return u;
}

static bool gpu_is_low(const struct judge *j, const struct host_use *u)
{
    return u->util < j->p[GPU].v || (u->util < SM_COUNTS_BELOW_UTIL && u->sm < j->p[SM].v);
}

static bool is_host_bound(const struct judge *j, const struct host_use *u)
{
    return u->cpu >= j->p[CPU].v && gpu_is_low(j, u) && u->wait < j->p[WAIT].v &&
           u->data < j->p[DATA].v;
}

static void host_find(const struct judge *j, struct verdict *v, const struct judged_node *node,
                      const struct node_activity *gpus, const struct host_use *u)
{
    const struct rank_time *t = &u->rank->time;
    struct finding *f = verdict_find(v, node->facts->id, rank_entity(j, &u->rank->head.who));
    finding_when(v, f, &gpus->range, 1);
    const char *sm = isnan(u->sm) ? "" : arena_printf(j->arena, ", its SMs active %.0f %%", u->sm);
    finding_say(v, f,
                "the host limits the GPU: %s used %.0f %% of one core (threshold %g %%) while the "
                "GPU was busy %.0f %% of the time%s; waits for the GPU took %.0f %% of the "
                "iterations, waits for data %.0f %%",
                u->of_the_job ? "the job" : "the training process", u->cpu, j->p[CPU].v, u->util,
                sm, u->wait, u->data);
    finding_advise(v, f,
                   "Launch fewer kernels from Python: use CUDA graphs, "
                   "torch.compile(mode=\"reduce-overhead\") or a fused optimizer (fused=True). Or "
                   "give each launch more work with a larger batch.");
    f->refute = "a CPU profile shows work other than launching kernels";
    finding_number(v, f, "process_cpu", u->cpu, "%");
    finding_number(v, f, "gpu_util", u->util, "%");
    finding_number(v, f, "sm_active", u->sm, "%");
    finding_number(v, f, "wait_share", u->wait, "%");
    finding_number(v, f, "data_share", u->data, "%");
    f->lost_s = rank_time_launch_s(t) * (1 - u->util / 100);
    f->lost_gpu_s = f->lost_s * (double)gpus->gpus;
    v->triggered++;
    v->violations += t->steps;
    v->last_triggered.ns = MAX_OF(v->last_triggered.ns, f->end.ns);
}

/* What was seen of all nodes, for the words when nothing is found. */
struct host_seen {
    bool judged, has_steps, has_gpu;
    double cpu, util;
};

static void host_judge_node(const struct judge *j, const struct judged_node *node,
                            struct verdict *out, struct host_seen *seen)
{
    const struct host_state *t = node->state;
    const struct node_activity gpus = node_activity_of(&t->gpus);
    struct host_use worst = {.rank = NULL};
    seen->has_gpu |= !isnan(gpus.util);
    for (size_t i = 0; i < t->ranks.n; i++) {
        const struct host_rank *r = t->ranks.v[i];
        if (r->time.steps < STEPS_LEAST || isnan(gpus.util))
            continue;
        const struct host_use u = host_use_of(j, t, &gpus, r);
        seen->has_steps = true;
        if (isnan(u.cpu) || isnan(u.util))
            continue;
        if (!seen->judged || u.cpu > seen->cpu) {
            seen->cpu = u.cpu;
            seen->util = u.util;
        }
        seen->judged = true;
        out->datapoints += r->time.steps;
        if (is_host_bound(j, &u) && (!worst.rank || u.cpu > worst.cpu))
            worst = u;
    }
    if (worst.rank)
        host_find(j, out, node, &gpus, &worst);
}

static void host_judge(const struct judge *j, struct verdict *out)
{
    struct host_seen seen = {.judged = false};
    for (size_t i = 0; i < j->n_nodes; i++)
        host_judge_node(j, &j->nodes[i], out, &seen);
    if (out->state == RULE_ISSUE)
        return;
    if (seen.judged)
        verdict_why(
            out,
            "the training process used %.0f %% of one core, the GPU was busy %.0f %% of the time",
            seen.cpu, seen.util);
    else if (!seen.has_gpu && !judge_is_short(j, GPU_ACTIVITY_LEAST, out))
        verdict_not_evaluated(out, "no GPU was in use in the training loop");
    else if (seen.has_gpu && !seen.has_steps)
        verdict_not_evaluated(out, "needs %d training steps after warm-up", STEPS_LEAST);
    else if (seen.has_gpu)
        verdict_not_evaluated(out, "the CPU time of the training process was not recorded");
}

static const char *const explained_by[] = {"SyncBound", "CompileTime", NULL};

static const struct number_label labels[] = {
    {"process_cpu", "CPU use of the training process"},
    {"gpu_util", "GPU utilization"},
    {"sm_active", "SM activity"},
    {"wait_share", "Waits for the GPU, share of iteration"},
    {"data_share", "Waits for data, share of iteration"},
    {0},
};

const struct rule rule_host_bound = {
    .name = "HostBound",
    .title = "Host bound",
    .description = "Checks whether launching kernels keeps one core busy while the GPU is partly "
                   "idle, with no waits for data or for the GPU.",
    .recommendation = "Launch fewer kernels from Python: CUDA graphs, torch.compile, a fused "
                      "optimizer, a larger batch.",
    .params = params,
    .labels = labels,
    .patience = -1,
    .needs = NEEDS_SWEEPS | NEEDS_GPU | NEEDS_STEPS,
    .explained_by = explained_by,
    .state_size = sizeof(struct host_state),
    .sweeps = host_sweeps,
    .steps = host_steps,
    .events = host_events,
    .memory = host_memory,
    .judge = host_judge,
};
