/* SPDX-License-Identifier: Apache-2.0 */
/* On which side of a limit a quantile lies: by the values as by their histogram. */
#include <math.h>

#include "base/mem.h"
#include "rules/hist.h"
#include "test.h"

enum { MOST = 9000 };

static float v[MOST];
static uint16_t tenths[MOST];

static uint32_t dice(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % below;
}

/* Few different values, so that quantiles often are the limit or lie between two neighbours. */
static void fill(uint32_t *seed, size_t n)
{
    const uint32_t kinds = 1 + dice(seed, 12);
    for (size_t i = 0; i < n; i++)
        v[i] = dice(seed, 9) == 0 ? NAN : (float)dice(seed, kinds) * 9.1f;
    hist_tenths(v, n, tenths);
}

static void compare(size_t n, double q, double limit)
{
    struct hist h = {0};
    hist_add(&h, v, n);
    const struct readings counted = {.hist = &h}, as_they_are = {.tenths = tenths, .n = n};
    const double at = hist_quantile(&h, q);
    CHECK_INT(readings_are_empty(&as_they_are), h.n == 0);
    CHECK_INT(readings_are_empty(&counted), h.n == 0);
    CHECK_INT(readings_side(&counted, q, limit), (at > limit) - (at < limit));
    CHECK_INT(readings_side(&as_they_are, q, limit), (at > limit) - (at < limit));
}

TEST(values_are_on_the_same_side_of_a_limit_as_their_histogram)
{
    static const double q[] = {0, 0.05, 0.5, 0.95, 1};
    uint32_t seed = 3;
    for (int turn = 0; turn < 400; turn++) {
        const size_t n = dice(&seed, turn % 40 == 0 ? MOST : 40);
        fill(&seed, n);
        for (size_t k = 0; k < COUNT_OF(q); k++) {
            compare(n, q[k], (double)dice(&seed, 1001) / 10);
            compare(n, q[k], (double)((float)dice(&seed, 12) * 9.1f));
            compare(n, q[k], (double)dice(&seed, 12) * 9.1 / 2);
        }
    }
}

TEST(a_limit_at_either_end_has_sides_too)
{
    fill(&(uint32_t){5}, 100);
    compare(100, 0, 0);
    compare(100, 1, 0);
    compare(100, 0, 100);
    compare(100, 1, 100);
}
