/* SPDX-License-Identifier: Apache-2.0 */
/* StalledTraining: no step finished for a long time; what every rank was last doing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/mem.h"
#include "rules/hist.h"
#include "rules/judging.h"
#include "rules/per_entity.h"
#include "rules/seconds.h"
#include "rules/step_spread.h"

enum { THRESHOLD, FACTOR };

static const struct param params[] = {
    [THRESHOLD] = {"threshold", 1800, 1, 1e7, PARAM_SECONDS,
                   "maximum time without a finished step; longer where steps are long"},
    [FACTOR] = {"factor", 20, 1, 1e6, PARAM_RATIO,
                "the limit is at least this many times the p99 of step time"},
    {0},
};

enum { LONG_KEPT = 16, GAPS_MOST = 64, RANKS_SAID = 8 };

struct rule_stalled_training_rank {
    struct rank_head head;
    struct seconds ends; /* when steps finished */
    struct step last;    /* that finished; the one of the latest end */
    struct step running; /* that did not; the latest */
    struct longest longest;
    struct loghist durations; /* ms, of steps that are no stall themselves */
    uint64_t n;
    bool has_last, has_running;
};

struct rule_stalled_training_state {
    struct per_rank ranks;
};

/* ---- seeing ---- */

static int64_t rule_stalled_training_end_of(const struct step *s)
{
    return s->start.ns + s->dur_ns;
}

static void rule_stalled_training_take_step(struct rule_stalled_training_rank *r,
                                            const struct step *s, double threshold_s)
{
    const float ms = (float)((double)s->dur_ns / 1e6);
    if (s->cut) {
        if (!r->has_running || s->start.ns >= r->running.start.ns)
            r->running = *s;
        r->has_running = true;
        return;
    }
    r->n++;
    seconds_mark(&r->ends, (wall_ns){rule_stalled_training_end_of(s)}, 0);
    longest_add(&r->longest, LONG_KEPT, s, s->dur_ns);
    if ((double)s->dur_ns / 1e9 < threshold_s)
        loghist_add(&r->durations, &ms, 1);
    if (!r->has_last || rule_stalled_training_end_of(s) >= rule_stalled_training_end_of(&r->last))
        r->last = *s;
    r->has_last = true;
}

static void rule_stalled_training_steps(void *state, const struct rule_view *c,
                                        const struct rank_sight *r, const struct step *v, size_t n)
{
    struct rule_stalled_training_state *t = state;
    struct rule_stalled_training_rank *own = per_rank_see(&t->ranks, sizeof *own, r);
    for (size_t i = 0; i < n; i++)
        rule_stalled_training_take_step(own, &v[i], c->p[THRESHOLD].v);
}

static void rule_stalled_training_rank_memory(void *own, enum state_op op)
{
    struct rule_stalled_training_rank *r = own;
    seconds_memory(&r->ends, op);
    longest_memory(&r->longest, op);
}

static void rule_stalled_training_memory(void *state, enum state_op op)
{
    per_rank_memory(&((struct rule_stalled_training_state *)state)->ranks,
                    rule_stalled_training_rank_memory, op);
}

/* ---- judging ---- */

/* All ranks of the job. */
struct rule_stalled_training_job {
    const struct rule_stalled_training_rank **ranks;
    size_t n;
    struct seconds ends;
    struct loghist durations;
    uint64_t steps;
};

static void rule_stalled_training_gather(const struct judge *j,
                                         struct rule_stalled_training_job *out)
{
    size_t cap = 0;
    *out = (struct rule_stalled_training_job){0};
    for (size_t i = 0; i < j->n_nodes; i++)
        cap += ((const struct rule_stalled_training_state *)j->nodes[i].state)->ranks.n;
    out->ranks = arena_array(j->arena, const struct rule_stalled_training_rank *, MAX_OF(cap, 1));
    for (size_t i = 0; i < j->n_nodes; i++) {
        const struct rule_stalled_training_state *t = j->nodes[i].state;
        for (size_t k = 0; k < t->ranks.n; k++) {
            const struct rule_stalled_training_rank *r = out->ranks[out->n++] = t->ranks.v[k];
            seconds_add_all(&out->ends, &r->ends);
            loghist_join(&out->durations, &r->durations);
            out->steps += r->n;
        }
    }
}

