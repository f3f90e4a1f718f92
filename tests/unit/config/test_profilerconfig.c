/* SPDX-License-Identifier: Apache-2.0 */
/* Every oddity of SageMaker's profilerconfig.json, row by row. */
#include "base/mem.h"
#include "config/profilerconfig.h"
#include "config/settings.h"
#include "test.h"

struct parsed {
    struct arena arena;
    struct remarks problems;
    struct profilerconfig c;
    int rc;
    struct err e;
};

static void parsed_end(struct parsed *p)
{
    arena_free(&p->arena);
}

#define PARSED(p) struct parsed p __attribute__((cleanup(parsed_end))) = {0}

static void parse(struct parsed *p, const char *text)
{
    parsed_end(p);
    *p = (struct parsed){0};
    p->problems.arena = &p->arena;
    p->rc = profilerconfig_parse(text, strlen(text), &p->c, &p->problems, &p->e);
}

/* {"ProfilingParameters": {<part>: <value>}} with the value as it stands. */
static void parse_part(struct parsed *p, enum sm_part part, const char *value)
{
    struct buf b = {0};
    buf_printf(&b, "{\"ProfilingParameters\": {\"%s\": %s}}", sm_part_names[part], value);
    buf_u8(&b, 0);
    parse(p, (const char *)b.p);
    if (p->rc != 0)
        test_fail(__FILE__, __LINE__, "%s: %s", value, p->e.msg);
    buf_free(&b);
}

/* "off", "never", or the window. */
static const char *range_text(const struct sm_range *r, struct buf *b)
{
    b->len = 0;
    if (!r->enabled)
        return "off";
    if (!r->fires)
        return "never";
    window_print(b, &r->window);
    buf_u8(b, 0);
    return (const char *)b->p;
}

struct range_row {
    const char *dict; /* the part as a Python dict */
    const char *want;
    const char *says; /* NULL: nothing wrong */
};

