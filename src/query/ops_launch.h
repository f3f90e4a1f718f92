/* SPDX-License-Identifier: Apache-2.0 */
/* ops_launch.h - which call launched what ran on a device: calls of one process by their link.
 * Any number of launches_add, launches_index once, then launches_find; launches_clear before the
 * next process. `struct launches l = {0};` is empty. */
#ifndef QUERY_OPS_LAUNCH_H
#define QUERY_OPS_LAUNCH_H

#include <stdint.h>

#include "query/sorted_runs.h"

struct launch {
    uint64_t link;
    int64_t begin, end; /* of the call; wall ns */
    uint32_t owner;     /* whatever the caller keeps there */
};

enum { LAUNCH_STRETCHES = 8 };

struct launches {
    struct launch *v;
    size_t n, cap;
    struct sorted_runs runs; /* by link, as they were added */
    /* Once indexed: the same, or all of it sorted as one when there were more than fit. */
    struct launch_stretch {
        size_t begin, end;
        size_t near; /* where the last search ended: the next one is for a link close by */
    } stretches[LAUNCH_STRETCHES];
    size_t n_stretches;
};

/* A link of 0 ties nothing and is left out. */
void launches_add(struct launches *l, const struct launch *one);
void launches_index(struct launches *l);
/* The first call with this link; NULL: there is none. */
const struct launch *launches_find(struct launches *l, uint64_t link);
void launches_clear(struct launches *l);
void launches_free(struct launches *l);

#endif
