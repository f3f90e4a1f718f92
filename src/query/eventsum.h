/* SPDX-License-Identifier: Apache-2.0 */
/* eventsum.h - everything that was said, summed up by track and name: how often, how long, which
 * numbers. */
#ifndef QUERY_EVENTSUM_H
#define QUERY_EVENTSUM_H

#include "query/events.h"

struct event_sum {
    const struct run_track *track;
    const char *name; /* "" for steps, which have none */
    enum event_kind kind;
    enum event_category category;
    uint64_t count;
    double total_s, p50_s, p95_s, max_s; /* spans and steps; else NAN */
    double min, max, last;               /* numbers; else NAN */
    bool estimated; /* count and total follow from a part of the events that was looked at */
};

/* `detail`: those of detail windows and imported traces too. Sorted by track, then by what takes
 * longest; numbers and marks behind the spans, by name. */
MUST_CHECK int event_sums(struct run *r, wall_ns from, wall_ns to, bool detail, struct arena *a,
                          struct event_sum **out, size_t *n, struct err *e);

/* Of the framework's insides, as a profiler tells them: operators, runtime calls, kernels. */
bool event_is_operator(const struct event *e);
/* Whether the run has such, from a profiler or from an imported trace: what ops.h sums up. Looks at
 * no more than one stretch of each track. */
MUST_CHECK int events_have_operators(struct run *r, bool *out, struct err *e);

/* Spans and steps alone, each cut to the window: how much of it they took. */
struct event_window {
    wall_ns from, to; /* both given */
    const char *node; /* NULL: all */
    int64_t rank;     /* -1: all */
    bool detail;
    /* Events to decode, of all tracks together; of a track with more than its share every n-th
     * stretch is looked at, and at least one. */
    uint64_t budget;
};

/* How many events have to be decoded for it: the budget, or more when they lie in large stretches.
 */
MUST_CHECK int event_sums_cost(struct run *r, const struct event_window *w, struct arena *a,
                               uint64_t *events, struct err *e);
/* The longest first. */
MUST_CHECK int event_sums_within(struct run *r, const struct event_window *w, struct arena *a,
                                 struct event_sum **out, size_t *n, struct err *e);

#endif
