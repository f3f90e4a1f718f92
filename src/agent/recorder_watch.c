/* SPDX-License-Identifier: Apache-2.0 */
/* recorder_watch.c - what comes from outside: signals, the job's end, the user's requests. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/keeper.h"
#include "agent/recorder_internal.h"
#include "base/mem.h"
#include "record/record.h"
#include "store/writer.h"

#define LOOK_NS       NS_PER_S       /* between checks for what the job has left */
#define TELL_NS       (2 * NS_PER_S) /* before a line reports that we wait for it */
#define STOP_GRACE_NS (10 * NS_PER_S)

static void pass_on(struct recorder *r, struct signal_news news)
{
    char name[32];
    const int sig = news.sig;
    if (signal_is_marked(sig)) {
        sink_mark(r->sink, MARK_SIGNAL, sig, "%s", signal_name(sig, name, sizeof name));
        flusher_poke_now(&r->flusher, clock_mono());
    }
    if (signal_interrupts(sig) && !r->ending.signal)
        r->ending.signal = sig;
    if (r->job.attached && signal_interrupts(sig))
        r->ended = r->ending.detached = true;
    if (r->job.attached || (news.terminal && r->job.shares_group)) /* the job has had it too */
        return;
    job_signal(&r->job, sig, r->job.exited ? &r->left : NULL);
}

/* The terminal stopped the job. The recorder stops too, and readings that it misses meanwhile are
 * not counted as late. */
static void stop_with_job(struct recorder *r, int sig)
{
    const mono_ns before = clock_mono();
    if (!job_stop_together(&r->job, sig))
        recorder_warn(r,
                      "the job is stopped: it asked for a terminal that it cannot have "
                      "('kill -CONT %d' continues it)",
                      (int)r->job.pid);
    const mono_ns now = clock_mono();
    if (mono_diff(now, before) < r->interval_ns)
        return;
    sink_loss(r->sink, LOSS_PAUSED, LOST_PART("sampling"), "suspended from the terminal for %.1f s",
              (double)mono_diff(now, before) / 1e9);
    schedule_restart(&r->fast.schedule, now);
}

void recorder_take_signals(struct recorder *r)
{
    struct signal_news news;
    while ((news = signals_next(&r->signals)).sig) {
        if (news.sig == SIGCHLD)
            r->children_changed = true;
        else if (news.sig == SIGCONT)
            job_continue(&r->job);
        else
            pass_on(r, news);
        if (signal_stops(news.sig))
            stop_with_job(r, news.sig);
    }
}

static void note_exit(struct recorder *r, mono_ns now)
{
    char name[32];
    if (r->job.status < 0)
        sink_mark(r->sink, MARK_JOB_EXIT, -1, "not known");
    else
        sink_mark(r->sink, MARK_JOB_EXIT, r->job.status, "%s",
                  r->job.signal ? signal_name(r->job.signal, name, sizeof name) : "");
    keeper_ended(MAX_OF(r->job.status, 0));
    r->exited_at = r->look_at = now;
    flusher_poke_now(&r->flusher, now);
}

static void recorder_watch_note_end(struct recorder *r)
{
    sink_mark(r->sink, MARK_JOB_END, 0, "%s", "");
    for (size_t i = 0; i < r->left.n; i++) {
        const struct job_process *p = &r->left.list[i];
        sink_mark(r->sink, MARK_LEFT_RUNNING, p->pid, "%s", p->name);
        recorder_print(r, "still running: pid %d (%s)", (int)p->pid, p->name);
    }
    if (r->left.daemons > r->left.n)
        recorder_print(r, "still running: %zu more", r->left.daemons - r->left.n);
    r->ended = true;
}

/* The first process has ended: does anything of the job remain? */
static void look_for_rest(struct recorder *r, bool alone, mono_ns now)
{
    r->left = (struct jobtree){0};
    if (!alone) /* without a /proc of ours nothing is known of the rest, and nothing waited for */
        jobtree_scan(&r->left, getpid(), getsid(0), helper_session(r->helper));
    if (r->left.members == 0) {
        recorder_watch_note_end(r);
        return;
    }
    r->look_at = mono_add(now, LOOK_NS);
    if (r->waiting_reported || mono_diff(now, r->exited_at) < TELL_NS)
        return;
    r->waiting_reported = true;
    recorder_print(
        r, "the command exited with status %d; still recording %zu of its processes (pid %d, %s)",
        r->job.status, r->left.members, (int)r->left.list[0].pid, r->left.list[0].name);
}

static void check_child(struct recorder *r, mono_ns now)
{
    struct job_news news = {0};
    const bool look = now.ns >= r->look_at.ns;
    if (!r->children_changed && !look)
        return;
    r->children_changed = false;
    news = job_reap(&r->job);
    if (news.exited)
        note_exit(r, now);
    else if (news.stopped && r->job.tty >= 0)
        stop_with_job(r, news.stopped);
    if (r->job.exited)
        look_for_rest(r, news.alone, now);
}

static void check_attached(struct recorder *r, mono_ns now)
{
    if (r->job.pidfd < 0)
        r->look_at = mono_add(now, LOOK_NS);
    if (!r->ended && job_is_gone(&r->job)) {
        note_exit(r, now);
        recorder_watch_note_end(r);
    }
}

/* Two lines: the folder of the run, and that of the events, which is empty when they are not
 * recorded. */
void recorder_greet_link(struct recorder *r)
{
    char text[2 * PATH_LEN + 2];
    if (r->link < 0)
        return;
    const int n = snprintf(text, sizeof text, "%s\n%s\n", r->dir.path,
                           r->events ? job_events_folder(r->events) : "");
    (void)!send(r->link, text, (size_t)n, MSG_NOSIGNAL);
}

