/* SPDX-License-Identifier: Apache-2.0 */
/* named_events.h - those events of hooks that have one of a few names. steps_read_named reads them
 * in the same pass as the steps. */
#ifndef QUERY_NAMED_EVENTS_H
#define QUERY_NAMED_EVENTS_H

#include "query/events.h"
#include "query/kept.h"
#include "query/sorted_runs.h"

struct named_event {
    wall_ns at;
    int64_t dur_ns;   /* of a span, else 0 */
    int64_t value;    /* as in struct event; a real number is cut to a whole one */
    uint32_t process; /* in the list of events_processes */
    enum event_id id;
};

/* Of one node, in order of time. */
struct node_events {
    const char *node;
    size_t n;
    struct kept kept;
};

/* Those from `i`, a multiple of KEPT_ROWS, into out[KEPT_ROWS]; returns how many. */
size_t node_events_read(const struct node_events *x, size_t i, struct named_event *out);

/* ---- for who reads them ---- */

struct named_list {
    struct named_event *v;
    size_t n, cap;
    struct sorted_runs runs;
};

void named_list_push(struct named_list *l, const struct named_event *x);
/* Puts all events of some lists, one behind the other, in order; they live in the arena. */
void named_lists_join(const struct named_list *const *lists, size_t n_lists, struct arena *a,
                      struct node_events *out);
void named_list_free(struct named_list *l);

#endif
