/* SPDX-License-Identifier: Apache-2.0 */
/* recorder_helper.c - the recorder's side of the helper process: what that reports is written, said
 * or done here, in the recorder's main thread. */
#include <stdio.h>

#include "agent/recorder_internal.h"
#include "base/clock.h"
#include "record/record.h"
#include "store/writer.h"

/* For a last evaluation, and for actions that are still at work. */
#define END_NS (25 * NS_PER_S)

static void recorder_stop_by_rule(struct recorder *r, const struct helper_stop_job *stop)
{
    char why[TEXT_LEN];
    if (r->ending.stop_asked || r->ended)
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
        recorder_say(r, "%s", m->text);
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

static void recorder_lose_helper(struct recorder *r)
{
    if (!r->helper_lost)
        recorder_warn(r, "rules are no longer evaluated during the run: the process that evaluates "
                         "them has ended");
    r->helper_lost = true;
}

void recorder_take_helper(struct recorder *r)
{
    if (!helper_take(r->helper))
        recorder_lose_helper(r);
}

void recorder_end_helper(struct recorder *r)
{
    struct err e;
    (void)!writer_flush(r->writer, false, &e); /* a failure is said when the file is closed */
    (void)helper_wait(r->helper, HELPER_END, HELPER_DONE, END_NS);
    helper_stop(r->helper);
    r->helper = NULL;
}
