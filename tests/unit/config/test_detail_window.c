/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "base/mem.h"
#include "config/detail_window.h"
#include "test.h"

/* The windows as text: what was read, printed. */
static const char *read_back(struct arena *a, const char *text, enum window_kinds kinds)
{
    struct window_list l = {0};
    struct buf b = {0};
    struct err e;
    if (window_list_parse(&l, text, kinds, false, &e) != 0)
        test_fail(__FILE__, __LINE__, "'%s': %s", text, e.msg);
    for (size_t i = 0; i < l.n; i++) {
        buf_printf(&b, "%s", i ? "," : "");
        window_print(&b, &l.v[i]);
    }
    const char *back = arena_strndup(a, (const char *)b.p, b.len);
    buf_free(&b);
    return back;
}

static const char *refusal(struct arena *a, const char *text, enum window_kinds kinds)
{
    struct window_list l = {.n = 1};
    struct err e;
    if (window_list_parse(&l, text, kinds, false, &e) != ERR_USAGE)
        test_fail(__FILE__, __LINE__, "'%s' was taken", text);
    CHECK_INT(l.n, 1);
    return arena_strdup(a, e.msg);
}

TEST(a_window_of_steps_has_a_start_and_a_count)
{
    struct window_list l = {0};
    struct err e;
    OK(window_list_parse(&l, "5:2", WINDOWS_OF_STEPS, false, &e));
    CHECK_INT(l.n, 1);
    CHECK_INT(l.v[0].start, START_STEP);
    CHECK_INT(l.v[0].at, 5);
    CHECK_INT(l.v[0].steps, 2);
    CHECK_INT(l.v[0].span_ns, 0);
}

TEST(a_window_of_time_has_a_start_since_the_job_began_and_a_length)
{
    struct window_list l = {0};
    struct err e;
    OK(window_list_parse(&l, "+60s:10s", WINDOWS_OF_TIMES, false, &e));
    CHECK_INT(l.v[0].start, START_AFTER);
    CHECK_INT(l.v[0].at, 60 * NS_PER_S);
    CHECK_INT(l.v[0].span_ns, 10 * NS_PER_S);
    CHECK_INT(l.v[0].steps, 0);
    CHECK(window_is_timed(&l.v[0]));
}

TEST(a_bare_number_is_a_step_or_a_time_as_the_list_says)
{
    struct window_list steps = {0}, times = {0};
    struct err e;
    OK(window_list_parse(&steps, "1700000000", WINDOWS_OF_STEPS, false, &e));
    CHECK_INT(steps.v[0].start, START_STEP);
    CHECK_INT(steps.v[0].at, 1700000000);
    OK(window_list_parse(&times, "1700000000.25:10s", WINDOWS_OF_TIMES, false, &e));
    CHECK_INT(times.v[0].start, START_WALL);
    CHECK_INT(times.v[0].at, 1700000000 * NS_PER_S + NS_PER_S / 4);
}

TEST(now_is_counted_in_steps_or_in_time_by_whether_there_is_a_unit)
{
    struct window_list l = {0};
    struct err e;
    OK(window_list_parse(&l, "now:3,now:3s,now", WINDOWS_OF_BOTH, false, &e));
    CHECK_INT(l.n, 3);
    CHECK_INT(l.v[0].steps, 3);
    CHECK(!window_is_timed(&l.v[0]));
    CHECK_INT(l.v[1].span_ns, 3 * NS_PER_S);
    CHECK_INT(l.v[1].steps, 0);
    CHECK(window_is_timed(&l.v[1]));
    CHECK_INT(l.v[2].steps, 1);
}

TEST(what_is_printed_reads_as_what_it_was)
{
    static const struct {
        const char *text, *back;
        enum window_kinds kinds;
    } rows[] = {
        {"5:2", "5:2", WINDOWS_OF_STEPS},
        {"5", "5:1", WINDOWS_OF_STEPS},
        {"0:1", "0:1", WINDOWS_OF_STEPS},
        {" 5:2 , 9:1 ", "5:2,9:1", WINDOWS_OF_STEPS},
        {"now:3", "now:3", WINDOWS_OF_STEPS},
        {"now:3s", "now:3s", WINDOWS_OF_TIMES},
        {"+60s", "+60s", WINDOWS_OF_TIMES},
        {"+1min:0.5s", "+60s:500ms", WINDOWS_OF_TIMES},
        {"+1.0005ms:10us", "+1001us:10us", WINDOWS_OF_TIMES},
        {"+0s:1h", "+0s:3600s", WINDOWS_OF_TIMES},
        {"1700000000:10s", "@1700000000:10s", WINDOWS_OF_TIMES},
        {"@1700000000.5", "@1700000000.5", WINDOWS_OF_TIMES},
        {"@1700000000.000000001:1s", "@1700000000.000000001:1s", WINDOWS_OF_BOTH},
    };
    struct arena a = {0};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CHECK_STR(read_back(&a, rows[i].text, rows[i].kinds), rows[i].back);
        CHECK_STR(read_back(&a, rows[i].back, rows[i].kinds), rows[i].back);
    }
    arena_free(&a);
}

