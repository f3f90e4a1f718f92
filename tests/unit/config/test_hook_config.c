/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/mem.h"
#include "config/settings.h"
#include "test.h"

static const struct clock_tie start = {.mono = {5000000000}, .wall = {1700000000 * NS_PER_S}};

static struct settings made(struct arena *a, const char *steps, const char *at, const char *python)
{
    const struct origin o = {FROM_OPTION, "x"};
    struct settings s;
    struct err e;
    settings_init(&s, a);
    if (steps)
        OK(settings_apply(&s, SETTING_DETAIL_STEPS, steps, &o, &e));
    if (at)
        OK(settings_apply(&s, SETTING_DETAIL_AT, at, &o, &e));
    if (python)
        OK(settings_apply(&s, SETTING_PYTHON_STEPS, python, &o, &e));
    return s;
}

static const char default_health[] =
    ",\"health\":{\"mode\":\"auto\",\"budget\":0.005,\"every\":50}}";

/* `want`: all but the settings of training health, which are those by default. */
static void check(const struct settings *s, uint64_t generation, const char *want)
{
    struct buf b = settings_hook_config(s, generation, start), whole = {0};
    buf_u8(&b, 0);
    buf_printf(&whole, "%.*s%s", (int)strlen(want) - 1, want, default_health);
    buf_u8(&whole, 0);
    CHECK_STR((const char *)b.p, (const char *)whole.p);
    buf_free(&b);
    buf_free(&whole);
}

TEST(without_windows_the_hooks_learn_the_start_and_that_there_are_none)
{
    struct arena a = {0};
    struct settings s = made(&a, NULL, NULL, NULL);
    check(&s, 1,
          "{\"version\":1,\"generation\":1,\"job_start_ns\":5000000000,\"detail\":[],"
          "\"python\":[]}");
    arena_free(&a);
}

TEST(every_kind_of_window_is_written_with_its_start_and_length)
{
    struct arena a = {0};
    struct settings s = made(&a, "5:2,now:3", "+60s:10s,+2s,1700000090.5:1s,now:4s", NULL);
    const struct origin o = {FROM_OPTION, "x"};
    struct err e;
    OK(settings_apply(&s, SETTING_DETAIL_RANKS, "0,1", &o, &e));
    check(&s, 7,
          "{\"version\":1,\"generation\":7,\"job_start_ns\":5000000000,\"detail\":["
          "{\"start_step\":5,\"steps\":2},{\"now\":true,\"steps\":3},"
          "{\"start_s\":60,\"seconds\":10},{\"start_s\":2,\"steps\":1},"
          "{\"start_s\":90.5,\"seconds\":1},{\"now\":true,\"seconds\":4}],"
          "\"detail_ranks\":[0,1],\"python\":[]}");
    arena_free(&a);
}

TEST(what_began_before_the_job_is_cut_and_what_was_over_is_left_out)
{
    struct arena a = {0};
    struct settings s =
        made(&a, NULL, "@1699999990:10s,@1699999990:14s,@1699999000,@1700000000:1s", NULL);
    const struct origin o = {FROM_OPTION, "x"};
    struct err e;
    OK(settings_apply(&s, SETTING_PYTHON_AT, "@1699999990:1s,@1699999990:13s:cprofile:default", &o,
                      &e));
    check(&s, 1,
          "{\"version\":1,\"generation\":1,\"job_start_ns\":5000000000,\"detail\":["
          "{\"start_s\":0,\"seconds\":4},{\"start_s\":0,\"steps\":1},"
          "{\"start_s\":0,\"seconds\":1}],\"python\":["
          "{\"start_s\":0,\"seconds\":1,\"profiler\":\"cprofile\",\"timer\":\"total_time\"},"
          "{\"start_s\":1,\"seconds\":1,\"profiler\":\"cprofile\",\"timer\":\"cpu_time\"},"
          "{\"start_s\":2,\"seconds\":1,\"profiler\":\"cprofile\",\"timer\":\"off_cpu_time\"}]}");
    arena_free(&a);
}

