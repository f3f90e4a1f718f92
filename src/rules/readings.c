/* SPDX-License-Identifier: Apache-2.0 */
/* readings.c - see readings.h. */
#include "rules/readings.h"

#include <math.h>

#include "base/mem.h"
#include "rules/tenths.h"

enum { COUNT_MOST = 4096 };

/* Counts of 16 bits, so that a vector has room for many. */
static uint16_t count_some(const uint16_t *v, size_t n, uint16_t most)
{
    uint16_t count = 0;
    for (size_t i = 0; i < n; i++)
        count = (uint16_t)(count + (v[i] <= most));
    return count;
}

/* Values of at most so many tenths; NAN is none. */
static size_t count_to(const struct readings *x, double most)
{
    size_t count = 0;
    if (most < 0)
        return 0;
    for (size_t i = 0; i < x->n; i += COUNT_MOST)
        count += count_some(x->tenths + i, MIN_OF(x->n - i, (size_t)COUNT_MOST),
                            (uint16_t)fmin(most, TENTHS_MOST));
    return count;
}

bool readings_are_empty(const struct readings *x)
{
    return x->hist ? x->hist->n == 0 : count_to(x, TENTHS_MOST) == 0;
}

static int side_of(const struct hist *h, double q, double limit)
{
    const double at = hist_quantile(h, q);
    return (at > limit) - (at < limit);
}

static int side_exactly(const struct readings *x, double q, double limit)
{
    struct hist h = {0};
    hist_add_tenths(&h, x->tenths, x->n);
    return side_of(&h, q, limit);
}

/* A quantile lies between two neighbours in order. Where both are on one side by half a tenth or
 * more, so is it, however it is rounded. */
int readings_side(const struct readings *x, double q, double limit)
{
    if (x->hist)
        return side_of(x->hist, q, limit);
    const size_t n = count_to(x, TENTHS_MOST);
    if (n == 0)
        return 0;
    const double at = q * (double)(n - 1), tenths = 10 * limit;
    if (count_to(x, ceil(tenths - 0.5) - 1) > (size_t)ceil(at))
        return -1;
    if (count_to(x, floor(tenths + 0.5)) <= (size_t)floor(at))
        return 1;
    return side_exactly(x, q, limit);
}
