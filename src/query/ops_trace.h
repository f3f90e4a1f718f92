/* SPDX-License-Identifier: Apache-2.0 */
/* ops_trace.h - the tracks of a run that operators and breakdowns are computed from, process by
 * process, threads before devices.
 *
 * Where a process has detail (a profiler's window, a trace file) only that counts, and no process
 * that has none: what hooks saw of the same time would be counted twice, and what they saw of the
 * whole run does not compare with a few steps. No track is ever held in memory as a whole. */
#ifndef QUERY_OPS_TRACE_H
#define QUERY_OPS_TRACE_H

#include "query/events.h"
#include "store/event_want.h"

struct trace_ask {
    bool one_rank;
    int64_t rank;   /* when one_rank */
    bool functions; /* the profiles of Python functions, and nothing else; else all but those */
    bool hooks;     /* what hooks recorded, and no detail, even where there is some */
};

/* How the names of their tracks begin. */
#define PROFILE_TRACK_NAME "python profile"
bool track_is_profile(const struct run_track *t);

struct trace_sink {
    void (*begin)(void *to, const struct run_process *p);
    void (*track)(void *to, const struct run_track *t);
    /* Of that track, sorted by begin, the longer one first, in any number of calls; they are gone
     * after the call, their texts with the track. */
    void (*events)(void *to, const struct run_event *v, size_t n);
    void (*track_end)(void *to);
    void (*end)(void *to);
    struct event_want want;
};

/* ERR_NOT_FOUND when the run has no such rank. */
MUST_CHECK int trace_read(struct run *r, const struct trace_ask *ask, const struct trace_sink *sink,
                          void *to, struct err *e);

#endif
