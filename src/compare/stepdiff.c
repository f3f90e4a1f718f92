/* SPDX-License-Identifier: Apache-2.0 */
/* stepdiff.c - means and medians of steps against each other. See stepdiff.h; docs/compare.md gives
 * the reasons for these methods.
 *
 * Medians: the share of steps below the median is a mean, so its standard error is known
 * (longrun.h); the quantiles at both ends of its interval bound the median (Woodruff). No density
 * is needed. */
#include "compare/stepdiff.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/stat.h"
#include "compare/longrun.h"
#include "compare/stepdiff_internal.h"

enum { CELLS_MOST = 1024 };

/* A series in at most CELLS_MOST cells, so that what follows costs the same for any run. */
struct cells {
    size_t n;
    double mean, variance; /* of the steps */
    double v[CELLS_MOST];  /* mean of each cell */
};

/* ---- means ---- */

enum { WARMUP_MOST = 100 };

/* All intervals reach out a little further than theory asks. Chosen by trying it on pairs of equal
 * runs, so that most kinds of them give at most 5 % false verdicts at 95 %; docs/compare.md names
 * those that give more. */
static const double CAUTION = 1.08;

static const struct diff_interval nothing = {NAN, NAN, NAN};

size_t stepdiff_warmup(size_t steps)
{
    return steps < 2 ? 0 : MAX_OF(MIN_OF(steps / 10, (size_t)WARMUP_MOST), (size_t)1);
}

double reach_of(double confidence, double df)
{
    return CAUTION * student_quantile(0.5 + confidence / 2, df);
}

/* ---- cells ---- */

static void cells_of(const double *v, size_t steps, struct cells *out)
{
    double sum = 0, squares = 0;
    out->n = MIN_OF(steps, (size_t)CELLS_MOST);
    for (size_t k = 0; k < out->n; k++) {
        const size_t from = steps * k / out->n, to = steps * (k + 1) / out->n;
        double s = 0;
        for (size_t i = from; i < to; i++)
            s += v[i];
        sum += s;
        out->v[k] = s / (double)(to - from);
    }
    out->mean = sum / (double)steps;
    for (size_t i = 0; i < steps; i++)
        squares += (v[i] - out->mean) * (v[i] - out->mean);
    out->variance = squares / (double)steps;
}

static void center(double *v, size_t n)
{
    double s = 0;
    for (size_t i = 0; i < n; i++)
        s += v[i];
    for (size_t i = 0; i < n; i++)
        v[i] -= s / (double)n;
}

/* Standard error of the mean of the steps, and the degrees of freedom that go with it. */
static double cells_se(const struct cells *c, double *df)
{
    double z[CELLS_MOST];
    struct longrun l;
    for (size_t k = 0; k < c->n; k++)
        z[k] = c->v[k];
    center(z, c->n);
    longrun_of(z, c->n, &l);
    *df = l.df;
    return l.se;
}

/* ---- one run against one run, step by step ---- */

/* The wider of two intervals: the one from the lowest frequencies knows about dependence over long
 * stretches, the one from drawing blocks again about heavy tails. */
static struct diff_interval around(double at, const double *z, size_t n,
                                   const struct stepdiff_ask *ask, size_t *block)
{
    struct longrun l;
    longrun_of(z, n, &l);
    *block = longrun_block(z, n);
    const double drawn = longrun_resample(z, n, *block, ask->confidence, ask->seed),
                 reach = fmax(CAUTION * drawn, l.se * reach_of(ask->confidence, l.df));
    return (struct diff_interval){at, at - reach, at + reach};
}

/* What a cell of B has more than that of A, each in its own unit. With A and B swapped, these are
 * the same numbers with the other sign. */
static void fill_differences(const struct cells *a, double unit_a, const struct cells *b,
                             double unit_b, double *z)
{
    for (size_t i = 0; i < a->n; i++)
        z[i] = b->v[i] / unit_b - a->v[i] / unit_a;
    center(z, a->n);
}

/* The interval is one of the logarithm of the ratio, so that B against A is the inverse of A
 * against B. The logarithm moves as the values do, as shares of their means. */
static struct diff_interval share_of_logarithm(double ratio, double low, double high)
{
    return (struct diff_interval){ratio - 1, expm1(low), expm1(high)};
}

static void step_by_step(const struct stepdiff_ask *ask, const struct cells *a,
                         const struct cells *b, struct stepdiff *out)
{
    double z[CELLS_MOST];
    fill_differences(a, 1, b, 1, z);
    out->diff = around(b->mean - a->mean, z, a->n, ask, &out->block);
    if (a->mean > 0 && b->mean > 0) {
        fill_differences(a, a->mean, b, b->mean, z);
        const struct diff_interval v = around(log(b->mean / a->mean), z, a->n, ask, &out->block);
        out->share = share_of_logarithm(b->mean / a->mean, v.low, v.high);
    }
    out->block *= ask->steps / a->n;
}

/* ---- groups: runs against runs ---- */

struct stepdiff_spread {
    double mean, within; /* within: variance of one run by its steps */
    double squares;      /* of the distances of runs from their mean */
};