static const struct range_row range_rows[] = {
    /* The table of ranges. */
    {"{'StartStep': 5, 'NumSteps': 2}", "5:2", NULL},
    {"{'StartStep': 5}", "5:1", NULL},
    {"{'NumSteps': 3}", "now:3", NULL},
    {"{'StartTimeInSecSinceEpoch': 1700000000, 'DurationInSeconds': 10}", "@1700000000:10s", NULL},
    {"{'StartTimeInSecSinceEpoch': 1700000000}", "@1700000000", NULL},
    {"{'DurationInSeconds': 10}", "now:10s", NULL},
    {"{'StartStep': 5, 'DurationInSeconds': 10}", "off", "both steps and times"},
    {"{'NumSteps': 5, 'StartTimeInSecSinceEpoch': 1700000000}", "off", "both steps and times"},
    {"{'ProfilerName': 'cprofile'}", "never", NULL},
    {"{}", "off", NULL},
    /* Step 0 is a step. */
    {"{'StartStep': 0}", "0:1", NULL},
    {"{'StartStep': 0, 'NumSteps': 4}", "0:4", NULL},
    {"{'StartStep': '0'}", "0:1", NULL},
    /* The SDK's name for the duration. */
    {"{'Duration': 10}", "now:10s", NULL},
    {"{'StartTimeInSecSinceEpoch': 1700000000, 'Duration': 2.5}", "@1700000000:2500ms", NULL},
    {"{'Duration': 3, 'DurationInSeconds': 10}", "now:10s", NULL},
    {"{'StartStep': 1, 'Duration': 3}", "off", "both steps and times"},
    /* How the SDK writes it, and how people do. */
    {"{\\\"StartStep\\\": 5, \\\"NumSteps\\\": 1, }", "5:1", NULL},
    {"{'startstep': 5, 'NUMSTEPS': 2}", "5:2", NULL},
    {"{'StartStep': '5', 'NumSteps': '2'}", "5:2", NULL},
    {"{'StartStep': 5.9, 'NumSteps': 2.2}", "5:2", NULL},
    {"{'StartStep': 5, 'NumSteps': None}", "5:1", NULL},
    {"{'StartStep': None}", "never", NULL},
    {"{'StartTimeInSecSinceEpoch': '1700000000.5', 'DurationInSeconds': '1'}", "@1700000000.5:1s",
     NULL},
    {"{'StartStep': 5, 'Unknown': {'a': [1, 2]}}", "5:1", NULL},
    {"{'StartStep': 5, 'MetricsRegex': '(', 'ProfilerName': 3}", "5:1", NULL}, /* not its fields */
    {"{'StartStep': 1e12, 'NumSteps': 1000000}", "1000000000000:1000000", NULL},
    {"{'StartTimeInSecSinceEpoch': 9000000000}", "@9000000000", NULL},
    {"{'StartTimeInSecSinceEpoch': 1000000000}", "@1000000000", NULL},
    {"{'DurationInSeconds': 86400}", "now:86400s", NULL},
    /* Wrong fields: the part is off. */
    {"{'StartStep': 'five'}", "off", "StartStep is not a step"},
    {"{'StartStep': -1}", "off", "StartStep is not a step"},
    {"{'StartStep': True}", "off", "StartStep is not a step"},
    {"{'StartStep': [5]}", "off", "StartStep is not a step"},
    {"{'StartStep': {}}", "off", "StartStep is not a step"},
    {"{'StartStep': 1e300}", "off", "StartStep is not a step"},
    {"{'StartStep': ''}", "off", "StartStep is not a step"},
    {"{'StartStep': 5, 'NumSteps': 0}", "off", "NumSteps is not"},
    {"{'StartStep': 5, 'NumSteps': -2}", "off", "NumSteps is not"},
    {"{'NumSteps': 'x'}", "off", "NumSteps is not"},
    {"{'NumSteps': 1000001}", "off", "NumSteps is not"},
    {"{'DurationInSeconds': 86401}", "off", "DurationInSeconds is not"},
    {"{'StartTimeInSecSinceEpoch': 9000000001}", "off", "StartTimeInSecSinceEpoch is not"},
    {"{'DurationInSeconds': 0}", "off", "DurationInSeconds is not"},
    {"{'Duration': -1}", "off", "DurationInSeconds is not"},
    {"{'DurationInSeconds': 'x'}", "off", "DurationInSeconds is not"},
    {"{'StartTimeInSecSinceEpoch': 5}", "off", "StartTimeInSecSinceEpoch is not"},
    {"{'StartTimeInSecSinceEpoch': 'soon'}", "off", "StartTimeInSecSinceEpoch is not"},
    /* Not a dict, or none that can be read. */
    {"[5, 1]", "off", "is not a dict"},
    {"5", "off", "is not a dict"},
    {"hello", "off", "is not a dict"},
    {"", "off", "is not a dict"},
    {"{'StartStep': 5", "off", "is not a dict"},
    {"{'StartStep': __import__('os').getpid()}", "off", "is not a dict"},
    {"{'StartStep': 2+3}", "off", "is not a dict"},
};

TEST(every_range_is_read_as_the_training_side_reads_it)
{
    struct buf b = {0}, value = {0};
    for (size_t i = 0; i < COUNT_OF(range_rows); i++) {
        const struct range_row *row = &range_rows[i];
        PARSED(p);
        value.len = 0;
        buf_printf(&value, "\"%s\"", row->dict);
        buf_u8(&value, 0);
        parse_part(&p, SM_DETAIL, (const char *)value.p);
        const char *got = range_text(&p.c.part[SM_DETAIL], &b);
        if (strcmp(got, row->want) != 0)
            test_fail(__FILE__, __LINE__, "%s: %s, not %s", row->dict, got, row->want);
        if ((row->says == NULL) != (p.problems.n == 0))
            test_fail(__FILE__, __LINE__, "%s: %zu problems", row->dict, p.problems.n);
        if (row->says && !strstr(p.problems.v[0], row->says))
            test_fail(__FILE__, __LINE__, "%s: %s", row->dict, p.problems.v[0]);
    }
    buf_free(&b);
    buf_free(&value);
}

