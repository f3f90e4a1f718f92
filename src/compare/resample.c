/* SPDX-License-Identifier: Apache-2.0 */
/* resample.c - drawing blocks of steps again (bootstrap-t). See longrun.h.
 *
 * The blocks are summed first and there are at most BLOCKS_MOST of them, so the cost does not grow
 * with the steps. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "compare/longrun.h"

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

static int resample_by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
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
    qsort(t, DRAWS, sizeof t[0], resample_by_value);
    const size_t beyond = (size_t)fmax(1, floor((1 - confidence) * (DRAWS + 1)));
    return t[DRAWS - beyond] * seen.se;
}
