/* SPDX-License-Identifier: Apache-2.0 */
/* crew.h - the same work for many things, by as many threads as pay. */
#ifndef QUERY_CREW_H
#define QUERY_CREW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

struct crew {
    size_t n;    /* things to do */
    size_t each; /* at least so many for a thread; fewer are done before it has begun */
    /* One thread's part: does what crew_next gives it. Results go into the arena, which is its
     * own until all are done. */
    void (*work)(struct crew *c, struct arena *results);
    void *ctx;
    atomic_size_t next;
};

/* The number of the next thing to do; false: there is none left. */
static inline bool crew_next(struct crew *c, size_t *i)
{
    *i = atomic_fetch_add(&c->next, 1);
    return *i < c->n;
}

/* Does all of it; the results live in `a`. */
void crew_run(struct crew *c, struct arena *a);

#endif
