/* SPDX-License-Identifier: Apache-2.0 */
/* test_proc_tally.c - accounts of children: nothing twice, nothing negative. */
#include "sample/proc_tally.h"
#include "test.h"

TEST(children_that_nobody_saw_count_when_they_are_waited_for)
{
    struct inherited_count h = {.last = 100};
    NEAR(inherited_growth(&h, 130), 30, 0);
    NEAR(inherited_growth(&h, 130), 0, 0);
}

TEST(a_child_that_was_watched_counts_only_for_what_was_not_seen)
{
    struct inherited_count h = {.last = 100};
    inherited_owe(&h, 50); /* seen with 50; it ended with 52 */
    NEAR(inherited_growth(&h, 152), 2, 0);
    NEAR(inherited_growth(&h, 160), 8, 0); /* the debt is paid */
}

TEST(a_child_whose_parent_does_not_wait_drops_out)
{
    struct inherited_count h = {.last = 100};
    inherited_owe(&h, 5000);
    NEAR(inherited_growth(&h, 100), 0, 0);
    NEAR(inherited_growth(&h, 110), 10, 0); /* later children are not eaten by its debt */
}

TEST(an_account_read_before_the_child_was_found_gone_is_corrected)
{
    struct inherited_count h = {0};
    double sum = inherited_growth(&h, 52); /* holds the child already */
    inherited_owe(&h, 50);                 /* found gone only now */
    sum += inherited_growth(&h, 52);
    NEAR(sum, 2, 0);
}

TEST(only_the_reading_before_can_be_corrected)
{
    struct inherited_count h = {0};
    inherited_growth(&h, 52);
    inherited_growth(&h, 52);
    inherited_owe(&h, 50);
    NEAR(inherited_growth(&h, 52), 0, 0);
}

TEST(what_comes_late_is_given_out_over_a_second_and_whole)
{
    struct late l = {.held = 1000};
    const double first = late_give(&l, 0, INFINITY, 100 * NS_PER_MS);
    NEAR(first, 100, 1e-9);
    double sum = first;
    for (int i = 0; i < 200; i++)
        sum += late_give(&l, 0, INFINITY, 100 * NS_PER_MS);
    NEAR(sum, 1000, 1e-3);
    l.held = 1000;
    NEAR(late_give(&l, 5, INFINITY, 2 * NS_PER_S), 1005, 0);
    NEAR(l.held, 0, 0);
}

TEST(what_comes_late_waits_when_it_would_be_more_than_the_machine_has)
{
    struct late l = {.held = 1000};
    NEAR(late_give(&l, 150, 200, NS_PER_S), 200, 1e-9);
    NEAR(late_give(&l, 0, 200, NS_PER_S), 200, 1e-9);
    NEAR(l.held, 750, 1e-9);
    NEAR(late_give(&l, 250, 200, NS_PER_S), 250, 1e-9); /* what is known is never cut */
    NEAR(l.held, 750, 1e-9);
}

TEST(a_shortage_is_never_negative_and_is_made_up_for)
{
    struct late l = {.held = -100};
    double sum = 0;
    for (int i = 0; i < 20; i++) {
        const double v = late_give(&l, 10, INFINITY, NS_PER_S);
        CHECK(v >= 0);
        sum += v;
    }
    NEAR(sum, 100, 1e-9); /* 200 less 100 */
}
