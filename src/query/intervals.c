/* SPDX-License-Identifier: Apache-2.0 */
/* intervals.c - see intervals.h. */
#include "query/intervals.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

static void intervals_append(struct intervals *l, int64_t begin, int64_t end)
{
    *VEC_ADD(l->v, l->n, l->cap) = (struct interval){begin, end};
}

void intervals_add(struct intervals *l, int64_t begin, int64_t end)
{
    if (end <= begin)
        return;
    if (l->runs.n == 0)
        sorted_runs_add(&l->runs, 0);
    if (l->n) {
        struct interval *last = &l->v[l->n - 1];
        if (begin >= last->begin && begin <= last->end) {
            last->end = MAX_OF(last->end, end);
            return;
        }
        if (begin < last->begin)
            sorted_runs_add(&l->runs, l->n);
    }
    intervals_append(l, begin, end);
}

void intervals_add_all(struct intervals *l, const struct intervals *more)
{
    for (size_t i = 0; i < more->n; i++)
        intervals_add(l, more->v[i].begin, more->v[i].end);
}

void intervals_free(struct intervals *l)
{
    free(l->v);
    sorted_runs_free(&l->runs);
    *l = (struct intervals){0};
}

/* Joins b to the last of n intervals, or appends it. */
static size_t intervals_join(struct interval *to, size_t n, struct interval b)
{
    if (n && b.begin <= to[n - 1].end)
        to[n - 1].end = MAX_OF(to[n - 1].end, b.end);
    else
        to[n++] = b;
    return n;
}

static bool intervals_in_order(const void *a, const void *b)
{
    const struct interval *x = a, *y = b;
    return x->begin <= y->begin;
}

void intervals_finish(struct intervals *l)
{
    size_t n = 0;
    if (l->runs.n < 2)
        return;
    sorted_runs_merge(&l->runs, l->v, l->n, sizeof *l->v, intervals_in_order);
    for (size_t i = 0; i < l->n; i++)
        n = intervals_join(l->v, n, l->v[i]);
    assert(n > 0 && n <= l->n);
    l->n = n;
}

/* ---- walks over two lists ---- */

/* Empty, with room for as many as two lists can leave. */
static void intervals_clear(struct intervals *l, const struct intervals *a,
                            const struct intervals *b)
{
    l->n = l->runs.n = 0;
    if (a->n + b->n <= l->cap)
        return;
    free(l->v);
    l->cap = a->n + b->n;
    l->v = xmalloc(l->cap * sizeof *l->v);
}

void intervals_either(const struct intervals *a, const struct intervals *b, struct intervals *out)
{
    size_t i = 0, k = 0;
    intervals_clear(out, a, b);
    while (i < a->n || k < b->n) {
        const bool left = k == b->n || (i < a->n && a->v[i].begin <= b->v[k].begin);
        out->n = intervals_join(out->v, out->n, left ? a->v[i++] : b->v[k++]);
    }
}

void intervals_both(const struct intervals *a, const struct intervals *b, struct intervals *out)
{
    size_t i = 0, k = 0;
    intervals_clear(out, a, b);
    while (i < a->n && k < b->n) {
        const int64_t begin = MAX_OF(a->v[i].begin, b->v[k].begin);
        const int64_t end = MIN_OF(a->v[i].end, b->v[k].end);
        if (begin < end)
            intervals_append(out, begin, end);
        if (a->v[i].end < b->v[k].end)
            i++;
        else
            k++;
    }
}

void intervals_minus(const struct intervals *a, const struct intervals *b, struct intervals *out)
{
    size_t k = 0;
    intervals_clear(out, a, b);
    for (size_t i = 0; i < a->n; i++) {
        int64_t begin = a->v[i].begin;
        while (k < b->n && b->v[k].end <= begin)
            k++;
        /* The last one that reaches in may reach into the next of a as well: k stays on it. */
        for (; k < b->n && b->v[k].begin < a->v[i].end; k++) {
            if (begin < b->v[k].begin)
                intervals_append(out, begin, b->v[k].begin);
            begin = b->v[k].end;
            if (begin >= a->v[i].end)
                break;
        }
        if (begin < a->v[i].end)
            intervals_append(out, begin, a->v[i].end);
    }
}

int64_t intervals_length(const struct intervals *l)
{
    int64_t ns = 0;
    for (size_t i = 0; i < l->n; i++)
        ns += l->v[i].end - l->v[i].begin;
    return ns;
}

int64_t intervals_length_both(const struct intervals *a, const struct intervals *b)
{
    int64_t ns = 0;
    size_t i = 0, k = 0;
    while (i < a->n && k < b->n) {
        const int64_t begin = MAX_OF(a->v[i].begin, b->v[k].begin);
        const int64_t end = MIN_OF(a->v[i].end, b->v[k].end);
        ns += begin < end ? end - begin : 0;
        if (a->v[i].end < b->v[k].end)
            i++;
        else
            k++;
    }
    return ns;
}

int64_t intervals_length_within(const struct intervals *l, int64_t begin, int64_t end, size_t *from)
{
    int64_t ns = 0;
    while (*from < l->n && l->v[*from].end <= begin)
        ++*from;
    for (size_t i = *from; i < l->n && l->v[i].begin < end; i++)
        ns += MAX_OF(0, MIN_OF(l->v[i].end, end) - MAX_OF(l->v[i].begin, begin));
    return ns;
}

/* ---- sorted runs ---- */

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
    return SEARCH_FIRST(i, lo, hi,
                        ties ? a->in_order(sorted_runs_at(a, i), x)
                             : !a->in_order(x, sorted_runs_at(a, i))) -
           lo;
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
