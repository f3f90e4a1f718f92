/* SPDX-License-Identifier: Apache-2.0 */
/* sorted_runs.h - sorts an array that is made of sorted runs.
 * Neighbours that do not overlap cost a comparison, so what is nearly sorted costs nearly nothing.
 * Ties keep their order. */
#ifndef QUERY_SORTED_RUNS_H
#define QUERY_SORTED_RUNS_H

#include <stdbool.h>
#include <stddef.h>

struct sorted_runs {
    size_t *begins; /* of each run */
    size_t n, cap;
};

/* a may come before b; true for ties. */
typedef bool in_order_fn(const void *a, const void *b);

void sorted_runs_add(struct sorted_runs *r, size_t begin);
/* v has n elements of `size` bytes, in runs as added. */
void sorted_runs_merge(struct sorted_runs *r, void *v, size_t n, size_t size,
                       in_order_fn *in_order);
/* Those of another array, which was appended to the first `offset` elements of this one. */
void sorted_runs_append(struct sorted_runs *r, const struct sorted_runs *more, size_t offset);
void sorted_runs_free(struct sorted_runs *r);

#endif
