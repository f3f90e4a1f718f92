/* SPDX-License-Identifier: Apache-2.0 */
/* named_events.h - those events of a node that have one of a few names.
 *
 * Only blocks that hold such a name are decoded. Once somebody has asked the run for events,
 * several threads may read, each another node. */
#ifndef QUERY_NAMED_EVENTS_H
#define QUERY_NAMED_EVENTS_H

#include "query/events.h"

struct named_event {
    wall_ns at;
    int64_t dur_ns;   /* of a span, else 0 */
    int64_t value;    /* as in struct event; a real number is cut to a whole one */
    uint32_t process; /* in the list of events_processes */
    enum event_id id;
};

/* Events of hooks, not of detail windows, in order of time. `wanted` says which. */
MUST_CHECK int named_events_read(struct run *r, const char *node, bool (*wanted)(enum event_id id),
                                 struct arena *a, struct named_event **out, size_t *n,
                                 struct err *e);

#endif
