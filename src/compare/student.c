/* SPDX-License-Identifier: Apache-2.0 */
/* student.c - see student.h. The distribution by the continued fraction of the incomplete beta
 * function (Lentz's way of evaluating it), the quantile by halving. */
#include "compare/student.h"

#include <assert.h>
#include <float.h>
#include <math.h>

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
