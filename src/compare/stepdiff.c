/* SPDX-License-Identifier: Apache-2.0 */
/* stepdiff.c - means and medians of steps against each other. See stepdiff.h; docs/compare.md gives
 * the reasons for these methods.
 *
 * Medians: the share of steps below the median is a mean, so its standard error is known
 * (below); the quantiles at both ends of its interval bound the median (Woodruff). No density
 * is needed. */
#include "compare/stepdiff.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/stat.h"

enum { CELLS_MOST = 1024 };

/* A series in at most CELLS_MOST cells, so that what follows costs the same for any run. */
struct cells {
    size_t n;
    double mean, variance; /* of the steps */
    double v[CELLS_MOST];  /* mean of each cell */
};

/* ---- means ---- */

enum { WARMUP_MOST = 100 };

/* All intervals reach out a little further than theory requires. Chosen by trying it on pairs of
 * equal runs, so that most kinds of them give at most 5 % false verdicts at 95 %; docs/compare.md
 * names those that give more. */
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
 * spans, the one from resampled blocks about heavy tails. */
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

/* An interval as an estimate with a variance. */
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

/* ---- long-run variance ---- */

/* docs/compare.md gives the reasons for these methods.
 *
 * The variance of the mean is the spectrum at frequency 0. It is estimated from the lowest
 * frequencies by projecting the values on cosines (Mueller; Lazarus, Lewis, Stock and Watson),
 * which is simply t-distributed, after the part of the dependence that one neighbour explains has
 * been taken out (Andrews and Monahan) and before it is put in again. */

/* ---- Student's t: the distribution by the continued fraction of the incomplete beta function
 * (Lentz), the quantile by bisection ---- */

enum { TERMS_MOST = 500, HALVINGS = 100 };

static double not_zero(double v)
{
    return fabs(v) < DBL_MIN * 1e10 ? DBL_MIN * 1e10 : v;
}

static double fraction(double a, double b, double x)
{
    double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), h = d;
    for (int i = 1; i < TERMS_MOST; i++) {
        const double m = i, even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                     odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / not_zero(1 + even * d);
        c = not_zero(1 + even / c);
        h *= d * c;
        d = 1 / not_zero(1 + odd * d);
        c = not_zero(1 + odd / c);
        h *= d * c;
        if (fabs(d * c - 1) < 1e-13)
            break;
    }
    return h;
}

static double incomplete_beta(double a, double b, double x)
{
    const double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2)) /* where the fraction converges fast */
        return front * fraction(a, b, x) / a;
    return 1 - front * fraction(b, a, 1 - x) / b;
}

/* What lies above t > 0. */
static double above(double t, double df)
{
    return 0.5 * incomplete_beta(df / 2, 0.5, df / (df + t * t));
}

double student_quantile(double p, double df)
{
    assert(p > 0.5 && p < 1 && df > 0);
    double low = 1e-9, high = 1;
    while (above(high, df) > 1 - p && high < 1e12)
        high *= 2;
    for (int i = 0; i < HALVINGS && high - low > 1e-9 * high; i++) {
        const double mid = (low + high) / 2;
        if (above(mid, df) > 1 - p)
            low = mid;
        else
            high = mid;
    }
    return (low + high) / 2;
}

/* ---- the standard error ---- */

static const double PI = 3.14159265358979323846;

/* Cosines: many reduce the variance of the estimate, few exclude what varies from step to step. */
enum { COSINES_LEAST = 4, COSINES_MOST = 24 };

static const double RHO_MOST = 0.99;

static double product(const double *z, size_t n, size_t lag)
{
    double s = 0;
    for (size_t i = lag; i < n; i++)
        s += z[i] * z[i - lag];
    return s / (double)n;
}

/* The estimate from few values is too low (Kendall), and uncertain, by one standard error, which is
 * added: assuming too much costs little, assuming too little makes false verdicts. Values that
 * alternate (rho < 0) would make the error smaller, which is not relied upon. */
static double neighbours(const double *z, size_t n)
{
    const double all = product(z, n, 0), rho = all > 0 ? product(z, n, 1) / all : 0;
    const double put_right =
        rho + (1 + 3 * rho) / (double)n + sqrt(fmax(0, 1 - rho * rho) / (double)n);
    return fmax(0, fmin(put_right, fmin(RHO_MOST, 1 - 2 / (double)n)));
}

/* Mean square of the projections of z[i] - rho z[i - 1] on the first k cosines. */
static double lowest(const double *z, size_t n, double rho, size_t k)
{
    const size_t m = n - 1;
    double sum = 0;
    for (size_t j = 1; j <= k; j++) {
        const double turn = 2 * cos(PI * (double)j / (double)m);
        double c = cos(PI * (double)j * 0.5 / (double)m), before = c, dot = 0; /* cos(-x) too */
        for (size_t i = 0; i < m; i++) {
            dot += (z[i + 1] - rho * z[i]) * c;
            const double next = turn * c - before;
            before = c;
            c = next;
        }
        sum += 2 * dot * dot / (double)m;
    }
    return sum / (double)k;
}

