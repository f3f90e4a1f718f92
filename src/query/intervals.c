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
