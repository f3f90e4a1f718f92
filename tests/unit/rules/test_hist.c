/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms against the sorted values themselves. */
#include "base/mem.h"
#include "rules/hist.h"
#include "test.h"

enum { MOST = 5000 };

static uint32_t dice(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % below;
}

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static double plain_quantile(const float *v, size_t n, double q)
{
    const double at = q * (double)(n - 1);
    const size_t i = (size_t)at;
    const double low = (double)v[i], high = (double)v[MIN_OF(i + 1, n - 1)];
    return low + (high - low) * (at - (double)i);
}

TEST(quantiles_are_those_of_the_values_to_a_tenth)
{
    static const double q[] = {0, 0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1};
    uint32_t seed = 7;
    for (size_t n = 1; n < MOST; n = n * 3 / 2 + 1) {
        static float v[MOST];
        struct hist h = {0};
        double sum = 0;
        for (size_t i = 0; i < n; i++) {
            v[i] = (float)dice(&seed, dice(&seed, 2) ? 1001 : 3) / 10;
            sum += (double)v[i];
        }
        hist_add(&h, v, n);
        qsort(v, n, sizeof *v, by_value);
        CHECK_INT(h.n, n);
        for (size_t i = 0; i < COUNT_OF(q); i++)
            NEAR(hist_quantile(&h, q[i]), plain_quantile(v, n, q[i]), 1e-4);
        NEAR(hist_mean(&h), sum / (double)n, 1e-4);
        NEAR(hist_max(&h), v[n - 1], 1e-4);
    }
}

TEST(what_was_not_read_is_left_out_however_many_come_at_once)
{
    for (size_t n = 1; n <= 4096; n *= 2) {
        static float v[4096];
        struct hist h = {0};
        size_t read = 0;
        for (size_t i = 0; i < n; i++) {
            v[i] = i % 3 ? 50 : NAN;
            read += i % 3 != 0;
        }
        hist_add(&h, v, n);
        CHECK_INT(h.n, read);
        CHECK_INT(h.bin[500], read);
    }
}

TEST(values_out_of_bounds_count_as_the_bounds)
{
    const float v[] = {-5, 250, -INFINITY, INFINITY, 100, 0};
    struct hist h = {0};
    hist_add(&h, v, COUNT_OF(v));
    CHECK_INT(h.bin[0], 3);
    CHECK_INT(h.bin[1000], 3);
}

TEST(an_empty_one_has_no_numbers)
{
    struct hist h = {0};
    CHECK(isnan(hist_quantile(&h, 0.5)));
    CHECK(isnan(hist_mean(&h)));
    CHECK(isnan(hist_max(&h)));
}

TEST(two_joined_are_that_of_all_values)
{
    uint32_t seed = 3;
    static float v[MOST];
    struct hist all = {0}, a = {0}, b = {0};
    for (size_t i = 0; i < MOST; i++)
        v[i] = (float)dice(&seed, 1001) / 10;
    hist_add(&all, v, MOST);
    hist_add(&a, v, 1234);
    hist_add(&b, v + 1234, MOST - 1234);
    hist_join(&a, &b);
    CHECK(memcmp(&a, &all, sizeof a) == 0);
}
