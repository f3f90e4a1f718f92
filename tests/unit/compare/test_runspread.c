/* SPDX-License-Identifier: Apache-2.0 */
/* How much runs of the same code differ, and which runs are of the same code. */
#include "compare/compare.h"
#include "test.h"

TEST(without_other_runs_two_of_the_same_code_may_differ_by_fifteen_percent)
{
    struct run_spread s;
    runspread_from(NULL, 0, 0.95, &s);
    CHECK_INT(s.runs, 0);
    NEAR(s.reach, 0.15, 0.001);
    runspread_from(NULL, 0, 0.99, &s);
    CHECK(s.reach > 0.19);
}

TEST(the_spread_is_learnt_from_three_runs_of_a_code)
{
    static const double three[] = {1.00, 1.02, 0.98};
    struct run_spread s;
    runspread_from(&(struct spread_group){three, 3}, 1, 0.95, &s);
    CHECK_INT(s.runs, 3);
    NEAR(s.sd, 0.02, 0.0005);
    NEAR(s.reach, 1.08 * 4.303 * 1.4142 * 0.02, 0.002); /* two degrees of freedom */
}

TEST(runs_of_both_codes_count_around_their_own_means)
{
    static const double of_a[] = {1.00, 1.02, 0.98}, of_b[] = {3.00, 3.06, 2.94};
    const struct spread_group groups[] = {{of_a, 3}, {of_b, 3}};
    struct run_spread s;
    runspread_from(groups, 2, 0.95, &s);
    CHECK_INT(s.runs, 6);
    NEAR(s.sd, 0.02, 0.0005);
    CHECK(s.reach < 0.09); /* four degrees of freedom know more than two */
}

TEST(two_runs_are_too_few_to_learn_from)
{
    static const double two[] = {1.000, 1.001};
    struct run_spread s;
    runspread_from(&(struct spread_group){two, 2}, 1, 0.95, &s);
    CHECK_INT(s.runs, 0);
    NEAR(s.reach, 0.15, 0.001);
}

TEST(runs_that_agree_by_chance_still_leave_one_percent)
{
    static const double three[] = {1.0, 1.0, 1.0};
    struct run_spread s;
    runspread_from(&(struct spread_group){three, 3}, 1, 0.95, &s);
    CHECK_INT(s.runs, 3);
    CHECK(s.reach == 0.01);
}

TEST(an_interval_of_steps_is_widened_by_the_spread_of_runs)
{
    const struct diff_interval sure = {0.10, 0.10, 0.10}, w = runspread_widen(sure, 0.15);
    NEAR(w.at, 0.10, 1e-12);
    NEAR(w.low, 1.1 * exp(-0.15) - 1, 1e-12);
    NEAR(w.high, 1.1 * exp(0.15) - 1, 1e-12);
    const struct diff_interval none = {NAN, NAN, NAN};
    CHECK(isnan(runspread_widen(none, 0.15).low));
}

TEST(runs_are_of_the_same_code_when_name_command_commit_and_machine_are_the_same)
{
    const char *train[] = {"python", "train.py", NULL},
               *more[] = {"python", "train.py", "--fast", NULL};
    struct node_gpu h200 = {.name = "H200"}, h100 = {.name = "H100"};
    struct node_info node = {.cores = 16, .gpus = &h200, .n_gpus = 1}, other = node;
    struct run_info a = {
        .name = "x", .command = train, .git_commit = "abc", .nodes = &node, .n_nodes = 1};
    struct run_info b = a;
    other.gpus = &h100;
    CHECK(runspread_same_code(&a, &b));
    b.git_commit = "";
    CHECK(runspread_same_code(&a, &b)); /* not known */
    b.git_commit = "def";
    CHECK(!runspread_same_code(&a, &b));
    b = a;
    b.command = more;
    CHECK(!runspread_same_code(&a, &b) && !runspread_same_code(&b, &a));
    b = a;
    b.name = "y";
    CHECK(!runspread_same_code(&a, &b));
    b = a;
    b.nodes = &other;
    CHECK(!runspread_same_code(&a, &b));
}
