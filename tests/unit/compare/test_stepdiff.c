/* SPDX-License-Identifier: Apache-2.0 */
/* Step times against each other: bounds, groups, medians, what is too little. */
#include "compare/stepdiff.h"
#include "test.h"
#include "walks.h"

enum { N = 300, RUNS = 4 };

struct pair {
    double a[RUNS][N], b[RUNS][N];
    const double *runs_a[RUNS], *runs_b[RUNS];
    uint64_t state;
};

/* Runs of each group that differ from each other by `among` (a share). */
static struct stepdiff_ask groups(struct pair *p, size_t n_a, size_t n_b, double among, double more)
{
    for (size_t i = 0; i < RUNS; i++) {
        const double of_a = 1 + among * walk_normal(&p->state),
                     of_b = (1 + more) * (1 + among * walk_normal(&p->state));
        walk_fill(WALK_PLAIN, 0.05, p->a[i], N, &p->state);
        walk_fill(WALK_PLAIN, 0.05, p->b[i], N, &p->state);
        for (size_t k = 0; k < N; k++) {
            p->a[i][k] *= of_a;
            p->b[i][k] *= of_b;
        }
        p->runs_a[i] = p->a[i];
        p->runs_b[i] = p->b[i];
    }
    return (struct stepdiff_ask){
        .a = {p->runs_a, n_a}, .b = {p->runs_b, n_b}, .steps = N, .confidence = 0.95, .seed = 1};
}

TEST(a_run_against_itself_differs_by_nothing_at_all)
{
    struct pair p = {.state = 1};
    struct stepdiff_ask ask = groups(&p, 1, 1, 0, 0);
    struct stepdiff d;
    ask.b = ask.a;
    stepdiff_means(&ask, &d);
    CHECK(d.share.at == 0 && d.share.low == 0 && d.share.high == 0);
    CHECK(d.diff.at == 0 && d.diff.low == 0 && d.diff.high == 0);
}

TEST(the_same_steps_give_the_same_bounds)
{
    struct pair p = {.state = 2};
    const struct stepdiff_ask ask = groups(&p, 1, 1, 0, 0.03);
    struct stepdiff d[2];
    stepdiff_means(&ask, &d[0]);
    stepdiff_means(&ask, &d[1]);
    CHECK(memcmp(&d[0], &d[1], sizeof d[0]) == 0);
}

TEST(the_bounds_hold_what_is_true_and_the_sign_is_that_of_b)
{
    struct pair p = {.state = 3};
    const struct stepdiff_ask ask = groups(&p, 1, 1, 0, 0.10);
    struct stepdiff d;
    stepdiff_means(&ask, &d);
    NEAR(d.share.at, 0.10, 0.02);
    CHECK(d.share.low > 0 && d.share.low < 0.10 && d.share.high > 0.10);
    NEAR(d.diff.at, 0.10, 0.02);
    CHECK(d.diff.low > 0 && d.diff.high < 0.15);
}

TEST(what_both_runs_have_at_the_same_step_does_not_blur_the_difference)
{
    struct pair p = {.state = 4};
    const struct stepdiff_ask ask = groups(&p, 1, 1, 0, 0);
    struct stepdiff alone, both;
    stepdiff_means(&ask, &alone);
    for (size_t k = 0; k < N; k++) { /* a long sequence in the same batch */
        const double more = k % 7 == 0 ? 1.0 : 0;
        p.a[0][k] += more;
        p.b[0][k] += more;
    }
    stepdiff_means(&ask, &both);
    NEAR(both.diff.high - both.diff.low, alone.diff.high - alone.diff.low, 1e-9);
}

TEST(steps_that_hang_together_count_for_fewer)
{
    struct pair p = {.state = 5};
    const struct stepdiff_ask ask = groups(&p, 1, 1, 0, 0);
    struct stepdiff d;
    double mean = 0;
    for (int k = 0; k < 20; k++) {
        walk_fill(WALK_AR9, 0.05, p.b[0], N, &p.state);
        stepdiff_means(&ask, &d);
        mean += d.effective_n[1] / 20;
        CHECK(d.effective_n[0] > 100 && d.effective_n[0] <= N);
    }
    CHECK(mean > 3 && mean < 60); /* theory: 300 / 19 */
}

