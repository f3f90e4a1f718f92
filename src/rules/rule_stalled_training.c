/* SPDX-License-Identifier: Apache-2.0 */
/* StalledTraining: no step finished for a long time; what every rank was last doing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/mem.h"
#include "rules/per_entity.h"
#include "rules/seconds.h"
#include "rules/step_spread.h"

enum { THRESHOLD, FACTOR }; /* parameters */

enum { LONG_KEPT = 16, GAPS_MOST = 64, RANKS_LISTED = 8 };

struct stalled_rank {
    struct rank_head head;
    struct seconds ends; /* when steps finished */
    struct step last;    /* that finished; the one of the latest end */
    struct step running; /* that did not; the latest */
    struct longest longest;
    struct loghist durations; /* ms, of steps that are no stall themselves */
    uint64_t n;
    bool has_last, has_running;
};

/* ---- seeing ---- */

static int64_t stalled_end_of(const struct step *s)
{
    return s->start.ns + s->dur_ns;
}

static void stalled_take_step(struct stalled_rank *r, const struct step *s, double threshold_s)
{
    const float ms = (float)((double)s->dur_ns / 1e6);
    if (s->cut) {
        if (!r->has_running || s->start.ns >= r->running.start.ns)
            r->running = *s;
        r->has_running = true;
        return;
    }
    r->n++;
    seconds_mark(&r->ends, (wall_ns){stalled_end_of(s)}, 0);
    longest_add(&r->longest, LONG_KEPT, s, s->dur_ns);
    if ((double)s->dur_ns / 1e9 < threshold_s)
        loghist_add(&r->durations, &ms, 1);
    if (!r->has_last || stalled_end_of(s) >= stalled_end_of(&r->last))
        r->last = *s;
    r->has_last = true;
}

static void stalled_steps(void *state, const struct rule_view *c, const struct rule_rank *r,
                          const struct step *v, size_t n)
{
    struct stalled_rank *own = state_rank(state, c, r);
    for (size_t i = 0; i < n; i++)
        stalled_take_step(own, &v[i], c->p[THRESHOLD].v);
}

static void stalled_memory_rank(void *own, enum state_op op)
{
    struct stalled_rank *r = own;
    seconds_memory(&r->ends, op);
    longest_memory(&r->longest, op);
}

/* ---- judging ---- */

/* All ranks of the job. */
struct stalled_job {
    const struct stalled_rank **ranks;
    size_t n;
    struct seconds ends;
    struct loghist durations;
    uint64_t steps;
};

static void stalled_gather(const struct judge *j, struct stalled_job *out)
{
    const struct stalled_rank *r;
    size_t cap = 1;
    *out = (struct stalled_job){0};
    for (struct entity_at at = {0}; next_rank(j, &at);)
        cap++;
    out->ranks = arena_array(j->arena, const struct stalled_rank *, cap);
    for (struct entity_at at = {0}; (r = next_rank(j, &at));) {
        out->ranks[out->n++] = r;
        seconds_add_all(&out->ends, &r->ends);
        loghist_join(&out->durations, &r->durations);
        out->steps += r->n;
    }
}

/* In seconds. */
static double limit_of(const struct judge *j, const struct stalled_job *o)
{
    const double p99 = loghist_quantile(&o->durations, 0.99) / 1e3;
    return fmax(j->p[THRESHOLD].v, isnan(p99) ? 0 : j->p[FACTOR].v * p99);
}

/* Intervals in which no rank finished a step, from the first end to the end of the job; `longest_s`
 * is the length of the longest, whether it is above the limit or not. */
static size_t find_gaps(const struct judge *j, const struct stalled_job *o, double limit_s,
                        struct time_range *out, double *longest_s)
{
    const int64_t end = j->run->job_end.ns / NS_PER_S;
    size_t n = 0;
    *longest_s = 1;
    for (int64_t at = seconds_next(&o->ends, 0), next; at < end; at = next) {
        at = MIN_OF(seconds_pause(&o->ends, at), end) - 1; /* the last one of those side by side */
        next = MIN_OF(seconds_next(&o->ends, at + 1), end);
        *longest_s = fmax(*longest_s, (double)(next - at));
        if ((double)(next - at) > limit_s && n < GAPS_MOST)
            out[n++] = (struct time_range){{at * NS_PER_S}, {next * NS_PER_S}};
    }
    return n;
}

static double longest_step_s(const struct stalled_job *o)
{
    int64_t ns = 0;
    for (size_t i = 0; i < o->n; i++)
        for (uint32_t k = 0; k < o->ranks[i]->longest.n; k++)
            ns = MAX_OF(ns, o->ranks[i]->longest.v[k].dur_ns);
    return (double)ns / 1e9;
}

