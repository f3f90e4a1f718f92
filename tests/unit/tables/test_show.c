/* SPDX-License-Identifier: Apache-2.0 */
/* The first page about a run, its statistics, and what a query matches. */
#include <math.h>
#include <string.h>

#include "query/runkit.h"
#include "tables/show.h"
#include "tables/statview.h"
#include "test.h"

/* 10 s of CPU use, 0 to 90 % in steps of 10, on node a; node b has no readings. */
static const char *make_run(void)
{
    const char *path = kit_run("r", "r", "r", KIT_START);
    struct buf payload = {0}, none = {0};
    kit_group(&payload, 0, "g", NS_PER_S, 0);
    kit_slot(&payload, 0, 0, "cpu.util", "%", "total", 1);
    for (int i = 0; i < 10; i++) {
        kit_row(&payload, 0, 0);
        kit_cell(&payload, i ? 10 : 0);
    }
    kit_node(path, "a", 1,
             "{\"id\": \"a\", \"status\": \"finished\", \"interval_ns\": 1000000000}");
    kit_metrics(path, "a", &payload);
    kit_node(path, "b", 1,
             "{\"id\": \"b\", \"status\": \"finished\", \"interval_ns\": 1000000000}");
    kit_loss(&none, "not-supported", 1, "cpu", "no /proc");
    kit_metrics(path, "b", &none);
    buf_free(&payload);
    buf_free(&none);
    return path;
}

static struct run *open_run(void)
{
    struct run *r;
    struct err e;
    OK(run_open(&r, make_run(), &e));
    return r;
}

static const struct stat_line *line_of(const struct statview *v, const char *node,
                                       const char *metric)
{
    for (size_t i = 0; i < v->n; i++)
        if (strcmp(v->v[i].node, node) == 0 && strcmp(v->v[i].metric, metric) == 0)
            return &v->v[i];
    return NULL;
}

TEST(the_summary_of_a_node_has_its_quantiles_or_the_reason_why_not)
{
    struct arena a = {0};
    struct statview v;
    struct err e;
    struct run *r = open_run();
    OK(statview_read(&v, r, &(struct series_ask){0}, false, &a, &e));
    CHECK_STR(v.window, "job");
    const struct stat_line *x = line_of(&v, "a", "cpu"), *y = line_of(&v, "b", "cpu");
    CHECK(x && y);
    NEAR(x->s->min, 0, 0);
    NEAR(x->s->max, 90, 0);
    CHECK(x->why == NULL);
    CHECK_INT(y->s->count, 0);
    CHECK(isnan(y->s->p50));
    CHECK_STR(y->why, "no /proc");
    run_close(r);
    arena_free(&a);
}

TEST(statistics_of_a_window_count_only_its_readings)
{
    struct arena a = {0};
    struct statview v;
    struct err e;
    struct run *r = open_run();
    const struct series_ask ask = {.node = "a", .to = {KIT_START + 3 * NS_PER_S}};
    OK(statview_read(&v, r, &ask, true, &a, &e));
    CHECK_STR(v.window, "given");
    CHECK_INT(v.n, 1);
    CHECK(v.v[0].s->max < 50);
    run_close(r);
    arena_free(&a);
}

TEST(statistics_of_a_node_that_does_not_exist_are_refused)
{
    struct arena a = {0};
    struct statview v;
    struct err e;
    struct run *r = open_run();
    CHECK_INT(statview_read(&v, r, &(struct series_ask){.node = "c"}, false, &a, &e),
              ERR_NOT_FOUND);
    CHECK(strstr(e.msg, "has no node 'c'"));
    run_close(r);
    arena_free(&a);
}

TEST(a_run_without_steps_has_no_percentages_of_phases)
{
    struct arena a = {0};
    struct show s;
    struct err e;
    double pct[PHASE_N];
    struct run *r = open_run();
    OK(show_read(&s, r, &a, &e));
    CHECK(s.no_steps != NULL);
    show_percents(&s, pct);
    CHECK(isnan(pct[PHASE_TRAIN]));
    run_close(r);
    arena_free(&a);
}

TEST(the_percentage_of_the_loop_is_a_sum_of_tenths)
{
    double pct[PHASE_N] = {0};
    pct[PHASE_TRAIN] = 50.3;
    pct[PHASE_EVAL] = 1.8;
    CHECK(show_loop_percent(pct) == 52.1);
}

/* ---- queries ---- */

/* The code of the query, and its message in *out. */
static int check_query(struct run *r, const struct series_ask *ask, struct err *out)
{
    struct arena a = {0};
    struct keys all;
    struct err e;
    OK(series_list(r, &a, &all.v, &all.n, &e));
    const int rc = series_ask_check(r, ask, &all, out);
    arena_free(&a);
    return rc;
}

TEST(a_query_without_a_match_names_the_part_that_is_wrong)
{
    struct err e;
    struct run *r = open_run();
    CHECK_INT(
        check_query(r, &(struct series_ask){.metric = "cpu.util", .entity = "total", .node = "a"},
                    &e),
        0);
    CHECK_INT(check_query(r, &(struct series_ask){.metric = "cpu."}, &e), 0);
    CHECK_INT(check_query(r, &(struct series_ask){.metric = "cpu.util", .entity = "cpu7"}, &e),
              ERR_NOT_FOUND);
    CHECK_STR(e.msg, "cpu.util has no entity 'cpu7'; available: total");
    CHECK_INT(check_query(r, &(struct series_ask){.metric = "cpu.util", .node = "z"}, &e),
              ERR_NOT_FOUND);
    CHECK_STR(e.msg, "cpu.util has no node 'z'; available: a");
    CHECK_INT(check_query(r, &(struct series_ask){.metric = "cpu.utli"}, &e), ERR_NOT_FOUND);
    CHECK(strstr(e.msg, "did you mean 'cpu.util'?"));
    CHECK_INT(check_query(r, &(struct series_ask){.metric = "mem.util"}, &e), ERR_NOT_FOUND);
    CHECK_STR(e.msg, "mem.util was not measured: no readings were recorded");
    run_close(r);
}

TEST(a_series_as_json_has_time_value_minimum_and_maximum)
{
    struct buf out = {0};
    struct jw j = {.out = &out};
    wall_ns t[] = {{5}, {9}};
    double v[] = {1, NAN}, min[] = {0, NAN}, max[] = {2, NAN};
    const struct series s = {.key = {.node = "n", .metric = "m", .entity = "e", .unit = "%"},
                             .n = 2,
                             .t = t,
                             .v = v,
                             .min = min,
                             .max = max};
    series_json(&j, &s, NULL);
    buf_u8(&out, 0);
    CHECK_STR((const char *)out.p,
              "{\"node\":\"n\",\"metric\":\"m\",\"entity\":\"e\",\"unit\":\"%\","
              "\"t_ns\":[5,9],\"v\":[1,null],\"min\":[0,null],\"max\":[2,null]}");
    buf_free(&out);
}
