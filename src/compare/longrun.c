/* SPDX-License-Identifier: Apache-2.0 */
/* longrun.c - see longrun.h; docs/compare.md gives the reasons for these methods.
 *
 * The variance of the mean is the spectrum at frequency 0. It is estimated from the lowest
 * frequencies by projecting the values on cosines (Mueller; Lazarus, Lewis, Stock and Watson),
 * which is simply t-distributed, after the part of the dependence that one neighbour explains has
 * been taken out (Andrews and Monahan) and before it is put in again. */
#include "compare/longrun.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/stat.h"

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

/* Cosines: many make the estimate sharp, few keep it free of what happens from step to step. */
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
 * added: assuming too much costs little, assuming too little makes false verdicts. Values that take
 * turns (rho < 0) would make the error smaller, which is not relied upon. */
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
    const double stands_out = 2 * sqrt(log10((double)n) / (double)n);
    size_t quiet = 0;
    for (size_t lag = 1; lag <= most; lag++) {
        quiet = fabs(product(z, n, lag) / all) < stands_out ? quiet + 1 : 0;
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
