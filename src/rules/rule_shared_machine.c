/* SPDX-License-Identifier: Apache-2.0 */
/* SharedMachine: the job gets less CPU than it requests, because others use the machine, because
 * its control group has a limit, or because the hypervisor takes the time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rules/per_entity.h"
#include "rules/windows.h"

enum { THRESHOLD, OTHERS };

/* Percent. A node that is busier has no core to spare; tasks wait for one; a core was taken away
 * from the control group, or the machine, for that share of the time. */
static const float NODE_FULL = 90, PRESSURE = 20, THROTTLED = 20, STOLEN = 10;
/* The share of its demand that a job must lack. */
static const double LACKS = 0.1;

/* Cores that a program must have used to be named. */
static const double NAMED_CORES = 0.05;

enum { LEAST = 20, FREE_LEAST = 20, DELAYS_LEAST = 3, NAMED_MOST = 3 };

/* What takes the CPU time that the job needs. */
enum taker { BY_OTHERS, BY_LIMIT, BY_HOST, TAKER_N };

struct taken {
    uint64_t n;
    int64_t job, part; /* sums, in tenths of a percent of a core: the job's; what was taken */
    uint64_t delays;   /* readings with the waits of its threads for a core; then the same sums */
    int64_t had, wanted;
    struct episodes when;
};

struct shared_state {
    struct node_state head;
    uint64_t n; /* readings */
    struct taken by[TAKER_N];
    struct loghist *free; /* the job's CPU while nothing else took any; NULL: never */
};

/* ---- seeing ---- */

static float shared_value(const struct sweeps *s, enum node_signal k, size_t at)
{
    return s->v[k] ? s->v[k][at] : NAN;
}

/* What was taken, in percent of a core, and the taker. TAKER_N: nothing. */
static enum taker taken_at(const struct rule_view *c, const struct sweeps *s, size_t at,
                           float *part)
{
    const float cores = (float)c->node->cores, cpu = shared_value(s, SIG_CPU, at),
                limit = shared_value(s, SIG_CGROUP_THROTTLED, at),
                stolen = shared_value(s, SIG_STEAL, at),
                others = cpu * cores - shared_value(s, SIG_JOB_CPU, at);
    if (limit >= THROTTLED) {
        *part = limit;
        return BY_LIMIT;
    }
    if (stolen >= STOLEN) {
        *part = stolen * cores;
        return BY_HOST;
    }
    *part = others;
    return cpu >= NODE_FULL && others >= (float)c->p[OTHERS].v * cores &&
                   !(shared_value(s, SIG_PSI_CPU, at) < PRESSURE)
               ? BY_OTHERS
               : TAKER_N;
}

/* What its threads ran and waited for a core is the demand of the job, but no more than the node
 * has: a job with too many threads waits for itself. */
static void shared_add_delay(struct taken *x, const struct rule_view *c, float job, float delay)
{
    if (isnan(delay))
        return;
    x->delays++;
    x->had += llround((double)job * 10);
    x->wanted += llround(fmin((double)(job + delay), 100.0 * c->node->cores) * 10);
}

static void shared_sweeps(void *state, const struct rule_view *c, const struct sweeps *s)
{
    struct shared_state *t = state;
    if (!s->v[SIG_JOB_CPU] || !s->v[SIG_CPU] || !c->node->cores)
        return;
    for (size_t i = 0; i < s->n; i++) {
        const float job = s->v[SIG_JOB_CPU][i];
        float part = 0;
        if (isnan(job) || isnan(s->v[SIG_CPU][i]))
            continue;
        const enum taker by = taken_at(c, s, i, &part);
        t->n++;
        if (by == TAKER_N) {
            t->free = t->free ? t->free : xcalloc(1, sizeof *t->free);
            loghist_add(t->free, &job, 1);
            continue;
        }
        t->by[by].n++;
        t->by[by].job += llround((double)job * 10);
        t->by[by].part += llround((double)part * 10);
        shared_add_delay(&t->by[by], c, job, shared_value(s, SIG_RUN_DELAY, i));
        episodes_add(&t->by[by].when, s->at[i], s->period_ns);
    }
}

