/* SPDX-License-Identifier: Apache-2.0 */
/* rule_host_memory.c - rules about memory of the host: HostMemoryIncrease and MemoryPressure. */
#include <math.h>

#include "base/human.h"
#include "base/mem.h"
#include "rules/per_entity.h"
#include "rules/trend.h"
#include "rules/windows.h"

/* ==== HostMemoryIncrease ====
 *
 * The job's resident memory climbs steadily towards the limit. */

enum { INCREASE, HORIZON, MIN_POINTS, PATIENCE };

#define SCALE (1 / 1024.0f) /* of the trend: KiB */

struct last {
    wall_ns at; /* 0: never read */
    float v;
};

struct host_memory_state {
    struct trend rss;
    uint64_t readings;
    struct last rss_now, mem_now, limit; /* B, % of the node, B of the control group */
};

static void see_last(struct last *l, const struct sweeps *s, enum node_signal signal)
{
    const float *v = s->v[signal];
    for (size_t i = s->n; v && i-- > 0;)
        if (!isnan(v[i])) {
            *l = (struct last){s->at[i], v[i]};
            return;
        }
}

static void host_memory_sweeps(void *state, const struct rule_view *c, const struct sweeps *s)
{
    struct host_memory_state *t = state;
    const float *rss = s->v[SIG_JOB_RSS];
    (void)c;
    if (rss) {
        t->readings += values_read(rss, s->n);
        trend_add(&t->rss, s->at, rss, s->n, SCALE);
    }
    see_last(&t->rss_now, s, SIG_JOB_RSS);
    see_last(&t->mem_now, s, SIG_MEM);
    see_last(&t->limit, s, SIG_CGROUP_MEM_LIMIT);
}

struct room {
    double limit, left; /* B; NAN: not known */
    const char *words;
};

/* The control group's limit is the job's own; of a node others use a part as well. */
static struct room room_of(const struct judged_node *node)
{
    const struct host_memory_state *t = node->state;
    const double rss = (double)t->rss_now.v, all = (double)node->facts->memory_bytes;
    const double limit = (double)t->limit.v;
    if (t->limit.at.ns && limit > 0 && (all <= 0 || limit < all))
        return (struct room){limit, fmax(limit - rss, 0), "the cgroup limit"};
    if (all <= 0)
        return (struct room){NAN, NAN, ""};
    return (struct room){
        all, t->mem_now.at.ns ? all * (1 - (double)t->mem_now.v / 100) : fmax(all - rss, 0),
        "the node's memory"};
}

static bool is_leak(const struct judge *j, const struct trend_fit *f, const struct room *room)
{
    const double rise = f->to - f->from;
    if (!trend_is_climb(f) || rise < j->p[INCREASE].v / 100 * f->from)
        return false;
    return room->left / f->per_s < fmax(judge_job_s(j), j->p[HORIZON].v);
}

static void host_memory_find(const struct judge *j, const struct judged_node *node,
                             const struct trend_fit *fit, const struct room *room,
                             struct verdict *v)
{
    const double left_s = room->left / fit->per_s;
    const char *left = judge_time(j, left_s), *limit = bytes_text(j->arena, room->limit);
    struct finding *f = verdict_find(v, node->facts->id, "");
    finding_over(v, f, &((const struct host_memory_state *)node->state)->rss);
    finding_say(v, f,
                "resident memory of the job rose steadily, from %s to %s in %s (%s per hour)%s",
                bytes_text(j->arena, fit->from), bytes_text(j->arena, fit->to),
                judge_time(j, fit->seconds), bytes_text(j->arena, fit->per_s * 3600),
                j->run->ended ? arena_printf(j->arena, "; %s is %s", room->words, limit)
                              : arena_printf(j->arena, "; at this rate it reaches %s of %s in %s",
                                             room->words, limit, left));
    finding_advise(v, f,
                   "Look for lists, caches or logs that grow with every step, datasets copied by "
                   "each loader worker, and losses kept with their graph%s.",
                   j->run->ended ? ""
                                 : arena_printf(j->arena, "; save a checkpoint within %s", left));
    f->refute = "memory levels off later in the run";
    FINDING_NUMBERS(v, f, fit->from, fit->to, fit->per_s * 3600, fit->r2, room->limit,
                    j->run->ended ? NUMBER_ABSENT : left_s);
    finding_count(v, f, 1, 1);
}

/* Returns whether there was enough to judge by. */
static bool host_memory_judge_node(const struct judge *j, const struct judged_node *node,
                                   struct verdict *out)
{
    const struct host_memory_state *t = node->state;
    const struct trend_fit fit = trend_fit_of(&t->rss, SCALE);
    const struct room room = room_of(node);
    if (t->readings < (uint64_t)j->p[MIN_POINTS].v || isnan(room.limit))
        return false;
    trend_plot(&t->rss, SCALE, j->run->job_start,
               arena_printf(j->arena, "Resident memory on %s", node->facts->id), "B", out);
    if (is_leak(j, &fit, &room))
        host_memory_find(j, node, &fit, &room, out);
    return true;
}

