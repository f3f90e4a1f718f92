/* SPDX-License-Identifier: Apache-2.0 */
/* test_import_out.c - gathering events by track, within bounds. */
#include "import/import_out.h"
#include "import_catch.h"

struct bench {
    struct catch got;
    struct import_result result;
    struct import_out out;
};

static struct bench *bench_open(void)
{
    struct bench *b = xcalloc(1, sizeof *b);
    catch_open(&b->got);
    out_open(&b->out, &b->got.sink, &b->result);
    return b;
}

static void bench_close(struct bench *b)
{
    catch_close(&b->got);
    free(b);
}

static void tell(struct bench *b, uint32_t track, int64_t at, const char *name)
{
    const struct event v = {
        .at = {at},
        .dur_ns = 1,
        .kind = EVENT_SPAN,
        .name = texts_intern(&b->out.texts, name, strlen(name))->p,
    };
    out_event(&b->out, track, &v);
}

TEST(events_come_out_by_track_in_their_order)
{
    struct bench *b = bench_open();
    const uint32_t one = out_track(&b->out, TRACK_THREAD, 1, 1);
    const uint32_t two = out_track(&b->out, TRACK_THREAD, 1, 2);
    CHECK(one != two && out_track(&b->out, TRACK_THREAD, 1, 1) == one);
    CHECK(out_track(&b->out, TRACK_DEVICE, 1, 1) != one);
    tell(b, one, 1, "a");
    tell(b, two, 2, "b");
    tell(b, one, 3, "c");
    out_close(&b->out);
    CHECK_INT(b->got.calls, 2);
    CHECK_STR(b->got.v[0].event.name, "a");
    CHECK_STR(b->got.v[1].event.name, "c");
    CHECK_STR(b->got.v[2].event.name, "b");
    CHECK_INT(b->result.count[IMPORTED_KEPT], 3);
    CHECK_INT(b->result.first.ns, 1);
    CHECK_INT(b->result.last.ns, 4);
    bench_close(b);
}

static void begin(struct bench *b, uint32_t track, int64_t at, const char *name)
{
    const struct event v = {
        .at = {at},
        .kind = EVENT_SPAN,
        .name = texts_intern(&b->out.texts, name, strlen(name))->p,
    };
    out_begin(&b->out, track, &v);
}

TEST(spans_that_begin_together_are_told_with_the_outer_one_first)
{
    struct bench *b = bench_open();
    const uint32_t track = out_track(&b->out, TRACK_THREAD, 1, 1);
    const char *const names[] = {"root", "a", "b", "c", "d", "e"};
    begin(b, track, 1, names[0]);
    for (size_t i = 1; i < 4; i++)
        begin(b, track, 5, names[i]);
    out_end(&b->out, track, (mono_ns){5}); /* c; then d, within b too */
    begin(b, track, 5, names[4]);
    for (size_t i = 0; i < 3; i++)
        out_end(&b->out, track, (mono_ns){9});
    begin(b, track, 9, names[5]);
    out_end(&b->out, track, (mono_ns){10});
    out_end(&b->out, track, (mono_ns){20});
    CHECK_INT(b->out.n_opens, 0);
    out_close(&b->out);
    const char *const told[] = {"a", "b", "c", "d", "e", "root"};
    CHECK_INT(b->got.n, COUNT_OF(told));
    for (size_t i = 0; i < COUNT_OF(told); i++)
        CHECK_STR(b->got.v[i].event.name, told[i]);
    bench_close(b);
}

TEST(none_of_many_is_lost)
{
    enum { MANY = 100000, TRACKS = 777 };
    struct bench *b = bench_open();
    char name[32];
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "n%d", i);
        tell(b, out_track(&b->out, TRACK_THREAD, 1, (uint64_t)(i % TRACKS)), i, name);
    }
    out_close(&b->out);
    CHECK_INT(b->got.n, MANY);
    uint8_t *seen = xcalloc(MANY, 1);
    for (size_t i = 0; i < b->got.n; i++) {
        const long n = strtol(b->got.v[i].event.name + 1, NULL, 10);
        CHECK_INT(b->got.v[i].event.at.ns, n);
        CHECK_INT(b->got.v[i].track.id, n % TRACKS);
        CHECK(!seen[n]++);
    }
    free(seen);
    bench_close(b);
}

