/* SPDX-License-Identifier: Apache-2.0 */
/* detail_ranges.h - when operators were recorded in detail, which slows a program down.
 *
 * A window is known from its file of operators (trace-PID-K.fp), and in newer runs also from the
 * span "detail.window" of the hooks, which includes the time that the profiler took to start and
 * stop. Steps inside a range are slower than others, and so are the first ones after it. */
#ifndef QUERY_DETAIL_RANGES_H
#define QUERY_DETAIL_RANGES_H

#include "query/events.h"

struct detail_range {
    uint32_t process; /* in the list of events_processes */
    const char *node;
    uint32_t pid;
    wall_ns begin, end; /* of the window, with the profiler's start and stop where known */
    /* First begin and last end of what was recorded in it; begin.ns INT64_MAX: nothing was, or its
     * file is not there yet. */
    wall_ns first, last;
    bool operators; /* operators were recorded, not only a profile of Python functions */
};

/* Sorted by process, then by begin; those of one process do not overlap. Windows of Python profiles
 * count too. */
MUST_CHECK int detail_ranges(struct run *r, struct arena *a, struct detail_range **out, size_t *n,
                             struct err *e);

/* Whether a span of time of the process overlaps one of them, or begins less than `after_ns` after
 * its end. */
bool detail_ranges_meet(const struct detail_range *v, size_t n, uint32_t process, wall_ns begin,
                        wall_ns end, int64_t after_ns);

#endif
