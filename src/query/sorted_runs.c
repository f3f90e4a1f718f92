/* SPDX-License-Identifier: Apache-2.0 */
/* sorted_runs.c - see sorted_runs.h. */
#include "query/sorted_runs.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

struct array {
    char *p;
    size_t size;
    in_order_fn *in_order;
};

static char *sorted_runs_at(const struct array *a, size_t i)
{
    return a->p + i * a->size;
}

void sorted_runs_add(struct sorted_runs *r, size_t begin)
{
    *VEC_ADD(r->begins, r->n, r->cap) = begin;
}

void sorted_runs_append(struct sorted_runs *r, const struct sorted_runs *more, size_t offset)
{
    for (size_t i = 0; i < more->n; i++)
        sorted_runs_add(r, offset + more->begins[i]);
}

/* How many of lo..hi may come before x: all that are smaller, and with `ties` its equals. */
static size_t sorted_runs_count_before(const struct array *a, size_t lo, size_t hi, const char *x,
                                       bool ties)
{
    const size_t begin = lo;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (ties ? a->in_order(sorted_runs_at(a, mid), x) : !a->in_order(x, sorted_runs_at(a, mid)))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo - begin;
}

/* begin..mid and mid..end are sorted; only where they overlap is anything moved. */
static void sorted_runs_merge_two(const struct array *a, size_t begin, size_t mid, size_t end)
{
    size_t to = begin + sorted_runs_count_before(a, begin, mid, sorted_runs_at(a, mid), true);
    if (to == mid)
        return;
    const size_t stop =
        mid + sorted_runs_count_before(a, mid, end, sorted_runs_at(a, mid - 1), false);
    const size_t n_left = mid - to;
    char *left = xmalloc(n_left * a->size);
    memcpy(left, sorted_runs_at(a, to), n_left * a->size);
    size_t i = 0, k = mid;
    while (i < n_left && k < stop) {
        const bool take_left = a->in_order(left + i * a->size, sorted_runs_at(a, k));
        memcpy(sorted_runs_at(a, to++), take_left ? left + i++ * a->size : sorted_runs_at(a, k++),
               a->size);
    }
    memcpy(sorted_runs_at(a, to), left + i * a->size, (n_left - i) * a->size);
    free(left);
}

void sorted_runs_merge(struct sorted_runs *r, void *v, size_t n, size_t size, in_order_fn *in_order)
{
    const struct array a = {v, size, in_order};
    while (r->n > 1) {
        size_t kept = 0;
        for (size_t i = 0; i < r->n; i += 2) {
            if (i + 1 < r->n)
                sorted_runs_merge_two(&a, r->begins[i], r->begins[i + 1],
                                      i + 2 < r->n ? r->begins[i + 2] : n);
            r->begins[kept++] = r->begins[i];
        }
        r->n = kept;
    }
}

void sorted_runs_free(struct sorted_runs *r)
{
    free(r->begins);
    *r = (struct sorted_runs){0};
}