/* In seconds. */
static double limit_of(const struct judge *j, const struct rule_stalled_training_job *o)
{
    const double p99 = loghist_quantile(&o->durations, 0.99) / 1e3;
    return fmax(j->p[THRESHOLD].v, isnan(p99) ? 0 : j->p[FACTOR].v * p99);
}

/* Stretches in which no rank finished a step, from the first end to the end of the job. */
static size_t find_gaps(const struct judge *j, const struct rule_stalled_training_job *o,
                        double limit_s, struct time_range *out)
{
    const int64_t end = j->run->job_end.ns / NS_PER_S;
    int64_t at = seconds_next(&o->ends, 0);
    size_t n = 0;
    while (at < end && n < GAPS_MOST) {
        at = MIN_OF(seconds_pause(&o->ends, at), end) - 1; /* the last one of those side by side */
        const int64_t next = MIN_OF(seconds_next(&o->ends, at + 1), end);
        if ((double)(next - at) > limit_s)
            out[n++] = (struct time_range){{at * NS_PER_S}, {next * NS_PER_S}};
        at = next;
    }
    return n;
}

static double longest_gap_s(const struct judge *j, const struct rule_stalled_training_job *o)
{
    const int64_t end = j->run->job_end.ns / NS_PER_S;
    int64_t longest = 1;
    for (int64_t at = seconds_next(&o->ends, 0), next; at < end; at = next) {
        at = MIN_OF(seconds_pause(&o->ends, at), end) - 1;
        next = MIN_OF(seconds_next(&o->ends, at + 1), end);
        longest = MAX_OF(longest, next - at);
    }
    return (double)longest;
}

static double longest_step_s(const struct rule_stalled_training_job *o)
{
    int64_t ns = 0;
    for (size_t i = 0; i < o->n; i++)
        for (uint32_t k = 0; k < o->ranks[i]->longest.n; k++)
            ns = MAX_OF(ns, o->ranks[i]->longest.v[k].dur_ns);
    return (double)ns / 1e9;
}

/* Ends are known to the second: of short steps only how long the longest took. */
static void say_clear(const struct judge *j, const struct rule_stalled_training_job *o,
                      struct verdict *out)
{
    const double gap_s = longest_gap_s(j, o);
    char took[HUMAN_LEN];
    if (gap_s > 1)
        verdict_why(out, "longest time between two finished steps: %s",
                    duration_text(gap_s, took, sizeof took));
    else
        verdict_why(out, "steps finished in every second; the longest took %s",
                    human_value(longest_step_s(o), "s", took, sizeof took));
}

static size_t main_part(const int64_t *ns)
{
    size_t best = 0;
    for (size_t i = 1; i < step_parts(); i++)
        best = ns[i] > ns[best] ? i : best;
    return best;
}

/* The long step that covers the pause; NULL: none does. */
static const struct long_step *step_over(const struct rule_stalled_training_rank *r,
                                         const struct time_range *g)
{
    for (uint32_t i = 0; i < r->longest.n; i++) {
        const struct long_step *s = &r->longest.v[i];
        const int64_t from = MAX_OF(s->start_ns, g->start.ns),
                      to = MIN_OF(s->start_ns + s->dur_ns, g->end.ns);
        if (to - from > (g->end.ns - g->start.ns) / 2)
            return s;
    }
    return NULL;
}

static const char *doing(const struct judge *j, const struct rule_stalled_training_rank *r,
                         const struct time_range *g)
{
    const struct long_step *over = step_over(r, g);
    char took[32];
    int64_t parts[STEP_PARTS_MOST];
    if (over) {
        for (size_t i = 0; i < STEP_PARTS_MOST; i++)
            parts[i] = (int64_t)over->part_us[i] * NS_PER_US;
        const size_t p = main_part(parts);
        return arena_printf(j->arena, "was in step %lld, %s of it in '%s'", (long long)over->number,
                            duration_text((double)parts[p] / 1e9, took, sizeof took),
                            step_part_name(p));
    }
    if (r->has_running && r->running.start.ns < g->end.ns &&
        rule_stalled_training_end_of(&r->running) > g->start.ns) {
        const size_t p = main_part(r->running.part_ns);
        return arena_printf(j->arena, "was in step %lld, %s of it in '%s'",
                            (long long)r->running.number,
                            duration_text((double)r->running.part_ns[p] / 1e9, took, sizeof took),
                            step_part_name(p));
    }
    if (r->has_last && rule_stalled_training_end_of(&r->last) <= g->start.ns + NS_PER_S)
        return arena_printf(j->arena, "had last finished step %lld (%s)", (long long)r->last.number,
                            event_mode_names[r->last.mode]);
    return "was between two steps";
}