static void host_memory_judge(const struct judge *j, struct verdict *out)
{
    const uint64_t least = (uint64_t)j->p[MIN_POINTS].v;
    bool judged = false, read = false;
    for (size_t i = 0; i < j->n_nodes; i++) {
        const struct host_memory_state *t = j->nodes[i].state;
        judged |= host_memory_judge_node(j, &j->nodes[i], out);
        read |= t->readings > 0;
        out->datapoints = MAX_OF(out->datapoints, t->readings);
    }
    if (judged || (!read && judge_is_short(j, least, out)))
        return;
    if (!read)
        verdict_not_evaluated(out, "the job's memory was not recorded");
    else if (out->datapoints < least)
        verdict_not_evaluated(out, "needs %llu readings%s, has %llu", (unsigned long long)least,
                              judge_time_of(j, least, true), (unsigned long long)out->datapoints);
    else
        verdict_not_evaluated(out, "neither a memory limit nor the node's memory size is known");
}

const struct rule rule_host_memory_increase = {
    .name = "HostMemoryIncrease",
    .title = "Host memory growth",
    .description =
        "Checks whether the job's resident memory rises steadily over the training loop and would "
        "reach the limit (of the cgroup or the node) within a day or within the time already run.",
    .recommendation = "Look for lists, caches and logs that grow with every step.",
    RULE_PARAMS(
        [INCREASE] = {"increase", 5, 0, 1000, PARAM_PERCENT,
                      "minimum growth over the training loop"},
        [HORIZON] =
            {"horizon", 24 * 3600, 0, 1e9, PARAM_SECONDS,
             "report only if the limit would be reached within this time, or within the time "
             "already run"},
        [MIN_POINTS] = {"min_points", 50, 3, 1e6, PARAM_COUNT,
                        "minimum number of readings of the job's memory (one per second)"},
        [PATIENCE] = {"patience", 120, 0, 1e7, PARAM_POINTS,
                      "readings skipped at the start when no steps are known"}),
    .labels = {{"memory_before", "B", "Memory before"},
               {"memory_after", "B", "Memory after"},
               {"climb_per_hour", "B/h", ""},
               {"climb_r2", "", ""},
               {"limit", "B", "Memory limit"},
               {"limit_in", "s", "Time to limit at this rate"}},
    .needs = NEEDS_SWEEPS,
    .state_size = sizeof(struct host_memory_state),
    .sweeps = host_memory_sweeps,
    .judge = host_memory_judge,
};

/* ==== MemoryPressure ====
 *
 * Tasks of the node wait for memory: it swaps, reads programs from disk again, or
 * searches for pages to free. */

enum { THRESHOLD };

/* A reading above this is a moment of pressure; percent. */
static const float HIGH = 5;

/* Memory used from which the node, or the job's control group, has little left; percent. */
static const float NODE_FULL = 80, LIMIT_NEAR = 90;
/* Of the readings of pressure, in which a process of a job that lacks memory waits at least. */
static const double BLOCKED = 0.05;

enum { LEAST = 20 };

struct memory_state {
    struct node_state head;
    bool has_swap;
    float first_swap, last_swap; /* bytes */
    float most_limit;            /* of its control group's limit, percent */
    uint64_t high, blocked;      /* readings of pressure; of them, with a process in state D */
    struct episodes when;
};

static void memory_see_swap(struct memory_state *t, const float *v, size_t n)
{
    for (size_t i = 0; v && i < n; i++)
        if (!isnan(v[i])) {
            t->first_swap = t->has_swap ? t->first_swap : v[i];
            t->last_swap = v[i];
            t->has_swap = true;
        }
}

static void memory_see_limit(struct memory_state *t, const float *used, const float *limit,
                             size_t n)
{
    for (size_t i = 0; used && limit && i < n; i++)
        if (limit[i] > 0 && 100 * used[i] > t->most_limit * limit[i])
            t->most_limit = 100 * used[i] / limit[i];
}

static void memory_sweeps(void *state, const struct rule_view *c, const struct sweeps *s)
{
    struct memory_state *t = state;
    const float *psi = s->v[SIG_PSI_MEM];
    (void)c;
    memory_see_swap(t, s->v[SIG_SWAP], s->n);
    memory_see_limit(t, s->v[SIG_CGROUP_MEM], s->v[SIG_CGROUP_MEM_LIMIT], s->n);
    if (!(values_highest(psi, s->n, 0) > HIGH))
        return;
    const float *blocked = s->v[SIG_BLOCKED];
    for (size_t i = 0; i < s->n; i++) {
        if (!(psi[i] > HIGH))
            continue;
        episodes_add(&t->when, s->at[i], s->period_ns);
        t->high += blocked && !isnan(blocked[i]);
        t->blocked += blocked && blocked[i] >= 1;
    }
}

