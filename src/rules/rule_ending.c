/* SPDX-License-Identifier: Apache-2.0 */
/* rule_ending.c - rules about the end of the job: SlowFinalization and FailedEarly. */
#include <math.h>

#include "base/human.h"
#include "base/mem.h"
#include "rules/per_entity.h"
#include "rules/seconds.h"
#include "run/run_ending.h"

/* ==== SlowFinalization ====
 *
 * The job runs for long after its last step: loader workers that do not leave,
 * a last checkpoint, uploads. The machine is paid for, and its GPUs do nothing.
 *
 * While a GPU is busy the job still works, in steps that were not recorded: finalization begins
 * when that is over. */

enum { THRESHOLD, LEAST_S }; /* parameters */

/* Checkpoints of a node in order of time. Which of them follow the last step is known only at the
 * end, so the last ones are stored. */
enum { LAST_KEPT = 32 };

struct final_state {
    struct node_state head;
    uint64_t n;
    struct time_range last[LAST_KEPT];
    struct seconds busy; /* in which a GPU was */
};

/* Percent of a GPU from which it is busy. */
static const float BUSY_FROM = 50;

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

/* ==== FailedEarly ====
 *
 * How the job ended, when it did not end well: an exit status, a signal that it
 * caused, or the kernel's out-of-memory killer. What the user or the system ended on purpose is no
 * failure. What is lost is the time since the last checkpoint, as far as one was seen. */

/* Percent of a limit from which memory counts as full. */
static const float FULL = 95;

struct ended_state {
    struct node_state head;
    float kills_first, kills_last; /* of the control group by the kernel; begin as 0 */
    bool has_kills;
    float memory,
        limit; /* of the control group, the highest and the last reading, bytes; 0: none */
    float most_mem, rss; /* of the node in percent, the highest; of the job in bytes, the highest */
    int64_t saved_ns;    /* when the last checkpoint was complete; 0: there was none */
};

static void ended_keep_highest(float *to, const float *v, size_t i)
{
    if (v && v[i] > *to)
        *to = v[i];
}

static void ended_sweeps(void *state, const struct rule_view *c, const struct sweeps *s)
{
    struct ended_state *t = state;
    const float *kills = s->v[SIG_OOM_KILLS], *limit = s->v[SIG_CGROUP_MEM_LIMIT];
    (void)c;
    for (size_t i = 0; i < s->n; i++) {
        if (kills && !isnan(kills[i])) {
            t->kills_first = t->has_kills ? t->kills_first : kills[i];
            t->kills_last = kills[i];
            t->has_kills = true;
        }
        if (limit && !isnan(limit[i]))
            t->limit = limit[i];
        ended_keep_highest(&t->memory, s->v[SIG_CGROUP_MEM], i);
        ended_keep_highest(&t->most_mem, s->v[SIG_MEM], i);
        ended_keep_highest(&t->rss, s->v[SIG_JOB_RSS], i);
    }
}

static void ended_event(void *state, const struct rule_view *c, const struct rule_event *v)
{
    struct ended_state *t = state;
    (void)c;
    if (v->id == EV_CHECKPOINT)
        t->saved_ns = MAX_OF(t->saved_ns, v->at.ns + v->dur_ns);
}

/* How much memory the node's job had, in words, when that was nearly all; NULL: it was not. */
static const char *ended_memory(const struct judge *j, const struct ended_state *t)
{
    char had[HUMAN_LEN], limit[HUMAN_LEN];
    if (t->limit > 0 && t->memory * 100 >= FULL * t->limit)
        return arena_printf(j->arena, "its control group had used %s of %s",
                            human_value(t->memory, "B", had, sizeof had),
                            human_value(t->limit, "B", limit, sizeof limit));
    if (t->most_mem >= FULL)
        return arena_printf(j->arena, "memory of the node was %.0f %% full, the job had %s",
                            t->most_mem, human_value(t->rss, "B", had, sizeof had));
    return NULL;
}

static bool ended_has_kill(const struct ended_state *t)
{
    return t->has_kills && t->kills_last > t->kills_first;
}

/* The node that ran out of memory; NULL: none did. SIGKILL with full memory is most likely the
 * kernel's. `words`: what follows the sentence. */
