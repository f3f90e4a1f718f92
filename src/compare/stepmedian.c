/* SPDX-License-Identifier: Apache-2.0 */
/* stepmedian.c - quantiles of steps, and medians against each other. See stepdiff.h.
 *
 * The share of steps below the median is a mean, so its standard error is known (longrun.h); the
 * quantiles at both ends of its interval bound the median (Woodruff). No density is needed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/stat.h"
#include "compare/stepdiff_internal.h"

void step_spread_of(double *v, size_t n, struct step_diff_spread *out)
{
    *out = (struct step_diff_spread){n, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    if (n == 0)
        return;
    stat_spread(v, n, &out->mean_s, &out->stddev_s);
    stat_sort(v, n);
    out->min_s = v[0];
    out->p50_s = stat_quantile(v, n, 0.50);
    out->p90_s = stat_quantile(v, n, 0.90);
    out->p95_s = stat_quantile(v, n, 0.95);
    out->p99_s = stat_quantile(v, n, 0.99);
    out->max_s = v[n - 1];
}

/* Of the median of one run, as a logarithm. */
static struct diff_interval median_of(const double *v, const double *sorted, size_t steps,
                                      double confidence)
{
    double *below = xcalloc(steps, sizeof *below), df;
    struct cells *c = xmalloc(sizeof *c);
    const double at = stat_quantile(sorted, steps, 0.5);
    for (size_t i = 0; i < steps; i++)
        below[i] = v[i] < at ? 1 : v[i] > at ? 0 : 0.5;
    cells_of(below, steps, c);
    const double se = cells_se(c, &df), half = se * reach_of(confidence, df);
    free(below);
    free(c);
    return (struct diff_interval){log(at), log(stat_quantile(sorted, steps, fmax(0, 0.5 - half))),
                                  log(stat_quantile(sorted, steps, fmin(1, 0.5 + half)))};
}

static struct diff_interval sort_and_take(const double *v, size_t steps, double confidence)
{
    double *copy = xcalloc(steps, sizeof *copy);
    memcpy(copy, v, steps * sizeof *copy);
    stat_sort(copy, steps);
    const struct diff_interval out = median_of(v, copy, steps, confidence);
    free(copy);
    return out;
}

static void medians_of(const struct step_group *g, size_t steps, double confidence,
                       struct diff_interval *out)
{
    for (size_t i = 0; i < g->n; i++)
        out[i] = g->sorted ? median_of(g->runs[i], g->sorted[i], steps, confidence)
                           : sort_and_take(g->runs[i], steps, confidence);
}

/* Distances of both bounds add up as errors do (Zou and Donner). */
static struct diff_interval apart(const struct diff_interval *a, const struct diff_interval *b)
{
    const double at = b->at - a->at;
    return (struct diff_interval){at, at - hypot(b->at - b->low, a->high - a->at),
                                  at + hypot(b->high - b->at, a->at - a->low)};
}

/* What an interval says, as an estimate with a variance. */
static void says_of(const struct diff_interval *v, size_t n, double confidence,
                    struct run_says *out)
{
    for (size_t i = 0; i < n; i++) {
        const double se = (v[i].high - v[i].low) / 2 / reach_of(confidence, 1e6);
        out[i] = (struct run_says){v[i].at, se * se};
    }
}

void stepdiff_medians(const struct stepdiff_ask *ask, struct diff_interval *out)
{
    *out = (struct diff_interval){NAN, NAN, NAN};
    const size_t n_a = ask->a.n, n_b = ask->b.n;
    if (ask->steps < STEPDIFF_LEAST || n_a == 0 || n_b == 0)
        return;
    struct diff_interval *v = xcalloc(n_a + n_b, sizeof *v), log_ratio;
    medians_of(&ask->a, ask->steps, ask->confidence, v);
    medians_of(&ask->b, ask->steps, ask->confidence, v + n_a);
    if (n_a == 1 && n_b == 1) {
        log_ratio = apart(&v[0], &v[1]);
    } else {
        struct run_says *says = xcalloc(n_a + n_b, sizeof *says);
        says_of(v, n_a + n_b, ask->confidence, says);
        log_ratio = runs_against(says, n_a, says + n_a, n_b, ask->confidence);
        free(says);
    }
    *out = (struct diff_interval){expm1(log_ratio.at), expm1(log_ratio.low), expm1(log_ratio.high)};
    free(v);
}
