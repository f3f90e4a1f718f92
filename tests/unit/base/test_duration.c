/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/mem.h"
#include "test.h"

TEST(durations_are_read_in_every_unit)
{
    static const struct {
        const char *text;
        int64_t ns;
    } rows[] = {
        {"100ms", 100 * NS_PER_MS}, {"0.5s", 500 * NS_PER_MS},
        {"1min", 60 * NS_PER_S},    {"500", 500 * NS_PER_MS},
        {"250us", 250000},          {"1h", 3600 * NS_PER_S},
        {"1.25 s", 1250000000},     {".5s", 500 * NS_PER_MS},
        {"60000", 60 * NS_PER_S},   {"0", 0},
        {"0.01s", 10 * NS_PER_MS},
    };
    struct err e;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t ns = -1;
        OK(duration_parse(rows[i].text, &ns, &e));
        CHECK_INT(ns, rows[i].ns);
    }
}

TEST(what_is_no_duration_is_refused_and_leaves_the_result_alone)
{
    static const char *const rows[] = {
        "",           "ms",
        "-1s",        "1e3ms",
        "inf",        "nan",
        "0x10",       "1 0s",
        "1s ",        "1.2.3s",
        "10 parsecs", "1s2s",
        ".",          "99999999999999999999h",
        "1,5s",       "11111111111111111111111111111111111111111111111111111111111",
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err e = {0};
        int64_t ns = 7;
        if (duration_parse(rows[i], &ns, &e) != ERR_USAGE)
            test_fail(__FILE__, __LINE__, "'%s' was taken as a duration", rows[i]);
        CHECK_INT(ns, 7);
    }
}

TEST(a_duration_outside_its_bounds_names_the_bounds)
{
    struct err e = {0};
    int64_t ns = 7;
    CHECK_INT(duration_parse_within("interval", "9ms", 10 * NS_PER_MS, 60 * NS_PER_S, &ns, &e),
              ERR_USAGE);
    CHECK_INT(ns, 7);
    CHECK_STR(e.msg, "interval: '9ms' is not between 10 ms and 60.0 s");
    CHECK_INT(duration_parse_within("interval", "61s", 10 * NS_PER_MS, 60 * NS_PER_S, &ns, &e),
              ERR_USAGE);
    OK(duration_parse_within("interval", "10ms", 10 * NS_PER_MS, 60 * NS_PER_S, &ns, &e));
    CHECK_INT(ns, 10 * NS_PER_MS);
    OK(duration_parse_within("interval", "1min", 10 * NS_PER_MS, 60 * NS_PER_S, &ns, &e));
    CHECK_INT(ns, 60 * NS_PER_S);
}
