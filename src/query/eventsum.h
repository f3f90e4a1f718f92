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
};

/* `detail`: those of detail windows and imported traces too. Sorted by track, then by what takes
 * longest; numbers and marks behind the spans, by name. */
MUST_CHECK int event_sums(struct run *r, wall_ns from, wall_ns to, bool detail, struct arena *a,
                          struct event_sum **out, size_t *n, struct err *e);

#endif
