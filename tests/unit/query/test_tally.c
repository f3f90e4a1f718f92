/* SPDX-License-Identifier: Apache-2.0 */
/* Quantiles against a sorted copy, with the linear definition that numpy uses by default. */
#include "base/mem.h"
#include "query/reduce.h"
#include "query/series.h"
#include "test.h"

enum { MOST = 200000 };

struct oracle {
    double v[MOST];
    size_t n;
    struct tally t;
    double step;
};

static uint64_t next(uint64_t *s)
{
    *s = *s * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *s >> 33;
}

static struct oracle *begin(double step)
{
    struct oracle *o = xmalloc(sizeof *o);
    o->n = 0;
    tally_open(&o->t);
    tally_step(&o->t, step);
    o->step = step;
    return o;
}

static void add(struct oracle *o, int64_t steps, uint64_t count)
{
    tally_add(&o->t, steps, count);
    for (uint64_t i = 0; i < count; i++)
        o->v[o->n++] = (double)steps * o->step;
}

static void change_step(struct oracle *o, double step)
{
    tally_step(&o->t, step);
    o->step = step;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const struct oracle *o, double q)
{
    const double at = q * (double)(o->n - 1);
    const size_t lo = (size_t)floor(at), hi = lo + 1 < o->n ? lo + 1 : lo;
    return o->v[lo] + (o->v[hi] - o->v[lo]) * (at - (double)lo);
}

static void finish(struct oracle *o)
{
    struct series_stats s = {0};
    double sum = 0;
    tally_finish(&o->t, &s);
    tally_free(&o->t);
    qsort(o->v, o->n, sizeof *o->v, by_value);
    for (size_t i = 0; i < o->n; i++)
        sum += o->v[i];
    const double eps = 1e-9 * (fabs(o->v[o->n - 1]) + fabs(o->v[0]) + 1e-12);
    CHECK_INT(s.count, o->n);
    NEAR(s.min, o->v[0], eps);
    NEAR(s.max, o->v[o->n - 1], eps);
    NEAR(s.mean, sum / (double)o->n, eps);
    NEAR(s.p5, quantile(o, 0.05), eps);
    NEAR(s.p25, quantile(o, 0.25), eps);
    NEAR(s.p50, quantile(o, 0.5), eps);
    NEAR(s.p75, quantile(o, 0.75), eps);
    NEAR(s.p90, quantile(o, 0.9), eps);
    NEAR(s.p95, quantile(o, 0.95), eps);
    NEAR(s.p99, quantile(o, 0.99), eps);
    free(o);
}

TEST(nothing_counted_gives_no_numbers)
{
    struct tally *t = xmalloc(sizeof *t);
    struct series_stats s = {0};
    tally_open(t);
    tally_finish(t, &s);
    CHECK_INT(s.count, 0);
    CHECK(isnan(s.min) && isnan(s.max) && isnan(s.mean) && isnan(s.p50) && isnan(s.p99));
    tally_free(t);
    free(t);
}

TEST(one_to_a_few_values_interpolate_as_numpy_does)
{
    for (int64_t n = 1; n <= 30; n++) {
        struct oracle *o = begin(0.5);
        for (int64_t i = 0; i < n; i++)
            add(o, i * i % 17, 1);
        finish(o);
    }
}

TEST(known_quantiles_of_one_to_a_hundred)
{
    struct oracle *o = begin(1);
    for (int64_t i = 1; i <= 100; i++)
        add(o, i, 1);
    struct series_stats s = {0};
    tally_finish(&o->t, &s);
    NEAR(s.p50, 50.5, 1e-12); /* numpy.percentile(range(1, 101), 50) */
    NEAR(s.p90, 90.1, 1e-12);
    NEAR(s.p99, 99.01, 1e-12);
    NEAR(s.p5, 5.95, 1e-12);
    tally_free(&o->t);
    free(o);
}

TEST(small_integers_are_counted_exactly)
{
    uint64_t seed = 1;
    for (int round = 0; round < 20; round++) {
        struct oracle *o = begin(0.1);
        for (int i = 0; i < 2000; i++)
            add(o, (int64_t)(next(&seed) % 1000), 1 + next(&seed) % 9);
        finish(o);
    }
}

TEST(large_values_beside_small_ones_are_sorted_exactly)
{
    uint64_t seed = 2;
    for (int round = 0; round < 20; round++) {
        struct oracle *o = begin(4096);
        for (int i = 0; i < 3000; i++)
            add(o, (int64_t)(next(&seed) % (round % 2 ? 8192 : 1 << 30)), 1 + next(&seed) % 7);
        finish(o);
    }
}

TEST(steps_that_change_on_the_way_mix_correctly)
{
    uint64_t seed = 3;
    static const double steps[] = {1, 10, 2.5, 0.1, 1};
    struct oracle *o = begin(1);
    for (size_t k = 0; k < COUNT_OF(steps); k++) {
        change_step(o, steps[k]);
        for (int i = 0; i < 5000; i++)
            add(o, (int64_t)(next(&seed) % 6000), 1);
    }
    finish(o);
}

TEST(values_at_the_edge_of_what_is_counted_are_not_lost)
{
    struct oracle *o = begin(1);
    for (int64_t i = TALLY_SMALL - 3; i < TALLY_SMALL + 3; i++)
        for (uint64_t n = 1; n < 8; n++)
            add(o, i, n);
    add(o, 0, 5);
    add(o, INT64_MAX, 1);
    finish(o);
}

TEST(one_straggler_in_a_hundred_thousand_is_the_maximum)
{
    struct oracle *o = begin(1);
    add(o, 7, 99999);
    add(o, 1000000, 1);
    finish(o);
}
