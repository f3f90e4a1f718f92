/* SPDX-License-Identifier: Apache-2.0 */
/* recorder.c - the loop. It waits in one place and for everything at once, since a wake-up costs
 * more than what is read in it; the disk and slow drivers have separate threads. */
#include "agent/recorder.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "agent/recorder_internal.h"
#include "base/clock.h"
#include "base/mem.h"
#include "record/record.h"
#include "store/writer.h"

/* ==== memory ==== */

/* Code is never written to, so all of it is as the file has it. */
static void recorder_unmap_line(const char *line)
{
    uintptr_t from, to;
    char may[5], path[2];
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %*s %1s", &from, &to, may, path) == 4 &&
        may[0] == 'r' && may[1] == '-' && may[2] == 'x' && path[0] == '/')
        madvise((void *)from, to - from, MADV_DONTNEED);
}

/* For after the start: its code would stay in memory for good otherwise, a megabyte of it in a
 * recorder of four. What is needed again comes back from the page cache, a few pages at a time. */
static void recorder_unmap_code(void)
{
    char line[512];
    FILE *f = fopen("/proc/self/maps", "re");
    while (f && fgets(line, sizeof line, f))
        recorder_unmap_line(line);
    if (f)
        fclose(f);
}

/* ==== the helper process ==== */

/* What it reports is written, printed or done here, in the recorder's main thread. */

/* For a last evaluation, and for actions that are still at work. */
#define END_NS (20 * NS_PER_S)

static void recorder_stop_by_rule(struct recorder *r, const struct helper_stop_job *stop)
{
    char why[TEXT_LEN];
    if (r->ending.stop_requested || r->ended)
        return;
    snprintf(why, sizeof why, "stopped by rule %s", stop->rule);
    recorder_warn(r, "%s: SIGTERM sent; SIGKILL follows after %g s", why,
                  (double)stop->grace_ns / 1e9);
    recorder_stop_job(r, why, stop->grace_ns);
    flusher_poke_now(&r->flusher, clock_mono());
}

static void recorder_on_message(void *ctx, const struct helper_message *m)
{
    struct recorder *r = ctx;
    struct sink *s = writer_sink(r->writer);
    switch (m->kind) {
    case HELPER_SAY:
        recorder_print(r, "%s", m->text);
        break;
    case HELPER_WARN:
        recorder_warn(r, "%s", m->text);
        break;
    case HELPER_MARK:
        s->ops->mark(s, &m->mark);
        break;
    case HELPER_LOSS:
        s->ops->loss(s, &m->loss);
        break;
    case HELPER_STOP:
        recorder_stop_by_rule(r, &m->stop);
        break;
    case HELPER_DONE:
        r->helper_cost = m->cost;
        break;
    default:
        break;
    }
}

void recorder_start_helper(struct recorder *r)
{
    struct err e;
    if (r->ask->helper.main &&
        helper_start(&r->helper, &r->ask->helper, recorder_on_message, r, &e) != 0)
        recorder_warn(r, "rules are evaluated only at the end: %s", e.msg);
}

void recorder_begin_helper(struct recorder *r)
{
    struct helper_begin b = {.dir = r->dir, .session = writer_session(r->writer)};
    if (!r->helper)
        return;
    snprintf(b.name, sizeof b.name, "%s", r->name);
    if (r->events)
        snprintf(b.rings, sizeof b.rings, "%s", job_events_folder(r->events));
    helper_begin(r->helper, &b);
}

/* It has sent something, or has ended. */
static void recorder_take_helper(struct recorder *r)
{
    if (helper_take(r->helper))
        return;
    if (!r->helper_lost)
        recorder_warn(r, "rules are no longer evaluated during the run, and detail windows are "
                         "lost: the helper process has ended");
    r->helper_lost = true;
}

void recorder_end_helper(struct recorder *r)
{
    struct err e;
    (void)!writer_flush(r->writer, false, &e); /* a failure is reported when the file is closed */
    (void)helper_wait(r->helper, HELPER_END, HELPER_DONE, END_NS);
    helper_stop(r->helper);
    r->helper = NULL;
}

/* ==== the loop ==== */

#define SETTLE_NS (2 * NS_PER_S) /* by then what the start has set off is done */

enum { POLL_FIXED = 5, POLL_MOST = POLL_FIXED + CONTROL_CLIENTS + 1 };

