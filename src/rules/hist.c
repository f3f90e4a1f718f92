/* SPDX-License-Identifier: Apache-2.0 */
/* hist.c - see hist.h. */
#include "rules/hist.h"

#include <math.h>

#define PER_PERCENT 10.0f

/* Values whose bins are found together, by a loop that the compiler vectorizes. */
enum { AT_ONCE = 4096, MANY = 1500 };

void hist_tenths(const float *restrict v, size_t n, uint16_t *restrict out)
{
    for (size_t i = 0; i < n; i++) {
        const float at = v[i] * PER_PERCENT + 0.5f;
        const float low = at > 0 ? at : 0; /* of NAN too */
        const int bin = (int)(low < HIST_BINS - 1 ? low : HIST_BINS - 1);
        out[i] = (uint16_t)(v[i] == v[i] ? bin : TENTHS_NAN);
    }
}

static double hist_value_of(uint64_t bin)
{
    return (double)bin / (double)PER_PERCENT;
}

static void add_few(struct hist *h, const uint16_t *bins, size_t n)
{
    size_t counted = 0;
    for (size_t i = 0; i < n; i++) {
        if (bins[i] == TENTHS_NAN)
            continue;
        h->bin[bins[i]]++;
        counted++;
    }
    h->n += counted;
}

/* Neighbours often fall into one bin, and an addition that waits for the one before it is slow: so
 * they are counted apart. */
enum { APART = 4 };

static void add_many(struct hist *h, const uint16_t *bins, size_t n)
{
    uint16_t apart[APART][HIST_BINS + 1] = {0};
    size_t i = 0;
    for (; i + APART <= n; i += APART)
        for (size_t k = 0; k < APART; k++)
            apart[k][bins[i + k]]++;
    for (; i < n; i++)
        apart[0][bins[i]]++;
    for (size_t k = 0; k < HIST_BINS; k++)
        h->bin[k] += (uint32_t)apart[0][k] + apart[1][k] + apart[2][k] + apart[3][k];
    h->n += n - apart[0][TENTHS_NAN] - apart[1][TENTHS_NAN] - apart[2][TENTHS_NAN] -
            apart[3][TENTHS_NAN];
}

/* Counts apart have 16 bits. */
void hist_add_tenths(struct hist *h, const uint16_t *tenths, size_t n)
{
    for (size_t i = 0; i < n; i += AT_ONCE) {
        const size_t some = n - i < AT_ONCE ? n - i : AT_ONCE;
        if (some >= MANY)
            add_many(h, tenths + i, some);
        else
            add_few(h, tenths + i, some);
    }
}

void hist_add(struct hist *h, const float *v, size_t n)
{
    uint16_t tenths[AT_ONCE];
    for (size_t i = 0; i < n; i += AT_ONCE) {
        const size_t some = n - i < AT_ONCE ? n - i : AT_ONCE;
        hist_tenths(v + i, some, tenths);
        hist_add_tenths(h, tenths, some);
    }
}

void hist_join(struct hist *h, const struct hist *other)
{
    h->n += other->n;
    for (size_t i = 0; i < HIST_BINS; i++)
        h->bin[i] += other->bin[i];
}

/* Bins that are summed at once. */
enum { STRIDE = 40 };

static uint64_t hist_sum_of(const uint32_t *bin)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < STRIDE; i++)
        sum += bin[i];
    return sum;
}

/* The bin of the value that has `below` others before it in order; `seen`: how many lie in it and
 * before it. */
static uint32_t bin_behind(const struct hist *h, uint64_t below, uint64_t *seen)
{
    uint32_t bin = 0;
    uint64_t before = 0;
    for (uint64_t sum; bin + STRIDE < HIST_BINS; bin += STRIDE, before += sum)
        if (before + (sum = hist_sum_of(h->bin + bin)) > below)
            break;
    *seen = before + h->bin[bin];
    while (bin < HIST_BINS - 1 && *seen <= below)
        *seen += h->bin[++bin];
    return bin;
}

double hist_quantile(const struct hist *h, double q)
{
    if (h->n == 0)
        return NAN;
    const double at = q * (double)(h->n - 1), below = floor(at);
    uint64_t seen;
    const uint32_t low = bin_behind(h, (uint64_t)below, &seen);
    uint32_t high = low;
    if (seen <= (uint64_t)ceil(at)) /* the next larger value lies in the next bin that has any */
        while (high < HIST_BINS - 1 && h->bin[++high] == 0)
            continue;
    const double a = hist_value_of(low), b = hist_value_of(high);
    return a + (b - a) * (at - below);
}

double hist_mean(const struct hist *h)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < HIST_BINS; i++)
        sum += (uint64_t)i * h->bin[i];
    return h->n ? hist_value_of(sum) / (double)h->n : NAN;
}

double hist_min(const struct hist *h)
{
    return hist_quantile(h, 0);
}

double hist_max(const struct hist *h)
{
    return hist_quantile(h, 1);
}

uint64_t hist_below(const struct hist *h, double limit)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < HIST_BINS && hist_value_of(i) < limit; i++)
        n += h->bin[i];
    return n;
}

uint64_t hist_above(const struct hist *h, double limit)
{
    uint64_t n = 0;
    for (uint32_t i = HIST_BINS; i-- > 0 && hist_value_of(i) > limit;)
        n += h->bin[i];
    return n;
}
