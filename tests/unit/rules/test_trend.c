/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/mem.h"
#include "rules/trend.h"
#include "test.h"

#define START (INT64_C(1700000000) * NS_PER_S + 123456789)

static float line(size_t i)
{
    return 100 + (float)i * 0.25f;
}

static float step(size_t i)
{
    return i < 400 ? 100 : 300;
}

static float stairs(size_t i)
{
    return (float)(i / 334) * 50;
}

static void add(struct trend *t, size_t from, size_t to, float (*course)(size_t))
{
    for (size_t i = from; i < to; i++) {
        const wall_ns at = {START + (int64_t)i * NS_PER_S};
        const float v = course(i);
        trend_add(t, &at, &v, 1, 10);
    }
}

static struct trend_fit fit_of(float (*course)(size_t), size_t n)
{
    struct trend t = {0};
    add(&t, 0, n, course);
    return trend_fit_of(&t, 10);
}

TEST(a_line_is_a_climb_with_its_slope)
{
    const struct trend_fit f = fit_of(line, 1000);
    NEAR(f.per_s, 0.25, 1e-3);
    NEAR(f.r2, 1, 1e-4);
    NEAR(f.late_per_s, 0.25, 1e-3);
    NEAR(f.to - f.from, 0.25 * f.seconds, 0.1);
    CHECK(trend_is_climb(&f));
}

TEST(one_step_is_explained_by_a_line_to_three_quarters_and_is_no_climb)
{
    const struct trend_fit f = fit_of(step, 800);
    NEAR(f.r2, 0.75, 0.02);
    CHECK(!trend_is_climb(&f));
}

static float stops(size_t i)
{
    return line(i < 700 ? i : 700);
}

TEST(a_climb_that_has_stopped_is_none)
{
    const struct trend_fit f = fit_of(stops, 1000);
    CHECK(f.r2 > 0.9);
    CHECK(!trend_is_climb(&f));
}

TEST(two_steps_are_no_climb)
{
    const struct trend_fit f = fit_of(stairs, 1000);
    CHECK(f.r2 < 0.9);
    CHECK(!trend_is_climb(&f));
}

static void add_tenth(struct trend *t, int64_t i)
{
    const wall_ns at = {(1000000 + i) * 100 * NS_PER_MS};
    const float v = 1;
    trend_add(t, &at, &v, 1, 10);
}

TEST(the_mesh_is_the_finest_that_fits)
{
    struct trend t = {0};
    for (int64_t i = 0; i <= TREND_BLOCKS; i++) {
        CHECK_INT(t.n, i);
        add_tenth(&t, i);
    }
    CHECK_INT(t.length_ns, 200 * NS_PER_MS);
    CHECK_INT(t.n, TREND_BLOCKS / 2 + 1);
    CHECK_INT(t.block[0].n, 2);
    CHECK_INT(t.block[t.n - 1].n, 1);
}

TEST(too_few_blocks_are_no_fit_and_a_gap_is_no_zero)
{
    const struct trend_fit brief = fit_of(line, 2);
    CHECK(isnan(brief.per_s));
    CHECK(!trend_is_climb(&brief));
    struct trend t = {0};
    add(&t, 0, 300, line);
    add(&t, 700, 1000, line);
    const struct trend_fit f = trend_fit_of(&t, 10);
    NEAR(f.per_s, 0.25, 1e-3);
    CHECK(f.blocks < t.n);
}

/* Halves, which are rounded to even, negative ones, none, and a few that are too large to be taken
 * many at once. */
static float uneven(size_t i)
{
    if (i % 7 == 3)
        return NAN;
    if (i / 1000 == 2 && i % 100 == 0)
        return 3e9f;
    return ((float)(i % 13) - 4) * 0.25f;
}

TEST(blocks_have_the_sums_of_their_values_however_many_come_at_once)
{
    enum { N = 6000 };
    static wall_ns at[N];
    static float v[N];
    struct trend one = {0}, all = {0};
    int64_t sum = 0;
    for (size_t i = 0; i < N; i++) {
        at[i].ns = START + (int64_t)i * NS_PER_S;
        v[i] = uneven(i);
        sum += isnan(v[i]) ? 0 : llrintf(v[i] * 10);
    }
    add(&one, 0, N, uneven);
    trend_add(&all, at, v, N, 10);
    CHECK_INT(all.n, one.n);
    CHECK_INT(all.length_ns, one.length_ns);
    for (uint32_t i = 0; i < one.n; i++) {
        CHECK_INT(all.block[i].n, one.block[i].n);
        CHECK_INT(all.block[i].sum, one.block[i].sum);
        sum -= all.block[i].sum;
    }
    CHECK_INT(sum, 0);
}

TEST(halves_are_rounded_to_even)
{
    static const float v[] = {0.05f * 5, 0.75f, -0.25f, -0.75f, 0.25f};
    static const wall_ns at[COUNT_OF(v)] = {{START}, {START}, {START}, {START}, {START}};
    struct trend t = {0};
    trend_add(&t, at, v, COUNT_OF(v), 10);
    CHECK_INT(t.block[0].sum, 2 + 8 - 2 - 8 + 2);
}
