/* SPDX-License-Identifier: Apache-2.0 */
/* stat.c - see stat.h. */
#include "base/stat.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/vec.h"

COMPARE_NUMBERS(stat_by_value, double)

void stat_sort(double *v, size_t n)
{
    SORT(v, n, stat_by_value);
}

double stat_quantile(const double *sorted, size_t n, double q)
{
    const double at = q * (double)(n - 1);
    const size_t i = (size_t)at;
    const double next = sorted[MIN_OF(i + 1, n - 1)];
    return sorted[i] + (at - (double)i) * (next - sorted[i]);
}

void stat_spread(const double *v, size_t n, double *mean, double *stddev)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i];
    *mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (v[i] - *mean) * (v[i] - *mean);
    *stddev = sqrt(squares / (double)n);
}

/* ------------------------------------------------------------------------------------------------
 * Shares */

static double percents_sum_of(const double *v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i] > 0 ? v[i] : 0;
    return sum;
}

/* Which lost most when it was cut to tenths; those with a mark have been raised already. */
static size_t largest_rest(const double *rest, const bool *raised, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (raised[best] || (!raised[i] && rest[i] > rest[best]))
            best = i;
    return best;
}

void percents_of(const double *v, size_t n, double *out)
{
    double rest[PERCENTS_MOST];
    bool raised[PERCENTS_MOST] = {false};
    const double sum = percents_sum_of(v, n);
    double left = 1000;
    for (size_t i = 0; i < n; i++) {
        const double tenths = v[i] > 0 && sum > 0 ? v[i] / sum * 1000 : 0;
        const double cut = n > PERCENTS_MOST ? round(tenths) : floor(tenths + 1e-9);
        if (n <= PERCENTS_MOST)
            rest[i] = tenths - cut;
        left -= cut;
        out[i] = cut;
    }
    for (; n <= PERCENTS_MOST && sum > 0 && left >= 0.5; left--) {
        const size_t k = largest_rest(rest, raised, n);
        raised[k] = true;
        out[k]++;
    }
    for (size_t i = 0; i < n; i++)
        out[i] /= 10;
}
