/* SPDX-License-Identifier: Apache-2.0 */
/* ops_launch.h - which call launched what ran on a device: calls of one process by their link.
 * Any number of launches_add, launches_index once, then launches_find; launches_clear before the
 * next process. `struct launches l = {0};` is empty. */
#ifndef QUERY_OPS_LAUNCH_H
#define QUERY_OPS_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

struct launch {
    uint64_t link;
    int64_t begin, end; /* of the call; wall ns */
    uint32_t owner;     /* whatever the caller keeps there */
};

struct launches {
    struct launch *v;
    size_t n, cap;
    uint32_t *slots; /* 0: free, else 1 + index */
    size_t n_slots;
};

/* A link of 0 ties nothing and is left out. */
void launches_add(struct launches *l, const struct launch *one);
void launches_index(struct launches *l);
/* The first call with this link; NULL: there is none. */
const struct launch *launches_find(const struct launches *l, uint64_t link);
void launches_clear(struct launches *l);
void launches_free(struct launches *l);

#endif