static struct stepdiff_spread spread_of(const struct run_says *v, size_t n)
{
    struct stepdiff_spread s = {0};
    for (size_t i = 0; i < n; i++) {
        s.mean += v[i].at / (double)n;
        s.within += v[i].variance / (double)n;
    }
    for (size_t i = 0; i < n; i++)
        s.squares += (v[i].at - s.mean) * (v[i].at - s.mean);
    return s;
}

/* How much runs vary is taken to be the same in both groups: two or three runs cannot show
 * it for each. They cannot lie closer together than their own steps let them, except by luck. */
struct diff_interval runs_against(const struct run_says *a, size_t n_a, const struct run_says *b,
                                  size_t n_b, double confidence)
{
    assert(n_a + n_b > 2);
    const struct stepdiff_spread x = spread_of(a, n_a), y = spread_of(b, n_b);
    const double df = (double)(n_a + n_b - 2), among = (x.squares + y.squares) / df,
                 of_a = fmax(among, x.within) / (double)n_a,
                 of_b = fmax(among, y.within) / (double)n_b,
                 reach = sqrt(of_a + of_b) * reach_of(confidence, df), at = y.mean - x.mean;
    return (struct diff_interval){at, at - reach, at + reach};
}

/* As a share: the same with everything divided by the mean of A, B also scaled back to A so that
 * its runs count by their relative spread. */
static struct diff_interval share_of_runs(struct run_says *a, size_t n_a, struct run_says *b,
                                          size_t n_b, double confidence)
{
    const double of_a = spread_of(a, n_a).mean, of_b = spread_of(b, n_b).mean;
    if (!(of_a > 0) || !(of_b > 0))
        return nothing;
    for (size_t i = 0; i < n_a; i++)
        a[i] = (struct run_says){log(a[i].at / of_a), a[i].variance / (of_a * of_a)};
    for (size_t i = 0; i < n_b; i++)
        b[i] = (struct run_says){log(b[i].at / of_b), b[i].variance / (of_b * of_b)};
    const struct diff_interval v = runs_against(a, n_a, b, n_b, confidence);
    const double ratio = of_b / of_a, half = (v.high - v.low) / 2;
    return share_of_logarithm(ratio, log(ratio) - half, log(ratio) + half);
}

/* ---- both ---- */

struct stepdiff_side {
    struct cells **cells;
    struct run_says *says;
    double effective;
    size_t n;
};

static void side_open(struct stepdiff_side *s, const struct step_group *g, size_t steps)
{
    *s = (struct stepdiff_side){.n = g->n};
    s->cells = xcalloc(g->n, sizeof(struct cells *));
    s->says = xcalloc(g->n, sizeof *s->says);
    for (size_t i = 0; i < g->n; i++) {
        struct cells *c = s->cells[i] = xmalloc(sizeof *c);
        double df;
        cells_of(g->runs[i], steps, c);
        const double se = cells_se(c, &df), many = se > 0 ? c->variance / (se * se) : INFINITY;
        s->says[i] = (struct run_says){c->mean, se * se};
        s->effective += fmin(many, (double)steps) / (double)g->n;
    }
}

static void side_close(struct stepdiff_side *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->cells[i]);
    free(s->cells);
    free(s->says);
}

void stepdiff_means(const struct stepdiff_ask *ask, struct stepdiff *out)
{
    *out = (struct stepdiff){nothing, nothing, {NAN, NAN}, 0};
    if (ask->steps < STEPDIFF_LEAST || ask->a.n == 0 || ask->b.n == 0)
        return;
    struct stepdiff_side a, b;
    side_open(&a, &ask->a, ask->steps);
    side_open(&b, &ask->b, ask->steps);
    out->effective_n[0] = a.effective;
    out->effective_n[1] = b.effective;
    if (a.n == 1 && b.n == 1) {
        step_by_step(ask, a.cells[0], b.cells[0], out);
    } else {
        out->diff = runs_against(a.says, a.n, b.says, b.n, ask->confidence);
        out->share = share_of_runs(a.says, a.n, b.says, b.n, ask->confidence);
    }
    side_close(&a);
    side_close(&b);
}

/* ---- quantiles and medians ---- */

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
static struct diff_interval median_of(const double *v, size_t steps, double confidence)
{
    double *below = xcalloc(steps, sizeof *below), *sorted = xcalloc(steps, sizeof *sorted), df;
    struct cells *c = xmalloc(sizeof *c);
    memcpy(sorted, v, steps * sizeof *sorted);
    stat_sort(sorted, steps);
    const double at = stat_quantile(sorted, steps, 0.5);
    for (size_t i = 0; i < steps; i++)
        below[i] = v[i] < at ? 1 : v[i] > at ? 0 : 0.5;
    cells_of(below, steps, c);
    const double se = cells_se(c, &df), half = se * reach_of(confidence, df);
    const struct diff_interval out = {log(at),
                                      log(stat_quantile(sorted, steps, fmax(0, 0.5 - half))),
                                      log(stat_quantile(sorted, steps, fmin(1, 0.5 + half)))};
    free(below);
    free(sorted);
    free(c);
    return out;
}

static void medians_of(const struct step_group *g, size_t steps, double confidence,
                       struct diff_interval *out)
{
    for (size_t i = 0; i < g->n; i++)
        out[i] = median_of(g->runs[i], steps, confidence);
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
