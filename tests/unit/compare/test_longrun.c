/* SPDX-License-Identifier: Apache-2.0 */
/* How far the mean of values that hang together can be off. */
#include "compare/stepdiff.h"
#include "test.h"
#include "walks.h"

enum { N = 1000, ROUNDS = 200 };

static void center(double *v, size_t n)
{
    double s = 0;
    for (size_t i = 0; i < n; i++)
        s += v[i];
    for (size_t i = 0; i < n; i++)
        v[i] -= s / (double)n;
}

/* The mean of the standard errors over many series, as multiples of what theory has. */
static double se_ratio(enum walk kind, double theory)
{
    double v[N], sum = 0;
    uint64_t state = 7;
    for (int k = 0; k < ROUNDS; k++) {
        struct longrun l;
        walk_fill(kind, 1, v, N, &state);
        center(v, N);
        longrun_of(v, N, &l);
        sum += l.se * l.se;
    }
    return sqrt(sum / ROUNDS) / theory;
}

TEST(of_independent_values_it_is_the_spread_over_the_root_of_their_number)
{
    NEAR(se_ratio(WALK_PLAIN, 1 / sqrt(N)), 1, 0.06);
}

TEST(of_values_that_hang_together_it_is_larger_as_theory_has_it)
{
    NEAR(se_ratio(WALK_AR5, sqrt(3.0 / N)), 1, 0.08);
    NEAR(se_ratio(WALK_AR9, sqrt(19.0 / N)), 1, 0.25);
}

TEST(values_that_are_all_the_same_have_no_error)
{
    const double v[12] = {0};
    struct longrun l;
    longrun_of(v, 12, &l);
    CHECK(l.se == 0 && l.df >= 1);
    CHECK_INT(longrun_block(v, 12), 1);
    CHECK(longrun_resample(v, 12, 1, 0.95, 1) == 0);
}

TEST(blocks_are_longer_where_values_hang_together)
{
    double v[N];
    double length[2] = {0};
    uint64_t state = 3;
    for (int k = 0; k < 20; k++) {
        walk_fill(WALK_PLAIN, 1, v, N, &state);
        center(v, N);
        length[0] += (double)longrun_block(v, N) / 20;
        walk_fill(WALK_AR9, 1, v, N, &state);
        center(v, N);
        length[1] += (double)longrun_block(v, N) / 20;
    }
    CHECK(length[0] < 6);
    CHECK(length[1] > 20 && length[1] <= 95);
}

TEST(drawing_again_gives_the_same_for_the_same_seed_and_for_the_other_sign)
{
    double v[200], other[200];
    uint64_t state = 11;
    walk_fill(WALK_LOGNORMAL, 1, v, 200, &state);
    center(v, 200);
    for (size_t i = 0; i < 200; i++)
        other[i] = -v[i];
    const double reach = longrun_resample(v, 200, 2, 0.95, 5);
    CHECK(reach > 0 && reach == longrun_resample(v, 200, 2, 0.95, 5));
    CHECK(reach == longrun_resample(other, 200, 2, 0.95, 5));
    CHECK(reach != longrun_resample(v, 200, 2, 0.95, 6));
}

/* Most draws of a series of nearly equal values do not have the two long ones. */
TEST(a_few_long_values_do_not_make_a_reach_that_is_longer_than_they_are)
{
    double v[135];
    uint64_t state = 13;
    walk_fill(WALK_PLAIN, 1e-5, v, 135, &state);
    v[34] = 170;
    v[84] = 285;
    center(v, 135);
    const double reach = longrun_resample(v, 135, 1, 0.95, 1);
    CHECK(reach > 3 && reach < 15); /* their mean is 3.4 */
}

TEST(more_confidence_reaches_further)
{
    double v[200];
    uint64_t state = 12;
    walk_fill(WALK_PLAIN, 1, v, 200, &state);
    center(v, 200);
    CHECK(longrun_resample(v, 200, 1, 0.99, 1) > 1.5 * longrun_resample(v, 200, 1, 0.8, 1));
}
