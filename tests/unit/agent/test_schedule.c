/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/lane.h"
#include "test.h"

static mono_ns ms(int64_t v)
{
    return (mono_ns){v * NS_PER_MS};
}

static struct schedule fast_and_slow(int64_t interval_ms)
{
    struct schedule s;
    s = (struct schedule){.interval_ns = interval_ms * NS_PER_MS};
    schedule_add(&s, 0, ms(1000));
    schedule_add(&s, 100 * NS_PER_MS, ms(1000));
    return s;
}

TEST(an_empty_schedule_never_wakes)
{
    struct schedule s;
    s = (struct schedule){.interval_ns = NS_PER_S};
    CHECK_INT(schedule_next(&s).ns, SCHEDULE_NEVER);
    CHECK_INT(schedule_take(&s, ms(5)).mask, 0);
}

TEST(a_probe_is_read_at_the_interval_but_never_faster_than_its_minimum)
{
    struct schedule s = fast_and_slow(10);
    unsigned fast = 0, slow = 0;
    for (int i = 0; i < 101; i++) {
        const struct schedule_due d = schedule_take(&s, schedule_next(&s));
        fast += d.mask & 1;
        slow += d.mask >> 1 & 1;
        CHECK_INT(d.missed, 0);
        CHECK_INT(d.late_ns, 0);
    }
    CHECK_INT(fast, 101);
    CHECK_INT(slow, 11);
}

TEST(a_minimum_that_is_no_multiple_is_rounded_up_to_the_grid)
{
    CHECK_INT(schedule_period(30 * NS_PER_MS, 100 * NS_PER_MS), 120 * NS_PER_MS);
    CHECK_INT(schedule_period(100 * NS_PER_MS, 100 * NS_PER_MS), 100 * NS_PER_MS);
    CHECK_INT(schedule_period(500 * NS_PER_MS, 100 * NS_PER_MS), 500 * NS_PER_MS);
    CHECK_INT(schedule_period(60 * NS_PER_S, NS_PER_S), 60 * NS_PER_S);
}

TEST(a_late_wake_up_keeps_the_grid_and_skips_nothing_within_one_period)
{
    struct schedule s = fast_and_slow(100);
    schedule_take(&s, ms(1000));
    const struct schedule_due d = schedule_take(&s, ms(1199));
    CHECK_INT(d.mask, 3);
    CHECK_INT(d.missed, 0);
    CHECK_INT(d.late_ns, 99 * NS_PER_MS);
    CHECK_INT(schedule_next(&s).ns, ms(1200).ns);
}

TEST(points_passed_while_asleep_are_counted_once_and_read_once)
{
    struct schedule s = fast_and_slow(10);
    schedule_take(&s, ms(1000));
    const struct schedule_due d = schedule_take(&s, ms(1255));
    CHECK_INT(d.mask, 3);
    CHECK_INT(d.missed, 24); /* 1010 .. 1250 are 25 points, one of which is read now */
    CHECK_INT(schedule_next(&s).ns, ms(1260).ns);
    CHECK_INT(schedule_take(&s, ms(1255)).mask, 0);
    CHECK_INT(schedule_take(&s, ms(1260)).mask, 1);
}

TEST(a_new_interval_starts_a_new_grid_at_once)
{
    struct schedule s = fast_and_slow(60000);
    schedule_take(&s, ms(1000));
    schedule_set_interval(&s, ms(1500), 20 * NS_PER_MS);
    CHECK_INT(schedule_next(&s).ns, ms(1520).ns);
    CHECK_INT(s.item[1].next.ns, ms(1600).ns);
    CHECK_INT(schedule_take(&s, ms(1520)).mask, 1);
}

TEST(a_pause_is_not_counted_as_missed)
{
    struct schedule s = fast_and_slow(10);
    schedule_take(&s, ms(1000));
    schedule_restart(&s, ms(90000));
    const struct schedule_due d = schedule_take(&s, ms(90000));
    CHECK_INT(d.mask, 3);
    CHECK_INT(d.missed, 0);
    CHECK_INT(schedule_next(&s).ns, ms(90010).ns);
}