TEST(a_wrong_window_is_refused_with_what_to_write)
{
    static const struct {
        const char *text;
        enum window_kinds kinds;
        const char *says;
    } rows[] = {
        {"", WINDOWS_OF_STEPS, "START:COUNT"},
        {"x", WINDOWS_OF_STEPS, "START:COUNT"},
        {"5:", WINDOWS_OF_BOTH, NULL}, /* as "5" */
        {":2", WINDOWS_OF_STEPS, "START:COUNT"},
        {"-1:2", WINDOWS_OF_STEPS, "START:COUNT"},
        {"5:0", WINDOWS_OF_STEPS, "from 1 to 1000000"},
        {"5:-1", WINDOWS_OF_STEPS, "from 1 to 1000000"},
        {"5:1000001", WINDOWS_OF_STEPS, "from 1 to 1000000"},
        {"1000000000001:1", WINDOWS_OF_STEPS, "from 0 to"},
        {"99999999999999999999999:1", WINDOWS_OF_STEPS, "from 0 to"},
        {"5:2:3", WINDOWS_OF_STEPS, "too long"},
        {"5:2s", WINDOWS_OF_STEPS, "from 1 to 1000000"},
        {"5:2,", WINDOWS_OF_STEPS, "START:COUNT"},
        {"5:2,x", WINDOWS_OF_STEPS, "START:COUNT"},
        {"+60s:10s", WINDOWS_OF_STEPS, "a time, not a step"},
        {"now:3s", WINDOWS_OF_STEPS, "a time, not a step"},
        {"now:0", WINDOWS_OF_STEPS, "from 1 to"},
        {"+60:10s", WINDOWS_OF_TIMES, "has no unit (example: 60s)"},
        {"+60s:10", WINDOWS_OF_TIMES, "has no unit (example: 10s)"},
        {"+60s:0s", WINDOWS_OF_TIMES, "not between"},
        {"+60s:25h", WINDOWS_OF_TIMES, "not between"},
        {"+60x:1s", WINDOWS_OF_TIMES, "not a duration"},
        {"60s:10s", WINDOWS_OF_TIMES, "examples: +60s"},
        {"now:3", WINDOWS_OF_TIMES, "now:10s"},
        {"5:10s", WINDOWS_OF_TIMES, "since the epoch"},
        {"@999999999:1s", WINDOWS_OF_TIMES, "since the epoch"},
        {"@9000000001:1s", WINDOWS_OF_TIMES, "since the epoch"},
        {"@1700000000.1234567890", WINDOWS_OF_TIMES, "since the epoch"},
        {"@1700000000.:1s", WINDOWS_OF_TIMES, NULL},
        {"@1700000000x", WINDOWS_OF_TIMES, "since the epoch"},
        {"1.7e9:1s", WINDOWS_OF_TIMES, "since the epoch"},
    };
    struct arena a = {0};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (!rows[i].says) {
            read_back(&a, rows[i].text, rows[i].kinds);
            continue;
        }
        const char *why = refusal(&a, rows[i].text, rows[i].kinds);
        if (!strstr(why, rows[i].says))
            test_fail(__FILE__, __LINE__, "'%s': %s", rows[i].text, why);
    }
    arena_free(&a);
}

TEST(more_windows_than_fit_are_refused_and_none_is_taken)
{
    struct window_list l = {0};
    struct buf b = {0};
    struct err e;
    for (int i = 0; i < WINDOWS_MOST; i++)
        buf_printf(&b, "%s%d:1", i ? "," : "", i);
    buf_u8(&b, 0);
    OK(window_list_parse(&l, (const char *)b.p, WINDOWS_OF_STEPS, false, &e));
    CHECK_INT(l.n, WINDOWS_MOST);
    CHECK_INT(window_list_parse(&l, "99:1", WINDOWS_OF_STEPS, false, &e), ERR_USAGE);
    CHECK_INT(l.n, WINDOWS_MOST);
    buf_free(&b);
}

TEST(a_python_window_says_its_profiler_and_timer)
{
    static const struct {
        const char *text, *back;
    } rows[] = {
        {"9:3", "9:3:cprofile:total_time"},
        {"9:3:cprofile", "9:3:cprofile:total_time"},
        {"9:3:cprofile:cpu_time", "9:3:cprofile:cpu_time"},
        {"9:3::off_cpu_time", "9:3:cprofile:off_cpu_time"},
        {"9:3:cprofile:default", "9:3:cprofile:default"},
        {"9:3:sampling", "9:3:sampling"},
        {"9:3:sampling:total_time", "9:3:sampling"},
        {"+60s::sampling", "+60s::sampling"},
        {"+60s:1s:cprofile", "+60s:1s:cprofile:total_time"},
        {"now:2:sampling", "now:2:sampling"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        for (int again = 0; again < 2; again++) {
            struct window_list l = {0};
            struct buf b = {0};
            struct err e;
            OK(window_list_parse(&l, again ? rows[i].back : rows[i].text, WINDOWS_OF_BOTH, true,
                                 &e));
            CHECK_INT(l.n, 1);
            python_window_print(&b, &l.v[0]);
            buf_u8(&b, 0);
            CHECK_STR((const char *)b.p, rows[i].back);
            buf_free(&b);
        }
    }
}

TEST(an_unknown_profiler_or_timer_is_named_with_what_may_be_meant)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"9:3:cprofil", "did you mean 'cprofile'"},
        {"9:3:perf", "use cprofile or sampling"},
        {"9:3:cprofile:cpu", "did you mean 'cpu_time'"},
        {"9:3:sampling:cpu_time", "sampling supports only"},
        {"9:3:cprofile:cpu_time:x", "too long"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct window_list l = {0};
        struct err e;
        CHECK_INT(window_list_parse(&l, rows[i].text, WINDOWS_OF_STEPS, true, &e), ERR_USAGE);
        if (!strstr(e.msg, rows[i].says))
            test_fail(__FILE__, __LINE__, "'%s': %s", rows[i].text, e.msg);
    }
}
