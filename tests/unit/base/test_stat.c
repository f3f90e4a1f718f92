/* SPDX-License-Identifier: Apache-2.0 */
/* test_stat.c - numbers about an array of numbers. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/stat.h"
#include "test.h"

/* Of many sizes, some of them alike, zero among them; the same every time. */
static double *some(size_t n)
{
    double *v = xcalloc(n, sizeof *v);
    uint64_t x = 88172645463325252u;
    for (size_t i = 0; i < n; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        v[i] = i % 7 == 0 ? 0 : ldexp((double)(x % 1000), (int)(x >> 32 & 31) - 20);
    }
    return v;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool sorted_as_qsort_does(size_t n)
{
    double *v = some(n), *w = some(n);
    stat_sort(v, n);
    qsort(w, n, sizeof *w, by_value);
    bool same = true;
    for (size_t i = 0; i < n; i++)
        same = same && v[i] == w[i];
    free(v);
    free(w);
    return same;
}

TEST(few_and_many_numbers_come_into_the_same_order_as_by_comparing)
{
    CHECK(sorted_as_qsort_does(1));
    CHECK(sorted_as_qsort_does(2047));
    CHECK(sorted_as_qsort_does(2048));
    CHECK(sorted_as_qsort_does(50000));
}

TEST(many_equal_numbers_stay_what_they_are)
{
    enum { MANY = 5000 };
    double *v = xcalloc(MANY, sizeof *v);
    for (size_t i = 0; i < MANY; i++)
        v[i] = 0.125;
    stat_sort(v, MANY);
    CHECK(v[0] == 0.125 && v[MANY / 2] == 0.125 && v[MANY - 1] == 0.125);
    free(v);
}

TEST(a_quantile_between_two_numbers_lies_between_them)
{
    const double v[] = {1, 2, 4, 8};
    NEAR(stat_quantile(v, 4, 0), 1, 1e-12);
    NEAR(stat_quantile(v, 4, 0.5), 3, 1e-12);
    NEAR(stat_quantile(v, 4, 0.9), 6.8, 1e-12);
    NEAR(stat_quantile(v, 4, 1), 8, 1e-12);
    NEAR(stat_quantile(v, 1, 0.95), 1, 1e-12);
}

TEST(the_deviation_is_that_of_the_whole_population)
{
    const double v[] = {2, 4, 4, 4, 5, 5, 7, 9};
    double mean, stddev;
    stat_spread(v, 8, &mean, &stddev);
    NEAR(mean, 5, 1e-12);
    NEAR(stddev, 2, 1e-12);
}
