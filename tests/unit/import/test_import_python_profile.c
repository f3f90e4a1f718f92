/* SPDX-License-Identifier: Apache-2.0 */
/* test_import_python_profile.c - what a function profile becomes. */
#include "import_catch.h"

static const char profile[] =
    "{\"version\": 1, \"profiler\": \"cprofile\", \"timer\": \"total_time\", \"pid\": 12, "
    "\"rank\": 0,\n"
    " \"start_step\": 9, \"end_step\": 11, \"start_ns\": 5000000000, \"end_ns\": 7000000000,\n"
    " \"functions\": [\n"
    "  {\"file\": \"/home/me/train/model.py\", \"line\": 31, \"name\": \"forward\", \"calls\": 4,\n"
    "   \"primitive_calls\": 2, \"self_s\": 0.25, \"total_s\": 1.5},\n"
    "  {\"file\": \"~\", \"line\": 0, \"name\": \"<built-in method torch.add>\", \"calls\": 70,\n"
    "   \"self_s\": 1e-6, \"total_s\": 1e-6},\n"
    "  {\"file\": \"x.py\", \"line\": 1, \"name\": \"no_time\", \"calls\": 1}],\n"
    " \"phases\": {\"forward\": [{\"file\": \"a.py\", \"line\": 2, \"name\": \"g\", \"calls\": 1,\n"
    "   \"self_s\": 0.5, \"total_s\": 0.5}]}}";

static int import(const char *json, struct catch *c, struct import_result *r, struct err *e)
{
    struct bytes_memory in;
    bytes_memory_init(&in, json, strlen(json), 11);
    catch_open(c);
    const struct import_ask ask = {.in = &in.in, .sink = &c->sink, .pid = 99};
    return importer_python_profile.run(&ask, r, e);
}

TEST(each_function_is_a_span_of_its_own_time)
{
    struct catch c;
    struct import_result r;
    struct err e;
    OK(import(profile, &c, &r, &e));
    const struct caught *f = catch_find(&c, "forward (train/model.py:31)");
    CHECK_INT(f->event.at.ns, 5000000000);
    CHECK_INT(f->event.dur_ns, 250000000);
    CHECK_INT(f->event.value, 4);
    CHECK_INT(f->event.category, CAT_PYTHON);
    CHECK_STR(f->event.args,
              "file=/home/me/train/model.py\nline=31\ntotal_s=1.5\ncalls=4\nprimitive_calls=2");
    CHECK_INT(f->track.pid, 12);
    CHECK_STR(f->track.name, "python profile");
    const struct caught *b = catch_find(&c, "<built-in method torch.add>");
    CHECK_INT(b->event.dur_ns, 1000);
    CHECK(!strstr(b->event.args, "primitive_calls"));
    CHECK_INT(r.count[IMPORTED_NO_TIME], 1);
    catch_close(&c);
}

TEST(phases_have_tracks_of_their_own)
{
    struct catch c;
    struct import_result r;
    struct err e;
    OK(import(profile, &c, &r, &e));
    const struct caught *g = catch_find(&c, "g (a.py:2)");
    CHECK_STR(g->track.name, "python profile: forward");
    CHECK(!track_same(&g->track, &catch_find(&c, "forward (train/model.py:31)")->track));
    catch_close(&c);
}

TEST(the_window_lies_around_its_functions)
{
    struct catch c;
    struct import_result r;
    struct err e;
    size_t windows = 0;
    OK(import(profile, &c, &r, &e));
    for (size_t i = 0; i < c.n; i++)
        if (strcmp(c.v[i].event.name, "python profile") == 0) {
            windows++;
            CHECK_INT(c.v[i].event.dur_ns, 2000000000);
            CHECK_STR(c.v[i].event.args,
                      "profiler=cprofile\ntimer=total_time\nstart_step=9\nend_step=11");
        }
    CHECK_INT(windows, 2);
    catch_close(&c);
}

