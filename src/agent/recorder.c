/* SPDX-License-Identifier: Apache-2.0 */
/* recorder.c - the loop. It waits in one place and for everything at once, since a wake-up costs
 * more than what is read in it; the disk and slow drivers have threads of their own. */
#include "agent/recorder.h"

#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "agent/recorder_internal.h"
#include "agent/shed.h"
#include "base/mem.h"

#define SETTLE_NS (2 * NS_PER_S) /* by then what the start has set off is done */

enum { POLL_FIXED = 4, POLL_MOST = POLL_FIXED + CONTROL_CLIENTS + 1 };

PRINTF_LIKE(2, 0) static void recorder_tell(struct recorder *r, const char *fmt, va_list ap)
{
    char line[PATH_LEN + 512];
    vsnprintf(line, sizeof line, fmt, ap);
    if (!r->started && r->n_held < HELD_MOST && pthread_equal(r->starter, pthread_self()))
        r->held[r->n_held++] = arena_strdup(&r->arena, line);
    else if (r->ask->tell)
        r->ask->tell(r->ask->tell_ctx, line);
}

void recorder_started(struct recorder *r)
{
    r->started = true;
    for (size_t i = 0; r->ask->tell && i < r->n_held; i++)
        r->ask->tell(r->ask->tell_ctx, r->held[i]);
}

void recorder_say(struct recorder *r, const char *fmt, ...)
{
    va_list ap;
    if (r->ask->quiet)
        return;
    va_start(ap, fmt);
    recorder_tell(r, fmt, ap);
    va_end(ap);
}

void recorder_warn(struct recorder *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    recorder_tell(r, fmt, ap);
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

/* Until something is due, or somebody wants something. */
static void wait_for_anything(struct recorder *r)
{
    struct pollfd p[POLL_MOST] = {
        {.fd = r->signals.fd, .events = POLLIN},
        {.fd = r->gpus_done ? -1 : r->ready_fd, .events = POLLIN},
        {.fd = r->job.pidfd, .events = POLLIN},
        {.fd = helper_fd(r->helper), .events = POLLIN},
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
    for (size_t i = POLL_FIXED; i < n; i++)
        if (p[i].revents) {
            control_serve(&r->control);
            break;
        }
}

static void read_due_probes(struct recorder *r, mono_ns now)
{
    if (r->monitoring && probe_set_read(&r->fast, now))
        flusher_poke(&r->flusher, now);
}

static void note_settled(struct recorder *r, mono_ns now)
{
    if (!r->settled.at.ns && r->gpus_done && mono_diff(now, r->start.mono) >= SETTLE_NS)
        r->settled = recorder_cost_now();
}

static void recorder_loop(struct recorder *r)
{
    while (!r->ended) {
        wait_for_anything(r);
        const mono_ns now = clock_mono();
        note_settled(r, now);
        read_due_probes(r, now);
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
        shed_idle_code();
        recorder_loop(r);
        unused = recorder_end(r, out);
    }
    arena_free(&r->arena);
    if (unused)
        free(r);
    return rc;
}