static const struct judged_node *ended_oom(const struct judge *j, const char **words)
{
    const bool killed = run_ending_killed(&j->run->ending);
    *words = "";
    for (size_t i = 0; i < j->n_nodes; i++) {
        const struct ended_state *t = j->nodes[i].state;
        const char *memory = ended_memory(j, t);
        if (ended_has_kill(t))
            *words = arena_printf(j->arena,
                                  "; the kernel killed a process of the job for lack of memory%s%s",
                                  memory ? ", " : "", memory ? memory : "");
        else if (killed && memory)
            *words = arena_printf(
                j->arena, "; %s, so it was most likely killed by the kernel for lack of memory",
                memory);
        if (**words)
            return &j->nodes[i];
    }
    return NULL;
}

static int64_t ended_saved(const struct judge *j)
{
    int64_t last = j->run->job_start.ns;
    for (size_t i = 0; i < j->n_nodes; i++)
        last = MAX_OF(last, ((const struct ended_state *)j->nodes[i].state)->saved_ns);
    return MIN_OF(last, j->run->job_end.ns);
}

static void ended_say(const struct judge *j, struct verdict *v, struct finding *f,
                      const char *words)
{
    const struct run_ending *x = &j->run->ending;
    const char *how = run_ending_words(x, j->arena);
    finding_say(v, f, "%s after %s%s%s%s%s", how ? how : "the job failed",
                judge_time(j, judge_job_s(j)), j->run->has_steps ? "" : ", before the first step",
                *x->node ? ", on node " : "", x->node, words);
}

static const char *ended_advice(const struct run_ending *x, bool oom)
{
    return oom ? "Use less memory (a smaller batch, fewer loader workers or prefetched batches, no "
                 "data kept between steps), or raise the memory limit."
           : run_ending_killed(x) ? "Find out what sent SIGKILL: look at the kernel's log, ask the "
                                    "scheduler and other users."
           : *x->why ? "Look at the end of the job's output; such a signal comes from native code."
                     : "Look at the end of the job's output for the error.";
}

static void ended_find(const struct judge *j, struct verdict *v)
{
    const struct run_facts *run = j->run;
    const char *words;
    const struct judged_node *oom = ended_oom(j, &words);
    const int64_t saved = ended_saved(j);
    const double lost_s = wall_span_s((wall_ns){saved}, run->job_end);
    struct finding *f = verdict_find(v, oom ? oom->facts->id : run->ending.node, "");
    finding_when(v, f, &(struct time_range){{saved}, run->job_end}, 1);
    ended_say(j, v, f, words);
    f->advice = ended_advice(&run->ending, oom != NULL);
    f->refute = "the program uses this exit status for a result";
    FINDING_NUMBERS(v, f, judge_job_s(j),
                    run->ending.exit_status < 0 ? (double)NUMBER_ABSENT
                                                : (double)run->ending.exit_status);
    finding_lost(f, lost_s, judge_gpus(j));
    finding_count(v, f, 1, 1);
}

static void ended_judge(const struct judge *j, struct verdict *out)
{
    const struct run_ending *x = &j->run->ending;
    out->datapoints = 1;
    if (!j->run->ended)
        verdict_not_evaluated(out, "the job has not ended");
    else if (run_ending_unknown(x))
        verdict_not_evaluated(out, "it is not known how the job ended");
    else if (run_ending_failed(x))
        ended_find(j, out);
    else
        verdict_why(out, "%s",
                    x->status == RUN_FINISHED ? "the job ended with exit status 0"
                                              : run_ending_words(x, j->arena));
}

const struct rule rule_failed_early = {
    .name = "FailedEarly",
    .title = "How the job ended",
    .description =
        "Checks whether the job failed: with an exit status other than 0, by a signal that it "
        "caused, by SIGKILL, or killed by the kernel for lack of memory. A job that the user or "
        "the system stopped did not fail. Of a Python program it names the type and place of the "
        "exception. What is lost is the time since the last checkpoint that was seen, or since "
        "the start.",
    .recommendation = "Look at the end of the job's output.",
    .labels = {{"after", "s", "Time until the end"}, {"exit_status", "", "Exit status"}},
    .whole_job = true,
    .ending = true,
    RULE_STATE(struct ended_state, .sweeps = ended_sweeps, .event = ended_event),
    .judge = ended_judge,
};