/* Any byte is footplate.stop(). A closed socket means nothing: the process may have closed what it
 * does not know, and its end is seen anyway. */
void recorder_take_link(struct recorder *r)
{
    char byte;
    const ssize_t n = recv(r->link, &byte, 1, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0) {
        r->ending.released = true;
        recorder_watch_note_end(r);
    } else {
        r->link = -1;
    }
}

/* To all of the job, of which no process group is the job's alone when it shares ours. */
static void signal_all(struct recorder *r, int sig)
{
    const bool each = r->job.exited || r->job.shares_group;
    if (r->job.shares_group)
        jobtree_scan(&r->left, getpid(), getsid(0), helper_session(r->helper));
    job_signal(&r->job, sig, each ? &r->left : NULL);
}

void recorder_check_job(struct recorder *r, mono_ns now)
{
    if (now.ns >= r->kill_at.ns) {
        r->kill_at.ns = SCHEDULE_NEVER;
        signal_all(r, SIGKILL);
    }
    if (r->job.attached)
        check_attached(r, now);
    else
        check_child(r, now);
}

/* -- the user's requests -- */

static void recorder_notify_lanes(struct recorder *r, mono_ns now)
{
    for (int i = 0; i < LANE_N; i++)
        if (r->lane[i])
            lane_set(r->lane[i], r->interval_ns, now, !r->monitoring);
}

static bool set_interval(struct recorder *r, const struct control_request *q, char *answer,
                         size_t size)
{
    const int64_t ns = q->number;
    char text[32];
    const mono_ns now = clock_mono();
    duration_text((double)ns / 1e9, text, sizeof text);
    snprintf(answer, size, "taking readings every %s", text);
    if (ns == r->interval_ns)
        return true;
    r->interval_ns = ns;
    probe_set_interval(&r->fast, now, ns);
    recorder_notify_lanes(r, now);
    sink_mark(r->sink, MARK_INTERVAL, ns, "%s", text);
    atomic_store(&r->flusher.interval_ns, ns);
    nodefile_lock(&r->node)->interval_ns = ns;
    nodefile_unlock(&r->node);
    return true;
}

static bool set_monitoring(struct recorder *r, const struct control_request *q, char *answer,
                           size_t size)
{
    const bool on = q->number != 0;
    const mono_ns now = clock_mono();
    snprintf(answer, size, "monitoring is %s", on ? "on" : "off");
    if (on == r->monitoring)
        return true;
    r->monitoring = on;
    sink_mark(r->sink, MARK_MONITORING, on, "%s", on ? "on" : "off");
    if (on) {
        probe_set_resume(&r->fast, now);
    } else {
        probe_set_report_missed(&r->fast, now);
        sink_loss(r->sink, LOSS_PAUSED, LOST_PART("monitoring"), "paused by the user");
    }
    recorder_notify_lanes(r, now);
    return true;
}

void recorder_stop_job(struct recorder *r, const char *why, int64_t grace_ns)
{
    struct ending *v = &r->ending;
    if (!v->stop_requested) {
        r->kill_at = mono_add(clock_mono(), grace_ns);
        snprintf(v->stop_why, sizeof v->stop_why, "%s", why);
    }
    v->stop_requested = true;
    sink_mark(r->sink, MARK_STOP, SIGTERM, "%s", why);
    signal_all(r, SIGTERM);
    signal_all(r, SIGCONT); /* a stopped job could not act on it */
}

static bool stop_job(struct recorder *r, const struct control_request *unused, char *answer,
                     size_t size)
{
    (void)unused;
    snprintf(answer, size, "SIGTERM sent; SIGKILL follows after %d s",
             (int)(STOP_GRACE_NS / NS_PER_S));
    recorder_stop_job(r, "stopped by the user", STOP_GRACE_NS);
    return true;
}

static bool say_status(struct recorder *r, const struct control_request *unused, char *answer,
                       size_t size)
{
    struct writer_stats st;
    char every[32];
    (void)unused;
    writer_get_stats(r->writer, &st);
    snprintf(answer, size,
             "%s; pid %d; monitoring %s; every %s; %" PRIu64 " readings; %" PRIu64 " bytes",
             r->job.exited ? "waiting for the job's processes" : "running", (int)r->job.pid,
             r->monitoring ? "on" : "off",
             duration_text((double)r->interval_ns / 1e9, every, sizeof every), st.samples,
             st.bytes_written);
    return true;
}

static bool set_detail(struct recorder *r, const struct control_request *q, char *answer,
                       size_t size)
{
    struct err e;
    if (!r->settings) {
        snprintf(answer, size, "hooks are not active in this job, so no details can be recorded");
        return false;
    }
    if (settings_detail_change(r->settings, &q->detail, r->job_start, clock_mono(), &e) ||
        recorder_send_settings(r, &e)) {
        snprintf(answer, size, "%s", e.msg);
        return false;
    }
    sink_mark(r->sink, MARK_DETAIL, (int64_t)q->detail.n, "%s", q->detail.n ? "requested" : "off");
    snprintf(answer, size, q->detail.n ? "detail requested" : "detail is off");
    return true;
}

bool recorder_handle_request(void *ctx, const struct control_request *q, char *answer, size_t size)
{
    static bool (*const acts[])(struct recorder *, const struct control_request *, char *,
                                size_t) = {
        [CONTROL_INTERVAL] = set_interval, [CONTROL_MONITORING] = set_monitoring,
        [CONTROL_DETAIL] = set_detail,     [CONTROL_STOP] = stop_job,
        [CONTROL_STATUS] = say_status,
    };
    struct recorder *r = ctx;
    const bool ok = acts[q->kind](r, q, answer, size);
    if (q->kind != CONTROL_STATUS)
        flusher_poke_now(&r->flusher, clock_mono());
    return ok;
}