TEST(python_windows_have_a_profiler_and_one_timer)
{
    struct arena a = {0};
    struct settings s = made(&a, NULL, NULL, "9:3:cprofile:cpu_time,20:1:sampling");
    check(&s, 1,
          "{\"version\":1,\"generation\":1,\"job_start_ns\":5000000000,\"detail\":[],\"python\":["
          "{\"start_step\":9,\"steps\":3,\"profiler\":\"cprofile\",\"timer\":\"cpu_time\"},"
          "{\"start_step\":20,\"steps\":1,\"profiler\":\"sampling\",\"timer\":\"total_time\"}]}");
    arena_free(&a);
}

TEST(the_default_timer_is_a_third_of_the_steps_each)
{
    static const struct {
        const char *text;
        int64_t first[3], steps[3]; /* 0 steps: no such window */
    } rows[] = {
        {"9:3:cprofile:default", {9, 10, 11}, {1, 1, 1}},
        {"9:1:cprofile:default", {9}, {1}},
        {"9:2:cprofile:default", {9, 10}, {1, 1}},
        {"0:4:cprofile:default", {0, 2, 3}, {2, 1, 1}},
        {"0:5:cprofile:default", {0, 2, 4}, {2, 2, 1}},
        {"0:9:cprofile:default", {0, 3, 6}, {3, 3, 3}},
    };
    static const char *const timers[] = {"total_time", "cpu_time", "off_cpu_time"};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct arena a = {0};
        struct settings s = made(&a, NULL, NULL, rows[i].text);
        struct buf b = {0};
        buf_printf(&b, "{\"version\":1,\"generation\":1,\"job_start_ns\":5000000000,\"detail\":[],"
                       "\"python\":[");
        for (int k = 0; k < 3 && rows[i].steps[k]; k++)
            buf_printf(&b,
                       "%s{\"start_step\":%d,\"steps\":%d,\"profiler\":\"cprofile\",\"timer\":"
                       "\"%s\"}",
                       k ? "," : "", (int)rows[i].first[k], (int)rows[i].steps[k], timers[k]);
        buf_printf(&b, "]}");
        buf_u8(&b, 0);
        check(&s, 1, (const char *)b.p);
        buf_free(&b);
        arena_free(&a);
    }
}

TEST(the_default_timer_is_a_third_of_the_time_each)
{
    struct arena a = {0};
    struct settings s = made(&a, NULL, NULL, NULL);
    const struct origin o = {FROM_OPTION, "x"};
    struct err e;
    OK(settings_apply(&s, SETTING_PYTHON_AT, "+60s:9s:cprofile:default,+1s::cprofile:default", &o,
                      &e));
    check(&s, 1,
          "{\"version\":1,\"generation\":1,\"job_start_ns\":5000000000,\"detail\":[],\"python\":["
          "{\"start_s\":60,\"seconds\":3,\"profiler\":\"cprofile\",\"timer\":\"total_time\"},"
          "{\"start_s\":63,\"seconds\":3,\"profiler\":\"cprofile\",\"timer\":\"cpu_time\"},"
          "{\"start_s\":66,\"seconds\":3,\"profiler\":\"cprofile\",\"timer\":\"off_cpu_time\"},"
          "{\"start_s\":1,\"steps\":1,\"profiler\":\"cprofile\",\"timer\":\"total_time\"}]}");
    arena_free(&a);
}

TEST(a_window_that_begins_now_has_the_first_timer)
{
    struct arena a = {0};
    struct settings s = made(&a, NULL, NULL, "now:3:cprofile:default");
    check(&s, 1,
          "{\"version\":1,\"generation\":1,\"job_start_ns\":5000000000,\"detail\":[],\"python\":["
          "{\"now\":true,\"steps\":3,\"profiler\":\"cprofile\",\"timer\":\"total_time\"}]}");
    arena_free(&a);
}

/* -- while the run goes on -- */