static void shared_memory(void *state, enum state_op op)
{
    struct shared_state *t = state;
    for (size_t k = 0; k < TAKER_N; k++)
        episodes_memory(&t->by[k].when, op);
    state_memory(op, &t->free, sizeof *t->free);
}

/* ---- judging ---- */

static const struct {
    const char *says, *advice, *refute;
} takers[TAKER_N] = {
    [BY_OTHERS] = {"other processes used",
                   "Run the job on a machine of its own, or when the others have ended. Until then "
                   "nice or cgroup weights give it more of the CPU.",
                   "the job asks for little CPU: it waits for a GPU, the network or a timer"},
    [BY_LIMIT] = {"the CPU limit of its control group withheld",
                  "Raise the CPU limit of the container or job (cpu.max, --cpus, limits.cpu), or "
                  "start fewer threads and loader workers.",
                  "the limit is meant, and a smaller machine would do"},
    [BY_HOST] = {"the hypervisor took",
                 "Move the virtual machine to a host that is less full, or to one with dedicated "
                 "cores.",
                 "the job waits for a GPU, and a slower CPU does not delay it"},
};

/* What the job used while nothing else took CPU time; NAN: not known. */
static double shared_wanted(const struct shared_state *t)
{
    return t->free && t->free->n >= FREE_LEAST ? fmax(loghist_quantile(t->free, 0.5), 1) : NAN;
}

/* The share of the CPU that the job wanted and lacked: by the waits of its threads for a
 * core, or else by what it used alone. NAN: neither is known. */
static double shared_lack(const struct shared_state *t, enum taker by)
{
    const struct taken *x = &t->by[by];
    const double job = (double)x->job / (double)x->n / 10, wanted = shared_wanted(t);
    if (by != BY_OTHERS)
        return (double)x->part / (double)(x->part + x->job);
    if (x->delays >= DELAYS_LEAST)
        return fmax(1 - (double)x->had / (double)MAX_OF(x->wanted, 1), 0);
    return fmax(1 - job / wanted, 0) + 0 * wanted; /* fmax drops a NAN */
}

/* The share of the time in which it lacked that: what it lost. A job that sleeps for most of it
 * lost no more than its threads waited for a core, however little of a core it wanted. */
static double shared_lost(const struct shared_state *t, enum taker by, double lack)
{
    const struct taken *x = &t->by[by];
    if (by != BY_OTHERS || x->delays < DELAYS_LEAST)
        return lack;
    return fmin(lack, (double)(x->wanted - x->had) / (double)x->delays / 1e3);
}

/* A program that is named. */
static const char *shared_name(const struct judge *j, const struct other_use *x)
{
    const char *colon = strchr(x->name, ':');
    return colon ? arena_printf(j->arena, "%s of %.*s (%.2g)", colon + 1, (int)(colon - x->name),
                                x->name, x->cores)
                 : arena_printf(j->arena, "processes that are not visible here (%.2g)", x->cores);
}

/* The programs that used most, with the cores that each had; "": not recorded. */
static const char *shared_names(const struct judge *j, const struct node_facts *node)
{
    const char *text = "";
    for (size_t i = 0; i < node->n_others && i < NAMED_MOST; i++)
        if (node->others[i].cores >= NAMED_CORES)
            text = arena_printf(j->arena, "%s%s%s", text, *text ? ", " : ": mostly ",
                                shared_name(j, &node->others[i]));
    return text;
}

