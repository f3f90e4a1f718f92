/* SPDX-License-Identifier: Apache-2.0 */
/* step_spread.c - see step_spread.h. */
#include "rules/step_spread.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/vec.h"

/* ==== the longest steps ==== */

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
    *VEC_ADD(l->v, l->n, l->cap) = *x;
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

COMPARE_BY(longest_by_start, struct long_step, start_ns)

struct long_step *longest_over(const struct longest *l, double over_ns, struct arena *a, size_t *n)
{
    const size_t over = SUM_OF(i, l->n, (double)l->v[i].dur_ns > over_ns);
    struct long_step *v = arena_alloc_raw(a, over + 1, sizeof *v);
    *n = 0;
    for (uint32_t i = 0; i < l->n; i++)
        if ((double)l->v[i].dur_ns > over_ns)
            v[(*n)++] = l->v[i];
    SORT(v, *n, longest_by_start);
    return v;
}

void longest_memory(struct longest *l, enum state_op op)
{
    STATE_VEC(op, l);
}

/* ==== all of them ==== */

static int64_t step_spread_iteration_of(const struct step *s)
{
    const int64_t ns = s->paced_ns > 0 ? s->paced_ns : step_iteration_ns(s);
    return ns < 0 ? s->dur_ns : ns;
}

static void step_spread_count(struct step_spread *x, const struct step *s)
{
    const int64_t ns = step_spread_iteration_of(s);
    const uint64_t us = (uint64_t)(MAX_OF(ns, 0) / NS_PER_US);
    const float as_float = (float)us;
    x->n++;
    x->sum_us += us;
    x->sum_us2 += (unsigned __int128)us * us;
    for (size_t i = 0; i < STEP_PARTS_MOST; i++)
        x->part_us[i] += (uint64_t)(MAX_OF(s->part_ns[i], 0) / NS_PER_US);
    x->between_us += (uint64_t)(MAX_OF(s->between_ns, 0) / NS_PER_US);
    longest_add(&x->longest, LONGEST_KEPT, s, ns);
    if (!x->quantiles)
        x->quantiles = xcalloc(1, sizeof *x->quantiles);
    loghist_add(x->quantiles, &as_float, 1);
}

void step_spread_add(struct step_spread *x, const struct step *s)
{
    if (x->some && s->start.ns >= x->first.start.ns) {
        step_spread_count(x, s);
        return;
    }
    if (x->some) {
        const struct step old = x->first;
        step_spread_count(x, &old);
    }
    x->some = true;
    x->first = *s;
}

void step_spread_memory(struct step_spread *x, enum state_op op)
{
    longest_memory(&x->longest, op);
    state_memory(op, &x->quantiles, sizeof *x->quantiles);
}

double step_spread_mean(const struct step_spread *x)
{
    return x->n ? (double)x->sum_us / (double)x->n / 1e6 : NAN;
}

/* n * sum of squares - square of the sum is exact in 128 bits for any run that ends. */
double step_spread_sigma(const struct step_spread *x)
{
    if (x->n == 0)
        return NAN;
    const unsigned __int128 square = (unsigned __int128)x->sum_us * x->sum_us;
    const unsigned __int128 all = x->sum_us2 * x->n;
    return all > square ? sqrt((double)(all - square)) / (double)x->n / 1e6 : 0;
}

double step_spread_quantile(const struct step_spread *x, double q)
{
    return x->quantiles ? loghist_quantile(x->quantiles, q) / 1e6 : NAN;
}

void step_spread_counts(const struct step_spread *x, double lo, double hi, double *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = 0;
    if (x->quantiles)
        loghist_counts(x->quantiles, lo * 1e6, hi * 1e6, out, n);
}