TEST(what_set_takes_for_detail_is_windows_or_off)
{
    struct window_list l;
    struct err e;
    OK(settings_detail_parse("now:3", &l, &e));
    CHECK_INT(l.n, 1);
    CHECK_INT(l.v[0].start, START_NOW);
    OK(settings_detail_parse("+5s:2s,100:2", &l, &e));
    CHECK_INT(l.n, 2);
    OK(settings_detail_parse("off", &l, &e));
    CHECK_INT(l.n, 0);
    CHECK_INT(settings_detail_parse("", &l, &e), ERR_USAGE);
    CHECK_INT(settings_detail_parse("on", &l, &e), ERR_USAGE);
    CHECK_INT(settings_detail_parse("off,now:3", &l, &e), ERR_USAGE);
}

static void change(struct settings *s, const char *text, int64_t elapsed_s)
{
    struct window_list l;
    struct err e;
    OK(settings_detail_parse(text, &l, &e));
    OK(settings_detail_change(s, &l, start, mono_add(start.mono, elapsed_s * NS_PER_S), &e));
}

static const char *windows(struct arena *a, const struct settings *s)
{
    struct buf b = {0};
    for (size_t i = 0; i < s->detail.n; i++) {
        buf_printf(&b, "%s", i ? "," : "");
        window_print(&b, &s->detail.v[i]);
    }
    buf_u8(&b, 0);
    const char *text = arena_strdup(a, (const char *)b.p);
    buf_free(&b);
    return text;
}

TEST(a_change_counts_from_now_and_keeps_what_is_still_to_come)
{
    struct arena a = {0};
    struct settings s =
        made(&a, "5:2,now:1", "+10s:5s,+60s:10s,+20s,@1700000010,@1700000200", NULL);
    change(&s, "+5s:2s", 30);
    CHECK_STR(windows(&a, &s), "5:2,+60s:10s,@1700000200,+35s:2s");
    change(&s, "now:3", 66); /* in the middle of the second one: it goes on */
    CHECK_STR(windows(&a, &s), "5:2,+60s:10s,@1700000200,now:3");
    change(&s, "now:4,+1s:1s", 70);
    CHECK_STR(windows(&a, &s), "5:2,@1700000200,now:4,+71s:1s");
    arena_free(&a);
}

TEST(off_ends_all_detail)
{
    struct arena a = {0};
    struct settings s = made(&a, "5:2", "+60s:10s", NULL);
    change(&s, "off", 1);
    CHECK_INT(s.detail.n, 0);
    arena_free(&a);
}

TEST(a_change_does_not_begin_a_python_profile_again)
{
    struct arena a = {0};
    struct settings s = made(&a, NULL, NULL, "now:3,9:3");
    change(&s, "now:1", 1);
    CHECK_INT(s.python.n, 1);
    CHECK_INT(s.python.v[0].start, START_STEP);
    arena_free(&a);
}

TEST(more_windows_than_fit_change_nothing)
{
    struct arena a = {0};
    struct settings s = made(&a, "5:2", NULL, NULL);
    struct window_list l;
    struct err e;
    for (int i = 1; i < WINDOWS_MOST; i++)
        change(&s, "7:1", 1);
    CHECK_INT(s.detail.n, WINDOWS_MOST);
    OK(settings_detail_parse("now:3", &l, &e));
    CHECK_INT(settings_detail_change(&s, &l, start, start.mono, &e), ERR_USAGE);
    CHECK_INT(s.detail.n, WINDOWS_MOST);
    arena_free(&a);
}

/* Applies pairs of a setting and its text, up to SETTING_N. */
static struct settings with_health(struct arena *a, const enum setting_id *ids,
                                   const char *const *texts)
{
    const struct origin o = {FROM_OPTION, "x"};
    struct settings s;
    struct err e;
    settings_init(&s, a);
    for (size_t i = 0; ids[i] != SETTING_N; i++)
        OK(settings_apply(&s, ids[i], texts[i], &o, &e));
    return s;
}