void longrun_of(const double *z, size_t n, struct longrun *out)
{
    assert(n >= 3);
    const double rho = neighbours(z, n), wish = 0.4 * pow((double)n, 2.0 / 3);
    size_t k = (size_t)fmin(fmax(wish, COSINES_LEAST), COSINES_MOST);
    k = MIN_OF(k, n - 2);
    const double independent = (double)n * (1 - rho) / (1 + rho);
    out->rho = rho;
    out->se = sqrt(lowest(z, n, rho, k) / (double)n) / (1 - rho);
    out->df = fmax(1, fmin((double)k, independent / 3));
}

/* ---- blocks ---- */

/* The first lag from which on no autocorrelation is significant; twice that is used. */
static size_t reach(const double *z, size_t n, double all)
{
    const size_t run = (size_t)fmax(5, sqrt(log10((double)n))),
                 most = MIN_OF((size_t)sqrt((double)n) + run, n - 1);
    const double limit = 2 * sqrt(log10((double)n) / (double)n);
    size_t quiet = 0;
    for (size_t lag = 1; lag <= most; lag++) {
        quiet = fabs(product(z, n, lag) / all) < limit ? quiet + 1 : 0;
        if (quiet == run)
            return lag - run;
    }
    return most;
}

size_t longrun_block(const double *z, size_t n)
{
    const double all = product(z, n, 0);
    if (n < 9 || !(all > 0))
        return 1;
    const size_t most = MIN_OF(2 * MAX_OF(reach(z, n, all), (size_t)1), n - 1);
    double g = 0, spectrum = all;
    for (size_t lag = 1; lag <= most; lag++) {
        const double at = (double)lag / (double)most,
                     weight = at <= 0.5 ? 1 : 2 * (1 - at), /* a flat top */
            r = weight * product(z, n, lag);
        g += 2 * (double)lag * r;
        spectrum += 2 * r;
    }
    if (!(spectrum > 0))
        return 1;
    const double d = 4.0 / 3 * spectrum * spectrum, length = ceil(cbrt(2 * g * g / d * (double)n));
    return (size_t)fmax(1, fmin(length, floor(fmin(3 * sqrt((double)n), (double)n / 3))));
}

/* ---- drawing blocks of steps again (bootstrap-t) ---- */

enum { DRAWS = 999, BLOCKS_LEAST = 8, BLOCKS_MOST = 128 };

/* The standard error of a draw is taken to be at least this share of that of all blocks. A draw
 * without the few long steps of a run has nearly none, and its mean would seem a thousand standard
 * errors away: intervals of seconds around milliseconds came of it. */
static const double SE_LEAST = 0.5;

/* SplitMix64: small, the same on every machine. */
static uint64_t resample_next(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Means of blocks; values that are left at the end go into the last one. */
static size_t blocks_of(const double *z, size_t n, size_t block, double out[BLOCKS_MOST])
{
    const size_t many = n / MAX_OF(block, (size_t)1),
                 m = MIN_OF(MAX_OF(MIN_OF(many, (size_t)BLOCKS_MOST), (size_t)BLOCKS_LEAST), n);
    for (size_t k = 0; k < m; k++) {
        const size_t from = n * k / m, to = n * (k + 1) / m;
        double s = 0;
        for (size_t i = from; i < to; i++)
            s += z[i];
        out[k] = s / (double)(to - from);
    }
    return m;
}

struct draw {
    double mean, se;
};

static struct draw resample_measure(double sum, double squares, size_t m)
{
    const double n = (double)m, mean = sum / n,
                 variance = fmax(0, (squares - n * mean * mean) / (n - 1));
    return (struct draw){mean, sqrt(variance / n)};
}

static struct draw draw_again(const double *v, size_t m, uint64_t *state)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < m; i++) {
        const double x = v[(resample_next(state) >> 32) * m >> 32];
        sum += x;
        squares += x * x;
    }
    return resample_measure(sum, squares, m);
}

double longrun_resample(const double *z, size_t n, size_t block, double confidence, uint64_t seed)
{
    double v[BLOCKS_MOST], t[DRAWS], sum = 0, squares = 0;
    const size_t m = blocks_of(z, n, block, v);
    for (size_t i = 0; i < m; i++) {
        sum += v[i];
        squares += v[i] * v[i];
    }
    const struct draw seen = resample_measure(sum, squares, m);
    const double least = fmax(SE_LEAST * seen.se, 1e-300);
    for (size_t k = 0; k < DRAWS; k++) {
        const struct draw d = draw_again(v, m, &seed);
        t[k] = fabs(d.mean - seen.mean) / fmax(d.se, least);
    }
    stat_sort(t, DRAWS);
    const size_t beyond = (size_t)fmax(1, floor((1 - confidence) * (DRAWS + 1)));
    return t[DRAWS - beyond] * seen.se;
}