static const char *all_doing(const struct judge *j, const struct rule_stalled_training_job *o,
                             const struct time_range *g)
{
    const char *text = "";
    for (size_t i = 0; i < MIN_OF(o->n, (size_t)RANKS_SAID); i++)
        text = arena_printf(j->arena, "%s%srank %lld %s", text, i ? ", " : "",
                            (long long)o->ranks[i]->head.who.rank, doing(j, o->ranks[i], g));
    if (o->n > RANKS_SAID)
        text = arena_printf(j->arena, "%s, and %zu more ranks", text, o->n - RANKS_SAID);
    return text;
}

static void rule_stalled_training_find(const struct judge *j, struct verdict *v,
                                       const struct rule_stalled_training_job *o,
                                       const struct time_range *gaps, size_t n, double limit_s)
{
    char took[32], limit[32];
    double all = 0;
    size_t longest = 0;
    for (size_t i = 0; i < n; i++) {
        all += (double)(gaps[i].end.ns - gaps[i].start.ns) / 1e9;
        if (gaps[i].end.ns - gaps[i].start.ns > gaps[longest].end.ns - gaps[longest].start.ns)
            longest = i;
    }
    const struct time_range *g = &gaps[longest];
    const double longest_s = (double)(g->end.ns - g->start.ns) / 1e9;
    const bool to_end = !j->run->ended && g->end.ns / NS_PER_S == j->run->job_end.ns / NS_PER_S;
    struct finding *f = verdict_find(v, "", "");
    finding_when(v, f, gaps, n);
    finding_say(v, f, "no step %s for %s (threshold %s)%s: %s",
                to_end ? "has finished" : "finished", duration_text(longest_s, took, sizeof took),
                duration_text(limit_s, limit, sizeof limit),
                n > 1 ? arena_printf(j->arena, "; %zu times in total", n) : "", all_doing(j, o, g));
    finding_advise(v, f,
                   "Inspect the stacks of these processes, for example with py-spy: look for a "
                   "rank that waits for another one, or a loader or file system that hangs.");
    f->refute = "work outside steps is expected to take this long";
    finding_number(v, f, "longest", longest_s, "s");
    finding_number(v, f, "threshold", limit_s, "s");
    finding_number(v, f, "stalls", (double)n, "");
    f->lost_s = all;
    f->lost_gpu_s = judge_gpus(j) ? all * (double)judge_gpus(j) : NAN;
    v->triggered = v->violations = n;
    v->last_triggered = f->end;
}

static void rule_stalled_training_judge(const struct judge *j, struct verdict *out)
{
    struct rule_stalled_training_job o;
    struct time_range gaps[GAPS_MOST];
    rule_stalled_training_gather(j, &o);
    out->datapoints = o.steps;
    const double limit_s = limit_of(j, &o);
    const size_t n = find_gaps(j, &o, limit_s, gaps);
    if (o.steps == 0)
        verdict_not_evaluated(out, "no step has finished");
    else if (n)
        rule_stalled_training_find(j, out, &o, gaps, n, limit_s);
    else
        say_clear(j, &o, out);
    seconds_memory(&o.ends, STATE_FREE);
}

static const struct number_label labels[] = {
    {"longest", "Longest stall"},
    {"threshold", "Threshold"},
    {"stalls", "Stalls"},
    {0},
};

const struct rule rule_stalled_training = {
    .name = "StalledTraining",
    .title = "Stalled training",
    .description = "Checks whether steps keep finishing. If no step finishes for a long time, "
                   "reports what each rank was doing.",
    .recommendation = "Inspect the stacks of the processes to see what they wait for.",
    .params = params,
    .labels = labels,
    .patience = -1,
    .needs = NEEDS_STEPS,
    .state_size = sizeof(struct rule_stalled_training_state),
    .steps = rule_stalled_training_steps,
    .memory = rule_stalled_training_memory,
    .judge = rule_stalled_training_judge,
};
