/* SPDX-License-Identifier: Apache-2.0 */
/* intervals.c - see intervals.h. */
#include "query/intervals.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

static void intervals_append(struct intervals *l, int64_t begin, int64_t end)
{
    *VEC_ADD(l->v, l->n, l->cap) = (struct interval){begin, end};
}

static void begin_run(struct intervals *l)
{
    *VEC_ADD(l->runs, l->n_runs, l->cap_runs) = l->n;
}

void intervals_add(struct intervals *l, int64_t begin, int64_t end)
{
    if (end <= begin)
        return;
    if (l->n) {
        struct interval *last = &l->v[l->n - 1];
        if (begin >= last->begin && begin <= last->end) {
            last->end = MAX_OF(last->end, end);
            return;
        }
        if (begin < last->begin)
            begin_run(l);
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
    free(l->runs);
    *l = (struct intervals){0};
}

/* ---- merging sorted runs, neighbours first, so that n intervals in k runs cost n log k ---- */

/* Joins b to the end of what was written since `first`, or appends it. */
static size_t intervals_join(struct interval *to, size_t first, size_t n, struct interval b)
{
    if (n > first && b.begin <= to[n - 1].end)
        to[n - 1].end = MAX_OF(to[n - 1].end, b.end);
    else
        to[n++] = b;
    return n;
}

static size_t intervals_merge_two(const struct interval *v, const size_t range[3],
                                  struct interval *to, size_t n)
{
    const size_t first = n;
    size_t a = range[0], b = range[1];
    while (a < range[1] || b < range[2]) {
        const int left = b == range[2] || (a < range[1] && v[a].begin <= v[b].begin);
        n = intervals_join(to, first, n, left ? v[a++] : v[b++]);
    }
    return n;
}

/* One round: half as many runs. Returns how many intervals are left. */
static size_t merge_round(struct intervals *l, struct interval *to)
{
    size_t n = 0, kept = 0;
    for (size_t r = 0; r <= l->n_runs; r += 2) {
        const size_t end = l->n, begin = r ? l->runs[r - 1] : 0;
        const size_t middle = r < l->n_runs ? l->runs[r] : end;
        const size_t range[3] = {begin, middle, r + 1 < l->n_runs ? l->runs[r + 1] : end};
        if (r)
            l->runs[kept++] = n;
        n = intervals_merge_two(l->v, range, to, n);
    }
    l->n_runs = kept;
    return n;
}

void intervals_finish(struct intervals *l)
{
    if (l->n_runs == 0)
        return;
    struct interval *other = xrealloc(NULL, l->cap, sizeof *other);
    while (l->n_runs) {
        l->n = merge_round(l, other);
        struct interval *swap = l->v;
        l->v = other;
        other = swap;
    }
    free(other);
}

/* ---- walks over two lists ---- */

/* Empty, with room for as many as two lists can leave. */
static void intervals_clear(struct intervals *l, const struct intervals *a,
                            const struct intervals *b)
{
    l->n = l->n_runs = 0;
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
        out->n = intervals_join(out->v, 0, out->n, left ? a->v[i++] : b->v[k++]);
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
