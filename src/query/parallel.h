/* SPDX-License-Identifier: Apache-2.0 */
/* parallel.h - a parallel for: the same work for many items, by as many threads as pay. */
#ifndef QUERY_PARALLEL_H
#define QUERY_PARALLEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

struct parallel {
    size_t n;    /* items */
    size_t each; /* at least so many for a thread; fewer are done before it has started */
    /* Runs in each thread: does the items that parallel_next returns. Results go into the arena,
     * which belongs to the thread until all are done. */
    void (*work)(struct parallel *c, struct arena *results);
    void *ctx;
    atomic_size_t next;
};

/* The number of the next item; false: there is none left. */
static inline bool parallel_next(struct parallel *c, size_t *i)
{
    *i = atomic_fetch_add(&c->next, 1);
    return *i < c->n;
}

/* Does all of it; the results live in `a`. */
void parallel_run(struct parallel *c, struct arena *a);

#endif