PRINTF_LIKE(2, 0) static void recorder_report(struct recorder *r, const char *fmt, va_list ap)
{
    char line[PATH_LEN + 512];
    vsnprintf(line, sizeof line, fmt, ap);
    if (!r->started && r->n_held < HELD_MOST && pthread_equal(r->starter, pthread_self()))
        r->held[r->n_held++] = arena_strdup(&r->arena, line);
    else if (r->ask->print)
        r->ask->print(r->ask->report_ctx, line);
}

void recorder_started(struct recorder *r)
{
    r->started = true;
    for (size_t i = 0; r->ask->print && i < r->n_held; i++)
        r->ask->print(r->ask->report_ctx, r->held[i]);
}

void recorder_print(struct recorder *r, const char *fmt, ...)
{
    va_list ap;
    if (r->ask->quiet)
        return;
    va_start(ap, fmt);
    recorder_report(r, fmt, ap);
    va_end(ap);
}

void recorder_warn(struct recorder *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    recorder_report(r, fmt, ap);
    va_end(ap);
}

static mono_ns next_deadline(const struct recorder *r)
{
    int64_t next = MIN_OF(r->kill_at.ns, r->look_at.ns);
    if (r->monitoring)
        next = MIN_OF(next, schedule_next(&r->fast.schedule).ns);
    return (mono_ns){next};
}

/* Fewer descriptors are allowed now than are waited for: the job's end must still be seen. */
static void wait_blindly(struct recorder *r)
{
    const struct timespec ts = {.tv_nsec = 50 * NS_PER_MS};
    nanosleep(&ts, NULL);
    recorder_take_signals(r);
}

/* Until something is due, or a request comes. */
static void wait_for_anything(struct recorder *r)
{
    struct pollfd p[POLL_MOST] = {
        {.fd = r->signals.fd, .events = POLLIN},
        {.fd = r->gpus_done ? -1 : r->ready_fd, .events = POLLIN},
        {.fd = r->job.pidfd, .events = POLLIN},
        {.fd = helper_fd(r->helper), .events = POLLIN},
        {.fd = r->link, .events = POLLIN},
    };
    const size_t n = POLL_FIXED + control_poll(&r->control, p + POLL_FIXED);
    const mono_ns next = next_deadline(r);
    const int64_t left = MAX_OF(mono_diff(next, clock_mono()), 0);
    const struct timespec ts = {.tv_sec = left / NS_PER_S, .tv_nsec = left % NS_PER_S};
    const int any = ppoll(p, n, next.ns == SCHEDULE_NEVER ? NULL : &ts, NULL);
    if (any < 0 && errno != EINTR)
        wait_blindly(r);
    if (any <= 0)
        return;
    if (p[0].revents)
        recorder_take_signals(r);
    if (p[1].revents)
        recorder_take_gpus(r, NS_PER_S);
    if (p[3].revents)
        recorder_take_helper(r);
    if (p[4].revents)
        recorder_take_link(r);
    for (size_t i = POLL_FIXED; i < n; i++)
        if (p[i].revents) {
            control_serve(&r->control);
            break;
        }
}

static void recorder_loop(struct recorder *r)
{
    while (!r->ended) {
        wait_for_anything(r);
        const mono_ns now = clock_mono();
        if (!r->settled.at.ns && r->gpus_done && mono_diff(now, r->start.mono) >= SETTLE_NS)
            r->settled = recorder_cost_now();
        if (r->monitoring && probe_set_read(&r->fast, now))
            flusher_poke(&r->flusher, now);
        recorder_check_job(r, now);
    }
}

int recorder_run(const struct record_ask *ask, struct record_result *out, struct err *e)
{
    /* One heap for all threads: each further one costs memory that the job could use. */
    mallopt(M_ARENA_MAX, 1);
    struct recorder *r = xcalloc(1, sizeof *r);
    r->ask = ask;
    r->starter = pthread_self();
    *out = (struct record_result){.exit_status = 1};
    int rc = recorder_start(r, out, e);
    bool unused = true;
    if (rc == 0) {
        recorder_unmap_code();
        recorder_loop(r);
        unused = recorder_end(r, out);
    }
    arena_free(&r->arena);
    if (unused)
        free(r);
    return rc;
}