static const char stacks[] =
    "{\"profiler\": \"sampling\", \"pid\": 12, \"start_ns\": 1000, \"end_ns\": 9000, "
    "\"functions\": [],"
    " \"stacks\": ["
    "{\"depth\": 0, \"file\": \"a.py\", \"line\": 1, \"name\": \"main\", \"total_s\": 5e-6},"
    "{\"depth\": 1, \"file\": \"a.py\", \"line\": 2, \"name\": \"f\", \"total_s\": 3e-6},"
    "{\"depth\": 2, \"file\": \"a.py\", \"line\": 3, \"name\": \"leaf\", \"total_s\": 9e-6},"
    "{\"depth\": 1, \"file\": \"a.py\", \"line\": 4, \"name\": \"g\", \"total_s\": 1e-6},"
    "{\"depth\": 0, \"file\": \"b.py\", \"line\": 1, \"name\": \"other\", \"total_s\": 2e-6},"
    "{\"depth\": 2, \"file\": \"b.py\", \"line\": 2, \"name\": \"lost\", \"total_s\": 1e-6},"
    "{\"depth\": -1, \"file\": \"b.py\", \"line\": 2, \"name\": \"wrong\", \"total_s\": 1e-6},"
    "{\"depth\": 1, \"file\": \"b.py\", \"line\": 2, \"name\": \"timeless\"}]}";

static void check_span(const struct catch *c, const char *name, int64_t at, int64_t dur_ns)
{
    const struct caught *f = catch_find(c, name);
    CHECK_INT(f->event.at.ns, at);
    CHECK_INT(f->event.dur_ns, dur_ns);
    CHECK_STR(f->track.name, "python profile stacks");
}

TEST(frames_of_a_stack_lie_within_their_callers_one_after_the_other)
{
    struct catch c;
    struct import_result r;
    struct err e;
    OK(import(stacks, &c, &r, &e));
    check_span(&c, "main (a.py:1)", 1000, 5000);
    check_span(&c, "f (a.py:2)", 1000, 3000);
    check_span(&c, "leaf (a.py:3)", 1000, 3000); /* not longer than its caller */
    check_span(&c, "g (a.py:4)", 4000, 1000);
    check_span(&c, "other (b.py:1)", 6000, 2000);
    CHECK_INT(catch_find(&c, "leaf (a.py:3)")->event.value, 2);
    CHECK_INT(r.count[IMPORTED_NO_TIME], 3); /* no caller, no depth, no time */
    catch_close(&c);
}

TEST(stacks_of_absurd_depth_or_time_are_left_out)
{
    char text[1 << 14];
    size_t n = (size_t)snprintf(text, sizeof text,
                                "{\"profiler\": \"sampling\", \"start_ns\": 9223372036854775000, "
                                "\"functions\": [], \"stacks\": [");
    for (int i = 0; i < 100; i++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "%s{\"depth\": %d, \"file\": \"\", \"name\": \"f\", \"total_s\": 1}",
                              i ? "," : "", i);
    snprintf(text + n, sizeof text - n, "]}");
    struct catch c;
    struct import_result r;
    struct err e;
    OK(import(text, &c, &r, &e));
    CHECK_INT(r.count[IMPORTED_NO_TIME], 100);
    catch_close(&c);
}

TEST(what_is_no_profile_is_refused)
{
    struct catch c;
    struct import_result r;
    struct err e;
    CHECK_INT(import("{\"profiler\": \"x\"}", &c, &r, &e), ERR_FORMAT);
    CHECK(strstr(e.msg, "not a function profile"));
    catch_close(&c);
    CHECK_INT(import("[1]", &c, &r, &e), ERR_FORMAT);
    catch_close(&c);
}

TEST(a_profile_is_told_from_a_trace)
{
    CHECK(importer_sniff(profile, sizeof profile - 1) == &importer_python_profile);
}