TEST(tracks_beyond_the_limit_are_counted)
{
    struct bench *b = bench_open();
    for (uint64_t i = 0; i < OUT_TRACKS_MOST + 10; i++)
        tell(b, out_track(&b->out, TRACK_THREAD, 1, i), 1, "x");
    out_end(&b->out, OUT_NO_TRACK, (mono_ns){1});
    out_close(&b->out);
    CHECK_INT(b->got.n, OUT_TRACKS_MOST);
    CHECK_INT(b->result.count[IMPORTED_TRACKS], 11);
    bench_close(b);
}

TEST(millions_of_names_do_not_need_millions_of_bytes)
{
    struct bench *b = bench_open();
    char name[256];
    size_t most = 0;
    b->got.sink.ops = NULL;
    struct catch drop;
    catch_open(&drop);
    b->out.sink = &drop.sink;
    const uint32_t track = out_track(&b->out, TRACK_THREAD, 1, 1);
    for (int i = 0; i < 400000; i++) {
        snprintf(name, sizeof name, "%0100d", i);
        tell(b, track, i, name);
        most = MAX_OF(most, b->out.texts.bytes);
        if (drop.n > 10000) { /* this test need not keep them */
            catch_close(&drop);
            catch_open(&drop);
        }
    }
    CHECK(most < 48 << 20);
    out_close(&b->out);
    CHECK_INT(b->result.count[IMPORTED_KEPT], 400000);
    catch_close(&drop);
    free(b);
}

TEST(spans_open_at_a_time_are_bounded)
{
    struct bench *b = bench_open();
    const uint32_t track = out_track(&b->out, TRACK_THREAD, 1, 1);
    const struct event v = {.at = {5}, .kind = EVENT_SPAN, .name = "deep"};
    for (int i = 0; i < OUT_OPEN_MOST + 3; i++)
        out_begin(&b->out, track, &v);
    CHECK_INT(b->result.count[IMPORTED_OPEN], 3);
    for (int i = 0; i < 10; i++)
        out_end(&b->out, track, (mono_ns){9});
    out_close(&b->out);
    CHECK_INT(b->got.n, OUT_OPEN_MOST);
    CHECK_INT(b->got.v[0].event.dur_ns, 4);
    CHECK_INT(b->result.count[IMPORTED_UNENDED], OUT_OPEN_MOST - 10);
    bench_close(b);
}

TEST(an_open_span_keeps_its_name_when_the_texts_are_let_go)
{
    struct bench *b = bench_open();
    const uint32_t track = out_track(&b->out, TRACK_THREAD, 1, 1);
    char name[64];
    const struct event v = {
        .at = {5}, .kind = EVENT_SPAN, .name = texts_intern(&b->out.texts, "outer", 5)->p};
    out_begin(&b->out, track, &v);
    for (int i = 0; i < 210000; i++) {
        snprintf(name, sizeof name, "name %d", i);
        tell(b, track, i, name);
    }
    CHECK(b->out.texts.n < 200000); /* they were */
    out_end(&b->out, track, (mono_ns){300000});
    out_close(&b->out);
    CHECK_INT(catch_find(&b->got, "outer")->event.dur_ns, 299995);
    bench_close(b);
}

TEST(an_end_before_its_begin_makes_no_duration)
{
    struct bench *b = bench_open();
    const uint32_t track = out_track(&b->out, TRACK_THREAD, 1, 1);
    const struct event v = {.at = {50}, .kind = EVENT_SPAN, .name = "x"};
    out_begin(&b->out, track, &v);
    out_end(&b->out, track, (mono_ns){20});
    out_close(&b->out);
    CHECK_INT(b->got.v[0].event.dur_ns, 0);
    CHECK_INT(b->result.count[IMPORTED_NEGATIVE], 1);
    bench_close(b);
}

TEST(names_that_come_late_are_told_without_an_event)
{
    struct bench *b = bench_open();
    const uint32_t used = out_track(&b->out, TRACK_THREAD, 1, 1);
    const uint32_t never = out_track(&b->out, TRACK_THREAD, 1, 2);
    for (int i = 0; i < OUT_EVENTS; i++)
        tell(b, used, i, "x");
    CHECK_INT(b->got.n, OUT_EVENTS);
    out_name(&b->out, used, "python", "main");
    out_name(&b->out, used, "", "");
    out_name(&b->out, never, "python", "idle");
    out_close(&b->out);
    CHECK_INT(b->got.n_named, 1);
    CHECK_STR(b->got.named[0].name, "main");
    CHECK_STR(b->got.named[0].process, "python");
    bench_close(b);
}
