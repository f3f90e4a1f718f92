/* SPDX-License-Identifier: Apache-2.0 */
/* loghist.c - see loghist.h. */
#include "rules/loghist.h"

#include <math.h>

#include "base/mem.h"

static uint32_t loghist_bin_of(float v)
{
    int power;
    if (!(v >= 1))
        return 0;
    const float part = frexpf(v, &power); /* 0.5 <= part < 1, v = part * 2^power, power >= 1 */
    const uint32_t at = (uint32_t)((part - 0.5f) * 2 * LOGHIST_PER_POWER);
    return power > LOGHIST_POWERS ? LOGHIST_BINS - 1
                                  : 1 + (uint32_t)(power - 1) * LOGHIST_PER_POWER + at;
}

/* The middle of a bin. */
static double loghist_value_of(uint32_t bin)
{
    if (bin == 0)
        return 0;
    const uint32_t power = (bin - 1) / LOGHIST_PER_POWER, at = (bin - 1) % LOGHIST_PER_POWER;
    return ldexp(1 + (at + 0.5) / LOGHIST_PER_POWER, (int)power);
}

void loghist_add(struct loghist *h, const float *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (isnan(v[i]))
            continue;
        h->lo = h->n ? MIN_OF(h->lo, v[i]) : v[i];
        h->hi = h->n ? MAX_OF(h->hi, v[i]) : v[i];
        h->bin[loghist_bin_of(v[i])]++;
        h->n++;
    }
}

void loghist_join(struct loghist *h, const struct loghist *other)
{
    if (other->n == 0)
        return;
    h->lo = h->n ? MIN_OF(h->lo, other->lo) : other->lo;
    h->hi = h->n ? MAX_OF(h->hi, other->hi) : other->hi;
    h->n += other->n;
    for (size_t i = 0; i < LOGHIST_BINS; i++)
        h->bin[i] += other->bin[i];
}

/* The k-th smallest value, k from 0. */
static double value_of_rank(const struct loghist *h, uint64_t k)
{
    uint64_t seen = 0;
    if (k == 0)
        return (double)h->lo;
    if (k >= h->n - 1)
        return (double)h->hi;
    for (uint32_t i = 0; i < LOGHIST_BINS; i++) {
        seen += h->bin[i];
        if (seen > k)
            return fmin(fmax(loghist_value_of(i), (double)h->lo), (double)h->hi);
    }
    return (double)h->hi;
}

double loghist_quantile(const struct loghist *h, double q)
{
    if (h->n == 0)
        return NAN;
    const double at = q * (double)(h->n - 1), low = floor(at);
    const double a = value_of_rank(h, (uint64_t)low), b = value_of_rank(h, (uint64_t)ceil(at));
    return a + (b - a) * (at - low);
}

void loghist_counts(const struct loghist *h, double lo, double hi, double *out, size_t n)
{
    const double wide = (hi - lo) / (double)n;
    for (uint32_t i = 0; i < LOGHIST_BINS; i++) {
        if (h->bin[i] == 0)
            continue;
        const double v = fmin(fmax(loghist_value_of(i), (double)h->lo), (double)h->hi);
        const double at = wide > 0 ? fmax(floor((v - lo) / wide), 0) : 0;
        out[(size_t)fmin(at, (double)(n - 1))] += h->bin[i];
    }
}
