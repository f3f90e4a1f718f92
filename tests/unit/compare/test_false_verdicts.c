/* SPDX-License-Identifier: Apache-2.0 */
/* A thousand pairs of runs that do not differ, of each kind: at most 5 % may be called different at
 * 95 %. And what does differ is found. */
#include "compare/stepdiff.h"
#include "test.h"
#include "walks.h"

enum { PAIRS = 1000, STEPS_MOST = 450 };

struct tried {
    int slower, faster;
};

/* Pairs of one kind, B `more` times as long as A; lengths as they come, or all of one. */
static struct tried try_pairs(enum walk kind, int pairs, size_t steps, double more)
{
    static const size_t lengths[] = {12, 20, 45, 90, 180, STEPS_MOST};
    double a[STEPS_MOST], b[STEPS_MOST];
    const double *const runs[2] = {a, b};
    uint64_t state = 20261115 + (uint64_t)kind;
    struct tried out = {0};
    for (int k = 0; k < pairs; k++) {
        const size_t n = steps ? steps : lengths[(size_t)k % (sizeof lengths / sizeof *lengths)];
        struct stepdiff d;
        walk_fill(kind, 0.05, a, n, &state);
        walk_fill(kind, 0.05, b, n, &state);
        for (size_t i = 0; i < n; i++)
            b[i] *= 1 + more;
        stepdiff_means(
            &(struct stepdiff_ask){
                .a = {&runs[0], 1}, .b = {&runs[1], 1}, .steps = n, .confidence = 0.95, .seed = 1},
            &d);
        out.slower += d.share.low > 0;
        out.faster += d.share.high < 0;
    }
    return out;
}

static void at_most_five_percent(enum walk kind)
{
    const struct tried t = try_pairs(kind, PAIRS, 0, 0);
    printf("%s: %d of %d called slower, %d faster\n", walk_names[kind], t.slower, PAIRS, t.faster);
    CHECK(t.slower + t.faster <= PAIRS / 20);
}

TEST(equal_runs_with_independent_steps_are_seldom_called_different)
{
    at_most_five_percent(WALK_PLAIN);
}

TEST(equal_runs_whose_steps_hang_together_are_seldom_called_different)
{
    at_most_five_percent(WALK_AR5);
    at_most_five_percent(WALK_AR9);
    at_most_five_percent(WALK_AR8_HEAVY);
}

TEST(equal_runs_with_heavy_tails_are_seldom_called_different)
{
    at_most_five_percent(WALK_LOGNORMAL);
    at_most_five_percent(WALK_PARETO);
    at_most_five_percent(WALK_STALLS);
}

TEST(equal_runs_that_drift_are_seldom_called_different)
{
    at_most_five_percent(WALK_DRIFT);
}

TEST(equal_runs_whose_host_runs_ahead_of_the_gpu_are_seldom_called_different)
{
    at_most_five_percent(WALK_BURSTS);
}

/* The spread of one step is 5 % throughout. */
TEST(a_difference_of_two_percent_is_found_in_a_few_hundred_steps)
{
    CHECK(try_pairs(WALK_PLAIN, 200, 450, 0.02).slower >= 190);
    CHECK(try_pairs(WALK_DRIFT, 200, 450, 0.02).slower >= 190);
    CHECK(try_pairs(WALK_LOGNORMAL, 200, 450, 0.02).slower >= 180);
    CHECK(try_pairs(WALK_AR5, 200, 450, 0.02).slower >= 150);
}

TEST(a_difference_of_five_percent_is_found_in_a_hundred_steps)
{
    CHECK(try_pairs(WALK_PLAIN, 200, 90, 0.05).slower >= 190);
    CHECK(try_pairs(WALK_PLAIN, 200, 90, -0.05).faster >= 190);
    CHECK(try_pairs(WALK_AR5, 200, 90, 0.05).slower >= 120);
    CHECK(try_pairs(WALK_AR9, 200, 450, 0.10).slower >= 170);
}
