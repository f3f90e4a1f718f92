/* SPDX-License-Identifier: Apache-2.0 */
/* longrun.c - see longrun.h; docs/compare.md says why it is done this way.
 *
 * The variance of the mean is the spectrum at frequency 0. It is estimated from the lowest
 * frequencies by projecting the values on cosines (Mueller; Lazarus, Lewis, Stock and Watson),
 * which is simply t-distributed, after the part of the dependence that one neighbour explains has
 * been taken out (Andrews and Monahan) and before it is put in again. */
#include "compare/longrun.h"

#include <assert.h>
#include <math.h>

#include "base/mem.h"

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

/* The first lag from which on no autocorrelation stands out; twice that is looked at. */
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