/* Ends are known to the second: of short steps only how long the longest took. */
static void say_clear(const struct stalled_job *o, double gap_s, const struct judge *j,
                      struct verdict *out)
{
    char took[HUMAN_LEN];
    if (gap_s > 1)
        verdict_why(out, "longest time between two finished steps: %s", judge_time(j, gap_s));
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
static const struct long_step *step_over(const struct stalled_rank *r, const struct time_range *g)
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

static const char *in_step(const struct judge *j, int64_t number, const int64_t *part_ns)
{
    const size_t p = main_part(part_ns);
    return arena_printf(j->arena, "was in step %lld, %s of it in '%s'", (long long)number,
                        judge_time(j, ns_to_s(part_ns[p])), step_part_name(p));
}

static const char *doing(const struct judge *j, const struct stalled_rank *r,
                         const struct time_range *g)
{
    const struct long_step *over = step_over(r, g);
    int64_t parts[STEP_PARTS_MOST];
    for (size_t i = 0; over && i < STEP_PARTS_MOST; i++)
        parts[i] = (int64_t)over->part_us[i] * NS_PER_US;
    if (over)
        return in_step(j, over->number, parts);
    if (r->has_running && r->running.start.ns < g->end.ns &&
        stalled_end_of(&r->running) > g->start.ns)
        return in_step(j, r->running.number, r->running.part_ns);
    if (r->has_last && stalled_end_of(&r->last) <= g->start.ns + NS_PER_S)
        return arena_printf(j->arena, "had last finished step %lld (%s)", (long long)r->last.number,
                            event_mode_names[r->last.mode]);
    return "was between two steps";
}

static const char *all_doing(const struct judge *j, const struct stalled_job *o,
                             const struct time_range *g)
{
    const char *text = "";
    for (size_t i = 0; i < MIN_OF(o->n, (size_t)RANKS_LISTED); i++)
        text = arena_printf(j->arena, "%s%srank %lld %s", text, i ? ", " : "",
                            (long long)o->ranks[i]->head.id.rank, doing(j, o->ranks[i], g));
    if (o->n > RANKS_LISTED)
        text = arena_printf(j->arena, "%s, and %zu more ranks", text, o->n - RANKS_LISTED);
    return text;
}

static void stalled_find(const struct judge *j, struct verdict *v, const struct stalled_job *o,
                         const struct time_range *gaps, size_t n, double limit_s)
{
    double all = 0;
    size_t longest = 0;
    for (size_t i = 0; i < n; i++) {
        all += wall_span_s(gaps[i].start, gaps[i].end);
        if (gaps[i].end.ns - gaps[i].start.ns > gaps[longest].end.ns - gaps[longest].start.ns)
            longest = i;
    }
    const struct time_range *g = &gaps[longest];
    const double longest_s = wall_span_s(g->start, g->end);
    const bool to_end = !j->run->ended && g->end.ns / NS_PER_S == j->run->job_end.ns / NS_PER_S;
    struct finding *f = verdict_find(v, "", "");
    finding_when(v, f, gaps, n);
    finding_say(v, f, "no step %s for %s (threshold %s)%s: %s",
                to_end ? "has finished" : "finished", judge_time(j, longest_s),
                judge_time(j, limit_s),
                n > 1 ? arena_printf(j->arena, "; %zu times in total", n) : "", all_doing(j, o, g));
    finding_advise(v, f,
                   "Inspect the stacks of these processes, for example with py-spy: look for a "
                   "rank that waits for another one, or a loader or file system that hangs.");
    f->refute = "work outside steps is expected to take this long";
    FINDING_NUMBERS(v, f, longest_s, limit_s, (double)n);
    finding_lost(f, all, judge_gpus(j));
    finding_count(v, f, n, n);
}

static void stalled_judge(const struct judge *j, struct verdict *out)
{
    struct stalled_job o;
    struct time_range gaps[GAPS_MOST];
    stalled_gather(j, &o);
    out->datapoints = o.steps;
    double longest_s;
    const double limit_s = limit_of(j, &o);
    const size_t n = find_gaps(j, &o, limit_s, gaps, &longest_s);
    if (o.steps == 0)
        verdict_not_evaluated(out, "no step has finished");
    else if (n)
        stalled_find(j, out, &o, gaps, n, limit_s);
    else
        say_clear(&o, longest_s, j, out);
    seconds_memory(&o.ends, STATE_FREE);
}

const struct rule rule_stalled_training = {
    .name = "StalledTraining",
    .title = "Stalled training",
    .description = "Checks whether steps keep finishing. If no step finishes for a long time, "
                   "reports what each rank was doing.",
    .recommendation = "Inspect the stacks of the processes to see what they wait for.",
    RULE_PARAMS([THRESHOLD] = {"threshold", 1800, 1, 1e7, PARAM_SECONDS,
                               "maximum time without a finished step; longer where steps are long"},
                [FACTOR] = {"factor", 20, 1, 1e6, PARAM_RATIO,
                            "the limit is at least this many times the p99 of step time"}),
    .labels = {{"longest", "s", "Longest stall"},
               {"threshold", "s", "Threshold"},
               {"stalls", "", "Stalls"}},
    .needs = NEEDS_STEPS,
    RULE_STATE(struct node_state, .rank_size = sizeof(struct stalled_rank),
               .memory_rank = stalled_memory_rank),
    .steps = stalled_steps,
    .judge = stalled_judge,
};
