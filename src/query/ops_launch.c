/* SPDX-License-Identifier: Apache-2.0 */
/* ops_launch.c - see ops_launch.h.
 *
 * Links are counted up as calls are made, and devices run them in nearly that order: what a thread
 * adds is sorted already, and a search begins where the one before it ended. */
#include "query/ops_launch.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define NO_PLACE SIZE_MAX

/* Where it belongs among the last few of the sorted run; NO_PLACE: further back, or there
 * is no run yet. Calls of one moment may come in another order than they were made. */
static size_t ops_launch_place_of(const struct launches *l, uint64_t link)
{
    enum { LOOK_MOST = 16 };
    if (l->n == 0)
        return NO_PLACE;
    const size_t begin = l->runs.begins[l->runs.n - 1];
    size_t at = l->n;
    while (at > begin && l->n - at < LOOK_MOST && l->v[at - 1].link > link)
        at--;
    return at > begin && l->v[at - 1].link > link ? NO_PLACE : at;
}

void launches_add(struct launches *l, const struct launch *one)
{
    if (one->link == 0 || l->n >= UINT32_MAX / 2)
        return;
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 1024;
        l->v = xrealloc(l->v, l->cap, sizeof *l->v);
    }
    size_t at = ops_launch_place_of(l, one->link);
    if (at == NO_PLACE) {
        at = l->n;
        sorted_runs_add(&l->runs, at);
    }
    memmove(l->v + at + 1, l->v + at, (l->n - at) * sizeof *l->v);
    l->v[at] = *one;
    l->n++;
}

static bool ops_launch_in_order(const void *a, const void *b)
{
    const struct launch *x = a, *y = b;
    return x->link <= y->link;
}

void launches_index(struct launches *l)
{
    if (l->runs.n > LAUNCH_STRETCHES)
        sorted_runs_merge(&l->runs, l->v, l->n, sizeof *l->v, ops_launch_in_order);
    l->n_stretches = l->runs.n;
    for (size_t i = 0; i < l->runs.n; i++) {
        const size_t begin = l->runs.begins[i];
        const size_t end = i + 1 < l->runs.n ? l->runs.begins[i + 1] : l->n;
        l->stretches[i] = (struct launch_stretch){begin, end, begin};
    }
}

/* Where lo..hi, sorted, has the first one that is not below the link; hi: none is. */
static size_t first_in(const struct launch *v, size_t lo, size_t hi, uint64_t link)
{
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (v[mid].link < link)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The same of a stretch, in steps that double from where the last search ended. */
static size_t first_near(const struct launch *v, const struct launch_stretch *s, uint64_t link)
{
    size_t lo = s->near, hi = s->near, step = 1;
    for (; hi < s->end && v[hi].link < link; step *= 2) {
        lo = hi + 1;
        hi += MIN_OF(step, s->end - hi);
    }
    for (; lo > s->begin && v[lo - 1].link >= link; step *= 2) {
        hi = lo - 1;
        lo -= MIN_OF(step, lo - s->begin);
    }
    return first_in(v, lo, hi, link);
}

const struct launch *launches_find(struct launches *l, uint64_t link)
{
    for (size_t i = 0; i < l->n_stretches && link; i++) {
        struct launch_stretch *s = &l->stretches[i];
        s->near = first_near(l->v, s, link);
        if (s->near < s->end && l->v[s->near].link == link)
            return &l->v[s->near];
    }
    return NULL;
}

void launches_clear(struct launches *l)
{
    l->n = l->runs.n = l->n_stretches = 0;
}

void launches_free(struct launches *l)
{
    free(l->v);
    sorted_runs_free(&l->runs);
    *l = (struct launches){0};
}
