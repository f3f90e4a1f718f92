/* SPDX-License-Identifier: Apache-2.0 */
/* sync_places.h - where a program waited for its GPU, and where its threads computed beside the
 * loop: the places in its code, how often and how long.
 *
 * The hooks count the waits of each place and emit the totals so far as numbers named
 * "sync.calls OP FILE:LINE" and "sync.ns OP FILE:LINE", e.g. "sync.ns item train.py:31"; waits of
 * further places are summed up as "elsewhere". CPU time of a thread beside the loop is
 * "thread.ns FUNCTION FILE:LINE". The exception that ended a process is "exception.ns TYPE
 * FILE:LINE", and its number is when that was, by the monotonic clock. Where a step ended and the
 * next batch is fetched is "between.calls FILE:LINE FILE:LINE", about once a second. So the largest
 * number of a name is its total. Only those blocks of events are decoded that contain a larger
 * total than any later block. */
#ifndef QUERY_SYNC_PLACES_H
#define QUERY_SYNC_PLACES_H

#include "query/events.h"

enum code_place_kind { PLACES_SYNC, PLACES_THREAD, PLACES_EXCEPTION, PLACES_BETWEEN, PLACE_KIND_N };

struct sync_place {
    const struct run_process *process; /* its node, pid and rank */
    const char *op;    /* "item", the function, the type, the end of the step; "": not known */
    const char *where; /* "train.py:31", or "elsewhere" */
    uint64_t count;    /* calls */
    double seconds;    /* in all of them; NAN: not measured */
};

/* Of all processes, those with the most time first. Having none is not an error. */
MUST_CHECK int sync_places_read(struct run *r, enum code_place_kind kind, struct arena *a,
                                struct sync_place **out, size_t *n, struct err *e);

/* Whether a number of this name is such a total, of any kind. */
bool sync_is_total(const char *name);

#endif