TEST(fewer_than_ten_steps_give_no_bounds)
{
    struct pair p = {.state = 6};
    struct stepdiff_ask ask = groups(&p, 1, 1, 0, 0.5);
    struct stepdiff d;
    struct diff_interval m;
    for (ask.steps = 0; ask.steps < STEPDIFF_LEAST; ask.steps++) {
        stepdiff_means(&ask, &d);
        stepdiff_medians(&ask, &m);
        CHECK(isnan(d.share.low) && isnan(d.diff.low) && isnan(m.low));
    }
    stepdiff_means(&ask, &d);
    NEAR(d.share.at, 0.5, 0.1);
    CHECK(d.share.low < d.share.at && d.share.high > d.share.at);
    ask.steps = 20;
    stepdiff_means(&ask, &d);
    CHECK(d.share.low > 0.3 && d.share.high < 0.7);
}

TEST(a_tenth_of_the_steps_is_warm_up_but_no_more_than_a_hundred)
{
    CHECK_INT(stepdiff_warmup(0), 0);
    CHECK_INT(stepdiff_warmup(1), 0);
    CHECK_INT(stepdiff_warmup(2), 1);
    CHECK_INT(stepdiff_warmup(19), 1);
    CHECK_INT(stepdiff_warmup(200), 20);
    CHECK_INT(stepdiff_warmup(864000), 100);
}

/* Runs of a group that differ by 3 %, as those of one job may. */
TEST(runs_that_differ_from_each_other_are_seldom_called_different_as_groups)
{
    struct pair p = {.state = 7};
    int false_ones = 0, false_single = 0;
    for (int k = 0; k < 400; k++) {
        struct stepdiff d;
        const struct stepdiff_ask ask = groups(&p, 3, 3, 0.03, 0);
        stepdiff_means(&ask, &d);
        false_ones += d.share.low > 0 || d.share.high < 0;
        const struct stepdiff_ask single = {ask.a, ask.b, N, 0.95, 1};
        struct stepdiff_ask one = single;
        one.a.n = one.b.n = 1;
        stepdiff_means(&one, &d);
        false_single += d.share.low > 0 || d.share.high < 0;
    }
    CHECK(false_ones <= 20);
    CHECK(false_single > 200); /* which is why groups are worth it */
}

TEST(groups_find_what_is_larger_than_their_runs_differ)
{
    struct pair p = {.state = 8};
    int found = 0;
    for (int k = 0; k < 50; k++) {
        struct stepdiff d;
        const struct stepdiff_ask ask = groups(&p, 4, 3, 0.005, 0.05);
        stepdiff_means(&ask, &d);
        found += d.share.low > 0;
        NEAR(d.share.at, 0.05, 0.02);
    }
    CHECK(found >= 48);
}

TEST(one_run_against_several_is_taken_to_vary_as_they_do)
{
    struct pair p = {.state = 9};
    int false_ones = 0;
    for (int k = 0; k < 200; k++) {
        struct stepdiff d;
        const struct stepdiff_ask ask = groups(&p, 4, 1, 0.03, 0);
        stepdiff_means(&ask, &d);
        false_ones += d.share.low > 0 || d.share.high < 0;
    }
    CHECK(false_ones <= 10);
}

TEST(medians_do_not_see_a_few_stalls)
{
    struct pair p = {.state = 10};
    const struct stepdiff_ask ask = groups(&p, 1, 1, 0, 0.05);
    struct diff_interval m;
    for (size_t k = 0; k < N; k += 50)
        p.a[0][k] = 100;
    stepdiff_medians(&ask, &m);
    NEAR(m.at, 0.05, 0.015);
    CHECK(m.low > 0 && m.high < 0.10 && m.low < m.at && m.at < m.high);
}

TEST(medians_of_equal_runs_are_seldom_called_different)
{
    struct pair p = {.state = 11};
    int false_ones = 0;
    for (int k = 0; k < 400; k++) {
        struct diff_interval m;
        const struct stepdiff_ask ask = groups(&p, 1, 1, 0, 0);
        stepdiff_medians(&ask, &m);
        false_ones += m.low > 0 || m.high < 0;
    }
    CHECK(false_ones <= 20);
}

TEST(the_spread_is_that_of_all_values)
{
    double v[] = {5, 1, 4, 2, 3};
    struct step_diff_spread s;
    step_spread_of(v, 5, &s);
    CHECK_INT(s.count, 5);
    CHECK(s.min_s == 1 && s.max_s == 5 && s.p50_s == 3 && s.mean_s == 3);
    NEAR(s.p90_s, 4.6, 1e-12);
    NEAR(s.stddev_s, sqrt(2), 1e-12);
    step_spread_of(v, 0, &s);
    CHECK(s.count == 0 && isnan(s.mean_s) && isnan(s.p50_s));
}
