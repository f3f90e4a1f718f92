/* SPDX-License-Identifier: Apache-2.0 */
/* eventsum.h - all events, summed up by track and name: how often, how long, which
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
    bool estimated; /* count and total are extrapolated from the events that were read */
};

/* `detail`: those of detail windows and imported traces too. Sorted by track, then by what takes
 * longest; numbers and marks after the spans, by name. */
MUST_CHECK int event_sums(struct run *r, wall_ns from, wall_ns to, bool detail, struct arena *a,
                          struct event_sum **out, size_t *n, struct err *e);

/* Of the framework's insides, as a profiler records them: operators, runtime calls, kernels. */
bool event_is_operator(const struct event *e);
/* Whether the run has such, from a profiler or from an imported trace: what ops.h sums up. Reads no
 * more than one block of each track. */
MUST_CHECK int events_have_operators(struct run *r, bool *out, struct err *e);

/* Spans and steps alone, each cut to the window: how much of it they took. */
struct event_window {
    wall_ns from, to; /* both given */
    const char *node; /* NULL: all */
    int64_t rank;     /* -1: all */
    bool detail;
    /* Events to decode, of all tracks together; of a track with more than its share every n-th
     * block is read, and at least one. */
    uint64_t budget;
};

/* How many events have to be decoded for it: the budget, or more when they lie in large blocks.
 */
MUST_CHECK int event_sums_cost(struct run *r, const struct event_window *w, struct arena *a,
                               uint64_t *events, struct err *e);
/* The longest first. */
MUST_CHECK int event_sums_within(struct run *r, const struct event_window *w, struct arena *a,
                                 struct event_sum **out, size_t *n, struct err *e);

/* ---- spans by a part of their name ----
 *
 * Only blocks that have such a name are decoded, and no more than the budget allows. */

struct search_ask {
    const char *text; /* upper and lower case are the same */
    wall_ns from, to; /* where they begin; 0: open */
    size_t limit;     /* hits that are returned; all are counted */
    uint64_t budget;  /* events to decode */
};

struct search_hit {
    const struct run_track *track;
    const char *name;
    wall_ns at;
    int64_t dur_ns;
};

struct search_result {
    struct search_hit *v; /* the first of each track, in order of time there */
    size_t n;
    uint64_t count; /* of all that were read */
    bool cut;       /* not all were read */
};

MUST_CHECK int search_read(struct run *r, const struct search_ask *ask, struct arena *a,
                           struct search_result *out, struct err *e);

#endif
