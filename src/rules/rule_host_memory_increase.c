/* SPDX-License-Identifier: Apache-2.0 */
/* HostMemoryIncrease: the job's resident memory climbs steadily towards the limit. */
#include <math.h>

#include "base/human.h"
#include "base/mem.h"
#include "rules/per_entity.h"
#include "rules/trend.h"

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

/* ---- judging ---- */

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