TEST(the_settings_of_training_health_reach_the_hooks)
{
    struct arena a = {0};
    const enum setting_id ids[] = {SETTING_HEALTH,
                                   SETTING_HEALTH_BUDGET,
                                   SETTING_HEALTH_EVERY,
                                   SETTING_HEALTH_INCLUDE,
                                   SETTING_HEALTH_INCLUDE,
                                   SETTING_HEALTH_EXCLUDE,
                                   SETTING_HEALTH_COLLECTIONS,
                                   SETTING_N};
    const char *const texts[] = {
        "on", "2 %", "10", "layer[0-9]{1,2}", "head$", "bias\"x", "gradients,mine=fc"};
    struct settings s = with_health(&a, ids, texts);
    struct buf b = settings_hook_config(&s, 1, start);
    buf_u8(&b, 0);
    CHECK_STR(strstr((const char *)b.p, "\"health\""),
              "\"health\":{\"mode\":\"on\",\"budget\":0.02,\"every\":10,"
              "\"include\":[\"layer[0-9]{1,2}\",\"head$\"],\"exclude\":[\"bias\\\"x\"],"
              "\"collections\":[\"gradients\",\"mine=fc\"]}}");
    buf_free(&b);
    arena_free(&a);
}

TEST(wrong_settings_of_training_health_are_refused_with_what_to_write)
{
    static const struct {
        enum setting_id id;
        const char *text, *part;
    } wrong[] = {
        {SETTING_HEALTH, "maybe", "auto, on or off"}, {SETTING_HEALTH_BUDGET, "0", "0.5%"},
        {SETTING_HEALTH_BUDGET, "101", "0.5%"},       {SETTING_HEALTH_BUDGET, "nan", "0.5%"},
        {SETTING_HEALTH_EVERY, "0", "1 or more"},     {SETTING_HEALTH_EVERY, "-3", "1 or more"},
        {SETTING_HEALTH_EVERY, "", "1 or more"},
    };
    const struct origin o = {FROM_OPTION, "x"};
    struct arena a = {0};
    struct settings s;
    struct err e;
    settings_init(&s, &a);
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        CHECK(settings_apply(&s, wrong[i].id, wrong[i].text, &o, &e) != 0);
        CHECK(strstr(e.msg, wrong[i].part) != NULL);
    }
    arena_free(&a);
}

TEST(tensors_that_are_to_be_saved_are_written_with_their_steps_limit_and_ranks)
{
    struct arena a = {0};
    struct settings s = made(&a, NULL, NULL, NULL);
    const struct origin o = {FROM_OPTION, "x"};
    struct err e;
    OK(settings_apply(&s, SETTING_SAVE_TENSORS, "layer4.*", &o, &e));
    struct buf b = settings_hook_config(&s, 1, start);
    buf_u8(&b, 0);
    CHECK(strstr((const char *)b.p,
                 "\"save\":{\"tensors\":[\"layer4.*\"],\"steps\":[{\"start\":0,\"count\":1}],"
                 "\"limit\":67108864,\"ranks\":[0]}"));
    buf_free(&b);
    OK(settings_apply(&s, SETTING_SAVE_STEPS, "100:3", &o, &e));
    OK(settings_apply(&s, SETTING_SAVE_LIMIT, "2MiB", &o, &e));
    OK(settings_apply(&s, SETTING_SAVE_RANKS, "all", &o, &e));
    b = settings_hook_config(&s, 1, start);
    buf_u8(&b, 0);
    CHECK(strstr((const char *)b.p, "\"steps\":[{\"start\":100,\"count\":3}],\"limit\":2097152}"));
    buf_free(&b);
    CHECK_INT(settings_apply(&s, SETTING_SAVE_STEPS, "now:3", &o, &e), ERR_USAGE);
    CHECK_INT(settings_apply(&s, SETTING_SAVE_STEPS, "+5s:1s", &o, &e), ERR_USAGE);
    CHECK_INT(settings_apply(&s, SETTING_SAVE_LIMIT, "much", &o, &e), ERR_USAGE);
    arena_free(&a);
}