static void shared_find(const struct judge *j, struct verdict *v, const struct judged_node *node,
                        enum taker by)
{
    const struct shared_state *t = node->state;
    const struct taken *x = &t->by[by];
    const double share = 100 * (double)x->n / (double)t->n,
                 job = (double)x->job / (double)x->n / 1e3,
                 part = (double)x->part / (double)x->n / 1e3, lack = shared_lack(t, by),
                 loop_s = j->run->has_steps ? judge_counted_s(j) : judge_job_s(j);
    struct finding *f = verdict_find(v, node->facts->id, "");
    finding_in(v, f, &x->when);
    finding_say(
        v, f,
        "in %.0f %% of the readings (threshold %g %%) %s %.1f of %u cores while the job had "
        "%.2f%s",
        share, j->p[THRESHOLD].v, takers[by].says, part, node->facts->cores, job,
        by == BY_OTHERS ? shared_names(j, node->facts) : "");
    f->advice = takers[by].advice;
    f->refute = takers[by].refute;
    FINDING_NUMBERS(v, f, share, part, job, 100 * lack);
    finding_lost(f, loop_s * share / 100 * shared_lost(t, by, lack), node->facts->n_gpus);
    finding_count(v, f, 1, x->n);
}

/* Whether it is known what the job lacks; else it is no finding. */
static bool shared_judge_node(const struct judge *j, const struct judged_node *node,
                              struct verdict *out, double *highest)
{
    const struct shared_state *t = node->state;
    bool known = true;
    for (enum taker by = 0; by < TAKER_N && t->n >= LEAST; by++) {
        const double share = 100 * (double)t->by[by].n / (double)t->n;
        *highest = fmax(*highest, share);
        if (!(share > j->p[THRESHOLD].v) || node_gpu_use(t) > GPU_BUSY)
            continue;
        const double lack = shared_lack(t, by);
        known &= !isnan(lack);
        if (lack > LACKS)
            shared_find(j, out, node, by);
    }
    return known;
}

static void shared_judge(const struct judge *j, struct verdict *out)
{
    double highest = 0;
    bool known = true;
    for (size_t i = 0; i < j->n_nodes; i++) {
        const struct shared_state *t = j->nodes[i].state;
        out->datapoints = MAX_OF(out->datapoints, t->n);
        known &= shared_judge_node(j, &j->nodes[i], out, &highest);
    }
    if (out->datapoints < LEAST && !judge_is_short(j, LEAST, out))
        verdict_not_evaluated(out, "CPU use of the job and of the node was not recorded");
    else if (out->state == RULE_CLEAR && !known)
        verdict_not_evaluated(out,
                              "other processes used the CPU nearly all the time (%.0f %% of "
                              "the readings), so it is not known what the job needs",
                              highest);
    else if (out->state == RULE_CLEAR)
        verdict_why(out, "in %.0f %% of the readings others had CPU that the job may have needed",
                    highest);
}

const struct rule rule_shared_machine = {
    .name = "SharedMachine",
    .title = "Shared machine",
    .description = "Checks whether the job got less CPU than it needed while the node was full "
                   "with other processes, its control group was throttled, or the hypervisor took "
                   "CPU time. It names the programs that used most, by user and program name. The "
                   "lost time is an estimate from the waits of the job's threads for a core; "
                   "without these it is not evaluated if others were always there.",
    .recommendation = "Run the job on a machine of its own.",
    RULE_PARAMS(
        [THRESHOLD] = {"threshold", 20, 0, 100, PARAM_PERCENT, "maximum share of readings"},
        [OTHERS] =
            {"others_threshold", 20, 0, 100, PARAM_PERCENT,
             "CPU of other processes, share of the node, that matters while the node is full"}),
    .labels = {{"share", "%", "Share of readings"},
               {"taken", "", "Cores taken, mean"},
               {"job", "", "Cores of the job, mean"},
               {"slower", "%", "CPU that the job lacked"}},
    .estimates = true,
    .needs = NEEDS_SWEEPS | NEEDS_STEPS,
    RULE_STATE(struct shared_state, KEEPS_BUSY_GPUS, .sweeps = shared_sweeps,
               .memory_own = shared_memory),
    .judge = shared_judge,
};