TEST(a_part_may_be_a_json_object_too)
{
    PARSED(p);
    struct buf b = {0};
    parse_part(&p, SM_DETAIL, "{\"StartStep\": 5, \"NumSteps\": \"2\"}");
    CHECK_STR(range_text(&p.c.part[SM_DETAIL], &b), "5:2");
    CHECK_INT(p.problems.n, 0);
    parse_part(&p, SM_DETAIL, "null");
    CHECK_STR(range_text(&p.c.part[SM_DETAIL], &b), "off");
    CHECK_INT(p.problems.n, 0);
    parse_part(&p, SM_DETAIL, "17");
    CHECK_STR(range_text(&p.c.part[SM_DETAIL], &b), "off");
    CHECK_INT(p.problems.n, 1);
    buf_free(&b);
}

TEST(python_profiles_have_a_profiler_and_a_timer)
{
    static const struct {
        const char *fields;
        bool on;
        enum python_profiler profiler;
        enum python_timer timer;
    } rows[] = {
        {"", true, PROFILER_CPROFILE, TIMER_TOTAL},
        {", 'ProfilerName': 'cprofile', 'cProfileTimer': 'default'", true, PROFILER_CPROFILE,
         TIMER_EACH},
        {", 'ProfilerName': 'cProfile'", true, PROFILER_CPROFILE, TIMER_TOTAL},
        {", 'profilername': 'pyinstrument'", true, PROFILER_SAMPLING, TIMER_TOTAL},
        {", 'ProfilerName': 'Pyinstrument', 'cProfileTimer': 'cpu_time'", true, PROFILER_SAMPLING,
         TIMER_TOTAL},
        {", 'cprofiletimer': 'cpu_time'", true, PROFILER_CPROFILE, TIMER_CPU},
        {", 'cProfileTimer': 'off_cpu_time'", true, PROFILER_CPROFILE, TIMER_OFF_CPU},
        {", 'cProfileTimer': 'total_time'", true, PROFILER_CPROFILE, TIMER_TOTAL},
        {", 'cProfileTimer': 'cpu'", true, PROFILER_CPROFILE, TIMER_CPU},
        {", 'cProfileTimer': 'off_cpu'", true, PROFILER_CPROFILE, TIMER_OFF_CPU},
        {", 'ProfilerName': 'perf'", false, 0, 0},
        {", 'ProfilerName': 3", false, 0, 0},
        {", 'cProfileTimer': 'wall'", false, 0, 0},
        {", 'cProfileTimer': ['cpu_time']", false, 0, 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        PARSED(p);
        char text[256];
        snprintf(text, sizeof text, "\"{'StartStep': 9, 'NumSteps': 3%s}\"", rows[i].fields);
        parse_part(&p, SM_PYTHON, text);
        const struct sm_range *r = &p.c.part[SM_PYTHON];
        if (r->enabled != rows[i].on || r->window.profiler != rows[i].profiler ||
            r->window.timer != rows[i].timer)
            test_fail(__FILE__, __LINE__, "%s: %d %d %d", text, r->enabled, r->window.profiler,
                      r->window.timer);
        CHECK_INT(p.problems.n, !rows[i].on);
    }
}

TEST(a_regular_expression_keeps_its_case_and_is_a_text)
{
    PARSED(p);
    parse_part(&p, SM_DATALOADER, "\"{'StartStep': 7, 'MetricsRegex': 'GetNext.*|\\\\\\\\d', }\"");
    CHECK(p.c.part[SM_DATALOADER].enabled);
    CHECK_STR(p.c.part[SM_DATALOADER].regex, "GetNext.*|\\d");
    parse_part(&p, SM_DATALOADER, "\"{'StartStep': 7}\"");
    CHECK(p.c.part[SM_DATALOADER].enabled && !p.c.part[SM_DATALOADER].regex);
    CHECK_INT(p.problems.n, 0);
    parse_part(&p, SM_DATALOADER, "\"{'StartStep': 7, 'MetricsRegex': 5}\"");
    CHECK(!p.c.part[SM_DATALOADER].enabled);
    CHECK(strstr(p.problems.v[0], "MetricsRegex"));
}

TEST(one_wrong_part_leaves_the_others_on)
{
    PARSED(p);
    parse(&p, "{\"ProfilingParameters\": {"
              "\"DetailedProfilingConfig\": \"{'StartStep': 'x'}\","
              "\"PythonProfilingConfig\": \"{'StartStep': 9, 'NumSteps': 3}\","
              "\"HorovodProfilingConfig\": \"{'StartStep': 13}\","
              "\"SMDataParallelProfilingConfig\": \"{'StartStep': 15}\"}}");
    CHECK_INT(p.rc, 0);
    CHECK(!p.c.part[SM_DETAIL].enabled);
    CHECK(p.c.part[SM_PYTHON].enabled && p.c.part[SM_HOROVOD].enabled);
    CHECK_INT(p.c.part[SM_SMDATAPARALLEL].window.at, 15);
    CHECK_INT(p.problems.n, 1);
    CHECK_STR(p.problems.v[0],
              "DetailedProfilingConfig: StartStep is not a step number, 0 or more; ignored");
}

TEST(the_interval_is_a_number_or_a_text_of_milliseconds)
{
    static const struct {
        const char *value;
        int64_t ms;
    } rows[] = {
        {"10", 10},     {"100", 100},     {"200", 200},     {"500", 500},   {"1000", 1000},
        {"5000", 5000}, {"60000", 60000}, {"\"500\"", 500}, {"250.0", 250}, {"5", 0},
        {"60001", 0},   {"\"fast\"", 0},  {"true", 0},      {"[]", 0},      {"-500", 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        PARSED(p);
        char text[128];
        snprintf(text, sizeof text, "{\"profilingINTERVALinMilliseconds\": %s}", rows[i].value);
        parse(&p, text);
        CHECK_INT(p.c.interval_ns, rows[i].ms * NS_PER_MS);
        CHECK_INT(p.problems.n, rows[i].ms == 0);
    }
}

TEST(disable_profiler_is_a_truth_or_the_text_of_one)
{
    static const struct {
        const char *value;
        bool disabled, wrong;
    } rows[] = {
        {"true", true, false},       {"false", false, false}, {"\"true\"", true, false},
        {"\"False\"", false, false}, {"null", false, false},  {"1", false, true},
        {"\"yes\"", false, true},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        PARSED(p);
        char text[128];
        snprintf(text, sizeof text, "{\"DisableProfiler\": %s}", rows[i].value);
        parse(&p, text);
        CHECK_INT(p.c.disabled, rows[i].disabled);
        CHECK_INT(p.problems.n, rows[i].wrong);
    }
}

TEST(keys_count_in_any_case_and_the_last_of_equal_ones_wins)
{
    PARSED(p);
    parse(&p, "{\"PROFILINGPARAMETERS\": {\"detailedprofilingconfig\":"
              " \"{'StartStep': 5, 'STARTSTEP': 6}\"}}");
    CHECK_INT(p.c.part[SM_DETAIL].window.at, 6);
}

TEST(what_is_no_json_object_is_refused_with_the_place)
{
    PARSED(p);
    parse(&p, "{\"a\": }");
    CHECK_INT(p.rc, ERR_FORMAT);
    CHECK(strstr(p.e.msg, "line 1, column"));
    parse(&p, "[]");
    CHECK_INT(p.rc, ERR_FORMAT);
    parse(&p, "");
    CHECK_INT(p.rc, ERR_FORMAT);
}

TEST(parameters_may_be_absent_empty_or_wrong)
{
    PARSED(p);
    parse(&p, "{}");
    CHECK(!p.c.has_parameters);
    CHECK_INT(p.problems.n, 0);
    parse(&p, "{\"ProfilingParameters\": {}}");
    CHECK(!p.c.has_parameters);
    parse(&p, "{\"ProfilingParameters\": [1]}");
    CHECK(!p.c.has_parameters);
    CHECK_INT(p.problems.n, 1);
    parse(&p, "{\"ProfilingParameters\": {\"a\": \"b\"}}");
    CHECK(p.c.has_parameters);
}

/* What the SDK writes for a bare FrameworkProfile(). */
static const char sdk_default[] =
    "{\"S3OutputPath\": \"s3://bucket/x\", \"ProfilingIntervalInMilliseconds\": 500,\n"
    " \"ProfilingParameters\": {\n"
    "  \"LocalPath\": \"/opt/ml/output/profiler\", \"RotateMaxFileSizeInBytes\": \"10485760\",\n"
    "  \"RotateFileCloseIntervalInSeconds\": \"60\", \"FileOpenFailThreshold\": \"50\",\n"
    "  \"DetailedProfilingConfig\": \"{\\\"StartStep\\\": 5, \\\"NumSteps\\\": 1, }\",\n"
    "  \"DataloaderProfilingConfig\": \"{\\\"StartStep\\\": 7, \\\"NumSteps\\\": 1, "
    "\\\"MetricsRegex\\\": \\\".*\\\", }\",\n"
    "  \"PythonProfilingConfig\": \"{\\\"StartStep\\\": 9, \\\"NumSteps\\\": 3, "
    "\\\"ProfilerName\\\": "
    "\\\"cprofile\\\", \\\"cProfileTimer\\\": \\\"default\\\", }\",\n"
    "  \"HorovodProfilingConfig\": \"{\\\"StartStep\\\": 13, \\\"NumSteps\\\": 1, }\",\n"
    "  \"SMDataParallelProfilingConfig\": \"{\\\"StartStep\\\": 15, \\\"NumSteps\\\": 1, }\"}}\n";

TEST(the_default_of_the_sdk_becomes_the_same_windows)
{
    struct arena a = {0};
    struct settings s;
    settings_init(&s, &a);
    settings_take_profilerconfig(&s, sdk_default, strlen(sdk_default), "profilerconfig.json");
    CHECK_INT(s.problems.n, 0);
    CHECK_INT(s.interval_ns, 500 * NS_PER_MS);
    CHECK_INT(s.detail.n, 1);
    CHECK_INT(s.detail.v[0].at, 5);
    CHECK_INT(s.python.n, 1);
    CHECK_INT(s.python.v[0].steps, 3);
    CHECK_INT(s.python.v[0].timer, TIMER_EACH);
    CHECK(s.hooks);
    CHECK_INT(s.notes.n, 3);
    CHECK_STR(s.notes.v[0], "profilerconfig.json: DataloaderProfilingConfig (7:1) of .*: data "
                            "loading is always recorded in every step; the window is ignored");
    CHECK_STR(settings_origin(&s, SETTING_DETAIL_STEPS)->where,
              "profilerconfig.json, DetailedProfilingConfig");
    arena_free(&a);
}

TEST(a_disabled_profiler_means_no_hooks_and_nothing_else_counts)
{
    static const char text[] =
        "{\"DisableProfiler\": true, \"ProfilingIntervalInMilliseconds\": 100,"
        "\"ProfilingParameters\": {\"DetailedProfilingConfig\": \"{'StartStep': 5}\"}}";
    struct arena a = {0};
    struct settings s;
    settings_init(&s, &a);
    settings_take_profilerconfig(&s, text, strlen(text), "p.json");
    CHECK(!s.hooks);
    CHECK_INT(s.detail.n, 0);
    CHECK_INT(s.interval_ns, 500 * NS_PER_MS);
    CHECK_INT(s.from[SETTING_HOOKS].source, FROM_PROFILERCONFIG);
    CHECK_INT(s.from[SETTING_INTERVAL].source, FROM_DEFAULT);
    arena_free(&a);
}
