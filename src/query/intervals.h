/* SPDX-License-Identifier: Apache-2.0 */
/* intervals.h - sets of moments as lists of intervals: union, intersection, difference, length.
 *
 * intervals_add takes them in any order, and is cheap when they come sorted or in few sorted runs
 * (one per track); intervals_finish then makes the list normal: sorted, none empty, a gap between
 * any two. Everything below it needs normal lists and takes time linear in
 * them. `struct intervals l = {0};` is the empty set; intervals_free leaves it so. */
#ifndef QUERY_INTERVALS_H
#define QUERY_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- sorted runs ---- */

/* Sorts an array that is made of sorted runs.
 * Neighbours that do not overlap cost a comparison, so what is nearly sorted costs nearly nothing.
 * The sort is stable. */

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

/* ns on one clock; the end is not in it. */
struct interval {
    int64_t begin, end;
};

struct intervals {
    struct interval *v;
    size_t n, cap;
    struct sorted_runs runs; /* by begin; at most one when normal */
};

/* Nothing is added when the end is not after the begin. */
void intervals_add(struct intervals *l, int64_t begin, int64_t end);
void intervals_add_all(struct intervals *l, const struct intervals *more);
void intervals_finish(struct intervals *l);
void intervals_free(struct intervals *l);

/* `out` is overwritten, and must not be one of the others. */
void intervals_either(const struct intervals *a, const struct intervals *b, struct intervals *out);
void intervals_both(const struct intervals *a, const struct intervals *b, struct intervals *out);
void intervals_minus(const struct intervals *a, const struct intervals *b, struct intervals *out);

int64_t intervals_length(const struct intervals *l);
/* Of what lies in both. */
int64_t intervals_length_both(const struct intervals *a, const struct intervals *b);
/* Of what lies within begin..end. `from` is the index to look from, 0 at first; it moves on, so
 * that windows requested in order of time cost one walk together. */
int64_t intervals_length_within(const struct intervals *l, int64_t begin, int64_t end,
                                size_t *from);

#endif
