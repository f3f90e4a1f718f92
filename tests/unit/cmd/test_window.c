/* SPDX-License-Identifier: Apache-2.0 */
/* test_window.c - moments as users type them. */
#include <time.h>

#include "cmd/window.h"
#include "test.h"

static const wall_ns START = {1700000000 * NS_PER_S}, END = {1700000100 * NS_PER_S};

static int64_t moment(const char *text)
{
    struct err e = {0};
    wall_ns t = {0};
    OK(window_moment(text, START, END, &t, &e));
    return t.ns;
}

static int refused(const char *text)
{
    struct err e = {0};
    wall_ns t = {0};
    return window_moment(text, START, END, &t, &e);
}

TEST(plus_counts_from_the_start_and_minus_from_the_end)
{
    CHECK_INT(moment("+10s"), START.ns + 10 * NS_PER_S);
    CHECK_INT(moment("-30s"), END.ns - 30 * NS_PER_S);
    CHECK_INT(moment("+1min"), START.ns + 60 * NS_PER_S);
    CHECK_INT(moment("+250ms"), START.ns + 250 * NS_PER_MS);
}

TEST(digits_alone_are_nanoseconds_since_the_epoch)
{
    CHECK_INT(moment("1700000042123456789"), 1700000042123456789);
}

TEST(a_date_with_a_zone_is_that_moment)
{
    CHECK_INT(moment("2023-11-14T22:13:20Z"), START.ns);
    CHECK_INT(moment("2023-11-14t22:13:20z"), START.ns);
    CHECK_INT(moment("2023-11-15T00:13:20+02:00"), START.ns);
    CHECK_INT(moment("2023-11-14 22:13:20.125 +0000"), START.ns + 125 * NS_PER_MS);
    CHECK_INT(moment("2023-11-14T22:13:20.000000001Z"), START.ns + 1);
    CHECK_INT(moment("2023-11-14T17:13:20-05:00"), START.ns);
}

TEST(a_date_without_a_zone_is_local)
{
    setenv("TZ", "UTC-3", 1); /* three hours ahead of UTC */
    tzset();
    CHECK_INT(moment("2023-11-15T01:13:20"), START.ns);
    CHECK_INT(moment("2023-11-15 01:13"), START.ns - 20 * NS_PER_S);
}

TEST(what_is_no_moment_is_refused)
{
    static const char *const wrong[] = {
        "",
        "now",
        "+",
        "+10 parsecs",
        "12:00",
        "2023-11-14",
        "2023-13-14T00:00:00Z",
        "2023-02-31T00:00:00Z",
        "2023-11-14T25:00:00Z",
        "2023-11-14T22:13:20Zulu",
        "99999999999999999999",
        "9223372036854775807",
        "4611686018427387904",
        "9999-12-31T23:59:59Z",
        "+2000000h",
        "-2000000h",
        "2023-11-14T22:13:20.Z",
        "50%",
        "2023-11-14T22:13:20+99:00",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (refused(wrong[i]) != ERR_USAGE)
            test_fail(__FILE__, __LINE__, "'%s' was taken for a moment", wrong[i]);
}

TEST(a_window_that_ends_before_it_begins_is_refused)
{
    const struct run_info info = {.start = START, .end = END};
    const struct opt_value from = {.given = true, .text = "+50s"},
                           to = {.given = true, .text = "+10s"};
    wall_ns w[2];
    struct err e = {0};
    CHECK_INT(window_of(&from, &to, &info, w, &e), ERR_USAGE);
    CHECK_STR(e.msg, "--from +50s is not before --to +10s");
    OK(window_of(&to, &from, &info, w, &e));
    CHECK_INT(w[0].ns, START.ns + 10 * NS_PER_S);
    CHECK_INT(w[1].ns, START.ns + 50 * NS_PER_S);
}

TEST(a_side_that_is_not_given_stays_open)
{
    const struct run_info info = {.start = START, .end = END};
    const struct opt_value none = {0};
    wall_ns w[2] = {{1}, {1}};
    struct err e = {0};
    OK(window_of(&none, &none, &info, w, &e));
    CHECK_INT(w[0].ns, 0);
    CHECK_INT(w[1].ns, 0);
}
