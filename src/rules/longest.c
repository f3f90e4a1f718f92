/* SPDX-License-Identifier: Apache-2.0 */
/* longest.c - see longest.h. The order of steps is total, so the k longest are always the same. */
#include "rules/longest.h"

#include <stdlib.h>

#include "base/mem.h"

static bool is_less(const struct long_step *a, const struct long_step *b)
{
    if (a->dur_ns != b->dur_ns)
        return a->dur_ns < b->dur_ns;
    return a->start_ns != b->start_ns ? a->start_ns > b->start_ns : a->number > b->number;
}

static void swap(struct long_step *a, struct long_step *b)
{
    const struct long_step x = *a;
    *a = *b;
    *b = x;
}

static void rise(struct longest *l, uint32_t i)
{
    for (; i > 0 && is_less(&l->v[i], &l->v[(i - 1) / 2]); i = (i - 1) / 2)
        swap(&l->v[i], &l->v[(i - 1) / 2]);
}

static void sink_down(struct longest *l)
{
    for (uint32_t i = 0;;) {
        uint32_t k = 2 * i + 1;
        if (k >= l->n)
            return;
        k += k + 1 < l->n && is_less(&l->v[k + 1], &l->v[k]);
        if (!is_less(&l->v[k], &l->v[i]))
            return;
        swap(&l->v[i], &l->v[k]);
        i = k;
    }
}

static void longest_put(struct longest *l, uint32_t most, const struct long_step *x)
{
    if (l->n == most) {
        if (is_less(x, &l->v[0]))
            return;
        l->v[0] = *x;
        sink_down(l);
        return;
    }
    if (l->n == l->cap) {
        l->cap = MIN_OF(l->cap ? 2 * l->cap : 16, most);
        l->v = xrealloc(l->v, l->cap, sizeof *l->v);
    }
    l->v[l->n++] = *x;
    rise(l, l->n - 1);
}

static uint32_t whole_us(int64_t ns)
{
    return (uint32_t)MIN_OF(MAX_OF(ns, 0) / NS_PER_US, (int64_t)UINT32_MAX);
}

void longest_add(struct longest *l, uint32_t most, const struct step *s, int64_t dur_ns)
{
    struct long_step x = {.start_ns = s->start.ns, .dur_ns = dur_ns, .number = s->number};
    if (l->n == most && dur_ns < l->v[0].dur_ns) /* nearly always */
        return;
    for (size_t i = 0; i < STEP_PARTS_MOST; i++)
        x.part_us[i] = whole_us(s->part_ns[i]);
    x.between_us = whole_us(s->between_ns);
    longest_put(l, most, &x);
}

static int longest_by_start(const void *a, const void *b)
{
    const struct long_step *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

struct long_step *longest_over(const struct longest *l, double over_ns, struct arena *a, size_t *n)
{
    struct long_step *v = arena_array(a, struct long_step, MAX_OF(l->n, 1));
    *n = 0;
    for (uint32_t i = 0; i < l->n; i++)
        if ((double)l->v[i].dur_ns > over_ns)
            v[(*n)++] = l->v[i];
    qsort(v, *n, sizeof *v, longest_by_start);
    return v;
}

void longest_free(struct longest *l)
{
    free(l->v);
    *l = (struct longest){0};
}
