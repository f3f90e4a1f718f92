/* SPDX-License-Identifier: Apache-2.0 */
/* step_spread.c - see step_spread.h. */
#include "rules/step_spread.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

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

void step_spread_free(struct step_spread *x)
{
    longest_free(&x->longest);
    free(x->quantiles);
    *x = (struct step_spread){0};
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

double step_spread_part(const struct step_spread *x, size_t part)
{
    return x->n ? (double)x->part_us[part] / (double)x->n / 1e6 : NAN;
}

double step_spread_between(const struct step_spread *x)
{
    return x->n ? (double)x->between_us / (double)x->n / 1e6 : NAN;
}

void step_spread_counts(const struct step_spread *x, double lo, double hi, double *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = 0;
    if (x->quantiles)
        loghist_counts(x->quantiles, lo * 1e6, hi * 1e6, out, n);
}
