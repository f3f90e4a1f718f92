/* SPDX-License-Identifier: Apache-2.0 */
/* SlowFinalization: the job goes on for long after its last step: loader workers that do not leave,
 * a last checkpoint, uploads. The machine is paid for, and its GPUs do nothing.
 *
 * While a GPU is busy the job still works, in steps that nobody saw: finalization begins when that
 * is over. */
#include <math.h>

#include "base/mem.h"
#include "rules/per_entity.h"
#include "rules/seconds.h"

enum { THRESHOLD, LEAST_S }; /* parameters */

/* Checkpoints of a node in order of time. Which of them follow the last step is known only in the
 * end, so the last ones are kept. */
enum { LAST_KEPT = 32 };

struct final_state {
    struct node_state head;
    uint64_t n;
    struct time_range last[LAST_KEPT];
    struct seconds busy; /* in which a GPU was */
};

/* Percent of a GPU from which it is busy. */
static const float BUSY_FROM = 50;

/* ---- seeing ---- */

static void final_sweeps(void *state, const struct rule_view *c, const struct sweeps *s)
{
    struct final_state *t = state;
    (void)c;
    for (size_t i = 0; i < s->n; i++) {
        bool busy = false;
        for (size_t k = 0; k < s->n_gpus && !busy; k++)
            busy = s->gpus[k].v[GPU_SIG_UTIL] && s->gpus[k].v[GPU_SIG_UTIL][i] >= BUSY_FROM;
        if (busy)
            seconds_mark(&t->busy, s->at[i], 1);
    }
}

static void final_event(void *state, const struct rule_view *c, const struct rule_event *v)
{
    struct final_state *t = state;
    (void)c;
    if (v->id == EV_CHECKPOINT)
        t->last[t->n++ % LAST_KEPT] = (struct time_range){v->at, {v->at.ns + v->dur_ns}};
}

static void final_memory(void *state, enum state_op op)
{
    seconds_memory(&((struct final_state *)state)->busy, op);
}

/* ---- judging ---- */

/* When the job had done its work: after its last step, and the last second in which a GPU was busy.
 */
static wall_ns work_end(const struct judge *j)
{
    int64_t end = j->run->loop_end.ns;
    for (size_t i = 0; i < j->n_nodes; i++) {
        const struct final_state *t = j->nodes[i].state;
        for (int64_t s = seconds_next(&t->busy, end / NS_PER_S + 1); s != INT64_MAX;
             s = seconds_next(&t->busy, s + 1))
            end = MAX_OF(end, (s + 1) * NS_PER_S);
    }
    return (wall_ns){MIN_OF(end, MAX_OF(j->run->job_end.ns, j->run->loop_end.ns))};
}

/* Seconds from then to the end in which a rank of some node saved; ranks that save at the same time
 * count once. */
static double saving_s(const struct judge *j, wall_ns since, uint64_t *n)
{
    double most = 0;
    *n = 0;
    for (size_t i = 0; i < j->n_nodes; i++) {
        const struct final_state *t = j->nodes[i].state;
        int64_t covered = since.ns, ns = 0;
        for (uint64_t k = t->n - MIN_OF(t->n, (uint64_t)LAST_KEPT); k < t->n; k++) {
            const struct time_range *x = &t->last[k % LAST_KEPT];
            const int64_t from = MAX_OF(x->start.ns, covered),
                          to = MIN_OF(x->end.ns, j->run->job_end.ns);
            if (to <= from)
                continue;
            ns += to - from;
            covered = to;
            ++*n;
        }
        most = fmax(most, (double)ns / 1e9);
    }
    return most;
}

static const char *work_words(const struct judge *j, wall_ns end)
{
    return end.ns > j->run->loop_end.ns ? "GPU work" : "step";
}

static void final_find(const struct judge *j, struct verdict *v, wall_ns since, double final_s)
{
    uint64_t n;
    const double saved_s = saving_s(j, since, &n), share = 100 * final_s / judge_job_s(j);
    struct finding *f = verdict_find(v, "", "");
    finding_when(v, f, &(struct time_range){since, j->run->job_end}, 1);
    const char *saved =
        n ? arena_printf(j->arena, "%llu checkpoint%s took %s of it", (unsigned long long)n,
                         n == 1 ? "" : "s", judge_time(j, saved_s))
          : "no checkpoint was saved in that time";
    finding_say(
        v, f,
        "the job ran for another %s after its last %s, %.0f %% of its time (threshold %g %%); %s",
        judge_time(j, final_s), work_words(j, since), share, j->p[THRESHOLD].v, saved);
    f->advice =
        saved_s > final_s / 2
            ? "Save the last checkpoint in the background while training still runs, or to a "
              "faster disk."
            : "Find out what the job does after its last step (py-spy dump): loader workers that "
              "are not shut down, uploads, exports, a barrier that waits for another rank.";
    f->refute = "the work at the end is intended, such as exporting or uploading results";
    FINDING_NUMBERS(v, f, final_s, share, saved_s);
    finding_lost(f, final_s, judge_gpus(j));
    finding_count(v, f, 1, 1);
}

static void final_judge(const struct judge *j, struct verdict *out)
{
    const wall_ns since = work_end(j);
    const double final_s = wall_span_s(since, j->run->job_end);
    out->datapoints = j->run->ended && !j->run->interrupted;
    if (!j->run->ended)
        verdict_not_evaluated(out, "the job is still running");
    else if (j->run->interrupted)
        verdict_not_evaluated(out, "the job was interrupted");
    else if (final_s > j->p[LEAST_S].v && 100 * final_s > j->p[THRESHOLD].v * judge_job_s(j))
        final_find(j, out, since, final_s);
    else
        verdict_why(out, "the job ended %s after its last %s", judge_time(j, final_s),
                    work_words(j, since));
}

const struct rule rule_slow_finalization = {
    .name = "SlowFinalization",
    .title = "Finalization time",
    .description = "Checks how long the job keeps running after its last step.",
    .recommendation =
        "Find out what the job does after its last step: loader workers, checkpoints, uploads.",
    RULE_PARAMS([THRESHOLD] = {"threshold", 10, 0, 100, PARAM_PERCENT,
                               "maximum share of the job after its last step"},
                [LEAST_S] = {"least", 10, 0, 1e6, PARAM_SECONDS, "a shorter time is ignored"}),
    .labels = {{"finalization", "s", "Time after the last step"},
               {"share", "%", "Share of the job"},
               {"checkpoints", "s", "Checkpoint time"}},
    .needs = NEEDS_STEPS,
    .explained_by = (const char *const[]){"StalledTraining", NULL},
    .whole_job = true,
    RULE_STATE(struct final_state, .sweeps = final_sweeps, .event = final_event,
               .memory_own = final_memory),
    .judge = final_judge,
};