/* Processes of another control group wait, as a container does that is at its limit: the node has
 * memory left, the job is not at a limit, and none of its processes waits for pages. */
static bool memory_is_of_others(const struct memory_state *t)
{
    const bool full = hist_quantile(state_signal(t, 2), 0.95) >= NODE_FULL ||
                      state_signal(t, 2)->n == 0 || t->most_limit >= LIMIT_NEAR,
               swaps = t->has_swap && t->last_swap > t->first_swap;
    return !full && !swaps && t->high > 0 && (double)t->blocked < BLOCKED * (double)t->high;
}

static void pressure_memory(void *state, enum state_op op)
{
    episodes_memory(&((struct memory_state *)state)->when, op);
}

static void memory_find(const struct judge *j, struct verdict *v, const struct judged_node *node,
                        double loop_s)
{
    const struct memory_state *t = node->state;
    const double psi = hist_mean(state_signal(t, 0)), full = hist_mean(state_signal(t, 1)),
                 used = hist_quantile(state_signal(t, 2), 0.95),
                 grown = t->has_swap ? (double)t->last_swap - (double)t->first_swap : NAN;
    char bytes[HUMAN_LEN];
    const char *swap = grown > 0 ? arena_printf(j->arena, "; swap in use grew by %s",
                                                human_value(grown, "B", bytes, sizeof bytes))
                                 : "",
               *limit = t->most_limit > 0
                            ? arena_printf(j->arena,
                                           "; its control group used up to %.0f %% of its "
                                           "memory limit",
                                           (double)t->most_limit)
                            : "";
    struct finding *f = verdict_find(v, node->facts->id, "");
    finding_in(v, f, &t->when);
    finding_say(v, f, "tasks waited for memory for %.0f %% of the time (threshold %g %%)%s%s", psi,
                j->p[THRESHOLD].v, swap, limit);
    f->refute = "other processes wait for memory, and the job does not";
    FINDING_NUMBERS(v, f, psi, full, used, grown,
                    t->most_limit > 0 ? (double)t->most_limit : NUMBER_ABSENT);
    finding_lost(f, loop_s * psi / 100, node->facts->n_gpus);
    finding_count(v, f, 1, 1);
}

static void memory_judge(const struct judge *j, struct verdict *out)
{
    const double loop_s = j->run->has_steps ? judge_counted_s(j) : judge_job_s(j);
    double highest = 0;
    bool others = false;
    for (size_t i = 0; i < j->n_nodes; i++) {
        const struct hist *h = state_signal(j->nodes[i].state, 0);
        out->datapoints = MAX_OF(out->datapoints, h->n);
        if (h->n < LEAST)
            continue;
        const double psi = hist_mean(h);
        highest = fmax(highest, psi);
        if (!(psi > j->p[THRESHOLD].v) || !judge_is_much(j, loop_s * psi / 100))
            continue;
        if (memory_is_of_others(j->nodes[i].state))
            others = true;
        else
            memory_find(j, out, &j->nodes[i], loop_s);
    }
    if (out->datapoints < LEAST && !judge_is_short(j, LEAST, out))
        verdict_not_evaluated(out,
                              "memory pressure was not recorded (a kernel with PSI is needed)");
    else if (out->state == RULE_CLEAR)
        verdict_why(out, "tasks waited for memory for %.1f %% of the time%s", highest,
                    others ? ", but not those of the job" : "");
}

const struct rule rule_memory_pressure = {
    .name = "MemoryPressure",
    .title = "Memory pressure",
    .description = "Checks how long tasks of the node waited for memory (PSI): it swaps, or frees "
                   "pages that are needed again.",
    .recommendation = "Use less memory (fewer loader workers, less prefetching, a smaller data set "
                      "in memory), raise the memory limit, or use a machine with more memory.",
    RULE_PARAMS([THRESHOLD] = {"threshold", 5, 0, 100, PARAM_PERCENT,
                               "maximum share of the time in which tasks wait for memory"}),
    .labels = {{"pressure", "%", "Memory pressure, mean"},
               {"pressure_full", "%", "Memory pressure (all tasks), mean"},
               {"memory_p95", "%", "Memory used, p95"},
               {"swap_growth", "B", "Growth of swap in use"},
               {"limit", "%", "Highest use of the memory limit"}},
    .estimates = true,
    .needs = NEEDS_SWEEPS | NEEDS_STEPS,
    RULE_STATE(struct memory_state, .signals = {SIG_PSI_MEM, SIG_PSI_MEM_FULL, SIG_MEM},
               .n_signals = 3, .sweeps = memory_sweeps, .memory_own = pressure_memory),
    .judge = memory_judge,
};
