/* SPDX-License-Identifier: Apache-2.0 */
/* recorder_end.c - from the end of the job to closed files. Nothing here changes the exit status.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/keeper.h"
#include "agent/recorder_internal.h"
#include "base/human.h"
#include "base/mem.h"
#include "record/event.h"
#include "run/rundir.h"
#include "store/writer.h"

#define GPUS_WITHIN_NS  (2 * NS_PER_S)
#define SETTLED_LEAST_S 5.0 /* shorter, a share of a core means little */

struct own_cost recorder_cost_now(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (struct own_cost){
        .at = clock_mono(),
        .cpu_s = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
                 (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6,
    };
}

static enum run_status decide(struct recorder *r, char *why, size_t size)
{
    const struct ending *v = &r->ending;
    const struct job *j = &r->job;
    char notice[TEXT_LEN];
    pthread_mutex_lock(&r->ending.lock);
    snprintf(notice, sizeof notice, "%s", v->notice);
    pthread_mutex_unlock(&r->ending.lock);
    why[0] = 0;
    if (v->released)
        return RUN_FINISHED;
    if (v->stop_requested || (v->detached && v->signal == SIGINT)) {
        snprintf(why, size, "%s", v->stop_requested ? v->stop_why : "detached");
        return RUN_STOPPED;
    }
    if (*notice && (v->signal || j->status != 0)) {
        snprintf(why, size, "%s", notice);
        return RUN_INTERRUPTED;
    }
    /* Signals that others send to end a job, as against those that it brings upon itself. */
    static const int outside[] = {SIGTERM, SIGINT, SIGHUP, SIGKILL, SIGQUIT};
    const int sig = v->signal ? v->signal : j->signal;
    if (sig)
        signal_name(sig, why, size);
    if (v->signal || signal_among(sig, outside, COUNT_OF(outside)))
        return RUN_INTERRUPTED;
    if (j->attached)
        snprintf(why, size, "exit status not known: the recorder was attached to a running job");
    return j->attached || j->status == 0 ? RUN_FINISHED : RUN_FAILED;
}

/* False when a thread hangs in a driver; what it uses is then left to it. */
static bool stop_readers(struct recorder *r)
{
    const mono_ns now = clock_mono();
    bool all = true;
    control_close(&r->control);
    notice_stop(&r->notice);
    if (r->monitoring)
        probe_set_read_last(&r->fast, now);
    probe_set_report_missed(&r->fast, now);
    for (int i = 0; i < LANE_N; i++) {
        if (!r->lane[i])
            continue;
        if (lane_stop(r->lane[i]))
            free(r->lane[i]);
        else
            all = false;
        r->lane[i] = NULL;
    }
    recorder_take_gpus(r, GPUS_WITHIN_NS);
    return all && r->gpus_done;
}

/* The wall clock may have been set back since the start; the time of a run only goes forward. */
static wall_ns end_time(const struct recorder *r)
{
    const struct clock_tie now = clock_tie_now();
    const int64_t least = r->start.wall.ns + mono_diff(now.mono, r->start.mono);
    return (wall_ns){MAX_OF(now.wall.ns, least)};
}

static int write_node(struct recorder *r, const struct writer_stats *st, struct err *e)
{
    struct node_about *about = nodefile_lock(&r->node);
    about->status = decide(r, about->why, sizeof about->why);
    about->exit_status = r->job.status;
    about->end = end_time(r);
    about->stats = *st;
    about->cpu_s = recorder_cost_now().cpu_s + r->helper_cost.all_s;
    nodefile_unlock(&r->node);
    return nodefile_write(&r->node, e);
}

static const char *why_no_hooks(struct recorder *r, const struct job_events_result *res)
{
    if (*res->too_old)
        return arena_printf(&r->arena, "the job ran on %s; the hooks need CPython 3.10 or newer",
                            res->too_old);
    if (!r->hooked)
        return "the footplate Python package was not found next to the program";
    if (r->hooks_lack)
        return arena_printf(
            &r->arena,
            "the footplate Python package next to the program is incomplete: %s is missing",
            r->hooks_lack);
    return "no Python process loaded the hooks (Python older than 3.10, started with -I, -E or -S, "
           "or PYTHONPATH overwritten)";
}

/* Hooks that are loaded emit an event; nothing at all means that they were not. */
static void close_events(struct recorder *r, struct job_events_result *res)
{
    const bool taken = r->events != NULL;
    job_events_stop(r->events, res);
    r->events = NULL;
    if (!taken)
        return;
    if (res->processes || r->ask->no_hooks || (!recorder_runs_python(r) && !*res->too_old))
        return;
    sink_loss(r->sink, LOSS_NO_HOOKS, LOST_PART("steps"), "%s", why_no_hooks(r, res));
    if (*res->too_old)
        recorder_print(r, "no steps: %s", why_no_hooks(r, res));
}

static void close_files(struct recorder *r, struct record_result *out)
{
    struct err e;
    struct writer_stats st;
    struct job_events_result events;
    const unsigned session = writer_session(r->writer);
    flusher_stop(&r->flusher);
    close_events(r, &events);
    recorder_end_helper(r);
    writer_hold(r->writer, false); /* the end is written in any case */
    if (writer_flush(r->writer, false, &e))
        recorder_warn(r, "could not write the end of the recording: %s", e.msg);
    writer_get_stats(r->writer, &st);
    st.events = events.events;
    st.events_dropped = events.dropped;
    st.bytes_written += events.bytes_written;
    st.file_bytes += events.file_bytes;
    /* Closing gives the node's lock back, and a node that runs without a lock counts as dead: so
     * the end is written before closing, and once more after it with what closing cost. */
    (void)!write_node(r, &st, &e);
    if (writer_close(r->writer, &e))
        recorder_warn(r, "could not close the recording: %s", e.msg);
    /* Closing seals the tail, and its size cannot be read afterwards. */
    out->file_bytes = rundir_session_bytes(&r->dir, session);
    st.bytes_written += out->file_bytes > st.file_bytes ? out->file_bytes - st.file_bytes : 0;
    if (write_node(r, &st, &e))
        recorder_warn(r, "%s", e.msg);
    out->cpu_s = r->node.about.cpu_s;
    out->samples = st.samples;
    out->rows_dropped = st.rows_dropped;
    out->events = st.events;
    out->events_dropped = st.events_dropped;
}

/* What recording costs: the share of a core while the job ran, and apart from it the CPU time of
 * start and end, which does not grow with the run. A run that ends before recording has settled
 * gets only that time. */
static void own_cost_text(const struct recorder *r, const struct record_result *out,
                          const struct own_cost *job_end, char *text, size_t size)
{
    const double job_s = (double)mono_diff(job_end->at, r->settled.at) / 1e9;
    const double job_cpu_s = job_end->cpu_s - r->settled.cpu_s + r->helper_cost.run_s;
    if (r->settled.at.ns && job_s >= SETTLED_LEAST_S)
        snprintf(text, size, "overhead %.2f %% of a core, and %.2f s for start and end",
                 100 * job_cpu_s / job_s, out->cpu_s - job_cpu_s);
    else
        snprintf(text, size, "overhead %.2f s of CPU", out->cpu_s);
}

static void say_goodbye(struct recorder *r, const struct record_result *out,
                        const struct own_cost *job_end)
{
    char took[32], cost[80], events[HUMAN_LEN + 16] = "", samples[HUMAN_LEN], bytes[HUMAN_LEN];
    duration_text(out->seconds, took, sizeof took);
    if (out->rows_dropped)
        recorder_warn(r, "lost %llu row%s because the run folder could not be written",
                      (unsigned long long)out->rows_dropped, out->rows_dropped == 1 ? "" : "s");
    if (out->events_dropped)
        recorder_warn(r, "lost %llu event%s of the job; see 'footplate show last' for the reason",
                      (unsigned long long)out->events_dropped, out->events_dropped == 1 ? "" : "s");
    if (out->events)
        snprintf(events, sizeof events, "%s event%s, ",
                 human_count(out->events, samples, sizeof samples), out->events == 1 ? "" : "s");
    own_cost_text(r, out, job_end, cost, sizeof cost);
    recorder_print(r, "recorded %s: %s readings, %s%s, %s%s", took,
                   human_count(out->samples, samples, sizeof samples), events,
                   human_bytes((double)out->file_bytes, bytes, sizeof bytes), cost,
                   r->ask->spool ? "" : "; see 'footplate show last'");
}

bool recorder_end(struct recorder *r, struct record_result *out)
{
    const struct own_cost job_end = recorder_cost_now();
    const bool clean = stop_readers(r);
    out->seconds = (double)mono_diff(clock_mono(), r->start.mono) / 1e9;
    close_files(r, out);
    job_take_terminal(&r->job);
    say_goodbye(r, out, &job_end);
    probe_set_close(&r->fast);
    if (clean) {
        nvml_close(r->gpus->nvml);
        free(r->gpus);
        pidset_free(&r->pids);
        close(r->ready_fd);
    }
    out->exit_status = r->job.attached ? 0 : r->job.status;
    out->interrupted = r->job.shares_group && r->job.signal == SIGINT;
    job_close(&r->job);
    signals_close(&r->signals);
    keeper_let_go(&r->signals);
    return clean;
}
