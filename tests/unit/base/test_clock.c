/* SPDX-License-Identifier: Apache-2.0 */
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "test.h"

TEST(a_tie_lies_between_readings_of_both_clocks)
{
    const mono_ns m0 = clock_mono();
    const wall_ns w0 = clock_wall();
    const struct clock_tie tie = clock_tie_now();
    CHECK(tie.mono.ns >= m0.ns && tie.mono.ns <= clock_mono().ns);
    CHECK(tie.wall.ns >= w0.ns && tie.wall.ns <= clock_wall().ns);
}

TEST(the_monotonic_clock_does_not_run_backwards)
{
    mono_ns last = clock_mono();
    for (int i = 0; i < 100000; i++) {
        const mono_ns now = clock_mono();
        CHECK(mono_diff(now, last) >= 0);
        last = now;
    }
}

TEST(wall_time_is_written_in_the_local_zone)
{
    char buf[64];
    setenv("TZ", "UTC", 1);
    tzset();
    CHECK_STR(wall_text((wall_ns){1794734562125 * NS_PER_MS}, buf, sizeof buf),
              "2026-11-15 09:22:42.125 +0000");
    CHECK_STR(wall_text((wall_ns){0}, buf, sizeof buf), "1970-01-01 00:00:00.000 +0000");
    /* As a double, which is what a page reads, it is the whole second. */
    CHECK_STR(wall_text((wall_ns){1767225619999999900}, buf, sizeof buf),
              "2026-01-01 00:00:20.000 +0000");
    CHECK_STR(wall_text((wall_ns){1767225619999999400}, buf, sizeof buf),
              "2026-01-01 00:00:19.999 +0000");
    setenv("TZ", "<+0530>-5:30", 1);
    tzset();
    CHECK_STR(wall_text((wall_ns){0}, buf, sizeof buf), "1970-01-01 05:30:00.000 +0530");
}

TEST(a_zone_is_left_out_beside_a_time_that_shows_the_same_one)
{
    char buf[64];
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
    const wall_ns winter = {1767225600 * NS_PER_S}, summer = {1782864000 * NS_PER_S};
    CHECK_STR(wall_text_beside(winter, (wall_ns){winter.ns + NS_PER_S}, buf, sizeof buf),
              "2026-01-01 01:00:00.000");
    CHECK_STR(wall_text_beside(summer, winter, buf, sizeof buf), "2026-07-01 02:00:00.000 +0200");
}

TEST(time_before_the_epoch_counts_its_fraction_forward)
{
    char buf[64];
    setenv("TZ", "UTC", 1);
    tzset();
    CHECK_STR(wall_text((wall_ns){-1 * NS_PER_MS}, buf, sizeof buf),
              "1969-12-31 23:59:59.999 +0000");
    wall_text((wall_ns){INT64_MIN}, buf, sizeof buf);
    CHECK(strncmp(buf, "1677-", 5) == 0);
    wall_text((wall_ns){INT64_MAX}, buf, sizeof buf);
    CHECK(strncmp(buf, "2262-", 5) == 0);
}

TEST(durations_read_as_people_say_them)
{
    static const struct {
        double seconds;
        const char *text;
    } rows[] = {
        {0, "0 ms"},          {0.35, "350 ms"},       {12.4, "12.4 s"},
        {119.9, "119.9 s"},   {125, "2 min 05 s"},    {3599.9, "59 min 59 s"},
        {7200, "2 h 00 min"}, {90061, "25 h 01 min"}, {NAN, "?"},
        {INFINITY, "?"},      {-0.25, "-250 ms"},     {-12.4, "-12.4 s"},
        {0.9999, "1.0 s"},    {-130, "-2 min 10 s"},  {-7380, "-2 h 03 min"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char buf[64];
        CHECK_STR(duration_text(rows[i].seconds, buf, sizeof buf), rows[i].text);
    }
}

TEST(a_short_buffer_is_never_overrun)
{
    char buf[8] = "1234567";
    CHECK(strlen(duration_text(90061, buf, 5)) < 5);
    CHECK(strlen(wall_text((wall_ns){0}, buf, 4)) < 4);
    CHECK_STR(buf + 5, "67");
}
