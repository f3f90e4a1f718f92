/* SPDX-License-Identifier: Apache-2.0 */
/* test_import_file.c - traces in files, plain and gzip, whole and not. */
#include <zlib.h>

#include "base/buf.h"
#include "base/file.h"
#include "import/import_file.h"
#include "import/import_out.h"
#include "import_catch.h"

static struct arena names; /* each test is a process of its own */

static const char *path_of(const char *name)
{
    return arena_printf(&names, "%s/%s", test_tmpdir(), name);
}

static const char *write_plain(const char *name, const void *p, size_t n)
{
    const char *path = path_of(name);
    struct err e;
    OK(file_replace(path, p, n, &e));
    return path;
}

static const char *write_gzip(const char *name, const void *p, size_t n)
{
    const char *path = path_of(name);
    gzFile f = gzopen(path, "wb6");
    CHECK(f && gzwrite(f, p, (unsigned)n) == (int)n && gzclose(f) == Z_OK);
    return path;
}

/* A trace of n events whose base time stands at its end, as some versions write it. */
static void make_trace(struct buf *out, int n)
{
    buf_printf(out, "{\n  \"schemaVersion\": 1,\n  \"traceEvents\": [\n");
    for (int i = 0; i < n; i++)
        buf_printf(
            out,
            "%s  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::op%d\", \"pid\": 5, "
            "\"tid\": 5,\n    \"ts\": %d.%03d, \"dur\": 1.5,\n    \"args\": {\"External id\": "
            "%d}\n  }",
            i ? ",\n" : "", i, i + 1, i % 1000, i + 1);
    buf_printf(out, "\n  ],\n  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": "
                    "1711964646000000000\n}\n");
}

static int import(const char *path, struct catch *c, struct import_file_result *r, struct err *e)
{
    catch_open(c);
    const struct import_file_ask ask = {.path = path, .sink = &c->sink};
    return import_file(&ask, r, e);
}

TEST(plain_and_gzip_give_the_same)
{
    struct buf json = {0};
    struct err e;
    make_trace(&json, 5000);
    const char *const paths[] = {write_plain("t.json", json.p, json.len),
                                 write_gzip("t.json.gz", json.p, json.len)};
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        struct catch c;
        struct import_file_result r;
        OK(import(paths[i], &c, &r, &e));
        CHECK_INT(c.n, 5000);
        CHECK(r.gzip == (i == 1));
        CHECK(r.format == &importer_kineto);
        CHECK_INT(r.result.bytes, json.len);
        const struct event *v = &catch_find(&c, "aten::op4999")->event;
        CHECK_INT(v->at.ns, 1711964646000000000 + 5000999);
        CHECK_INT(v->dur_ns, 1500);
        catch_close(&c);
    }
    buf_free(&json);
}

TEST(a_small_file_has_its_base_time_too)
{
    struct buf json = {0};
    struct err e;
    struct catch c;
    struct import_file_result r;
    make_trace(&json, 1);
    OK(import(write_plain("s.json", json.p, json.len), &c, &r, &e));
    CHECK_INT(c.v[0].event.at.ns, 1711964646000001000);
    catch_close(&c);
    buf_free(&json);
}

TEST(a_base_time_at_the_end_of_gzip_is_added_to_all_events)
{
    struct buf json = {0};
    struct err e;
    make_trace(&json, 5000);
    const char *const paths[] = {write_plain("w.json", json.p, json.len),
                                 write_gzip("w.json.gz", json.p, json.len)};
    for (int i = 0; i < 2; i++) {
        struct catch c;
        struct import_file_result r;
        catch_open(&c);
        const struct import_file_ask ask = {.path = paths[i], .sink = &c.sink};
        OK(import_file(&ask, &r, &e));
        CHECK_INT(c.v[0].event.at.ns, 1711964646000001000);
        CHECK_INT(r.result.first.ns, 1711964646000001000);
        CHECK_INT(r.result.last.ns, 1711964646000000000 + 5000999 + 1500);
        catch_close(&c);
    }
    buf_free(&json);
}

TEST(gzip_with_more_events_than_are_held_is_read_twice_for_its_base_time)
{
    struct buf json = {0};
    struct err e;
    struct catch c;
    struct import_file_result r;
    make_trace(&json, OUT_HELD_ENOUGH + 2000);
    catch_open(&c);
    const struct import_file_ask ask = {.path = write_gzip("m.json.gz", json.p, json.len),
                                        .sink = &c.sink};
    OK(import_file(&ask, &r, &e));
    CHECK_INT(c.n, OUT_HELD_ENOUGH + 2000);
    for (size_t i = 0; i < c.n; i++)
        CHECK_INT(c.v[i].event.at.ns / 1000000000, 1711964646);
    catch_close(&c);
    buf_free(&json);
}

static int stop_early(void *ctx, uint64_t done, uint64_t all, struct err *e)
{
    CHECK(done <= all);
    return ++*(int *)ctx < 3 ? 0 : err_set(e, ERR_BUSY, "enough");
}

TEST(who_watches_the_progress_can_end_it)
{
    struct buf json = {0};
    struct err e;
    struct catch c;
    struct import_file_result r;
    int calls = 0;
    make_trace(&json, 20000);
    catch_open(&c);
    const struct import_file_ask ask = {
        .path = write_plain("p.json", json.p, json.len),
        .sink = &c.sink,
        .progress = stop_early,
        .ctx = &calls,
    };
    CHECK_INT(import_file(&ask, &r, &e), ERR_BUSY);
    CHECK(strstr(e.msg, "p.json") && strstr(e.msg, "enough"));
    CHECK_INT(calls, 3);
    catch_close(&c);
    buf_free(&json);
}

static void check_refused(const char *path, int code, const char *words)
{
    struct catch c;
    struct import_file_result r;
    struct err e;
    CHECK_INT(import(path, &c, &r, &e), code);
    if (!strstr(e.msg, words))
        test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", e.msg, words);
    catch_close(&c);
}

TEST(what_cannot_be_read_is_refused_with_its_name_and_the_cause)
{
    struct buf json = {0};
    make_trace(&json, 3000);
    const char *gz = write_gzip("cut.json.gz", json.p, json.len);
    struct arena a = {0};
    struct err e;
    char *bytes;
    size_t len;
    OK(file_read(gz, 1 << 20, &a, &bytes, &len, &e));
    check_refused(write_plain("cut.json.gz", bytes, len / 2), ERR_FORMAT, "ends early");
    check_refused(write_plain("empty.json", "", 0), ERR_FORMAT, "empty");
    check_refused(write_plain("text.txt", "hello", 5), ERR_FORMAT, "unknown format");
    check_refused(write_plain("other.json", "{\"a\": 1}", 8), ERR_FORMAT, "no traceEvents");
    check_refused(path_of("absent.json"), ERR_SYS, "absent.json");
    check_refused(test_tmpdir(), ERR_USAGE, "is not a regular file");
    arena_free(&a);
    buf_free(&json);
}

TEST(garbage_behind_the_gzip_data_is_told)
{
    struct buf json = {0}, file = {0};
    struct err e;
    struct catch c;
    struct import_file_result r;
    struct arena a = {0};
    char *bytes;
    size_t len;
    make_trace(&json, 10);
    OK(file_read(write_gzip("g.gz", json.p, json.len), 1 << 20, &a, &bytes, &len, &e));
    buf_put(&file, bytes, len);
    buf_put(&file, "junk", 4);
    OK(import(write_plain("g2.gz", file.p, file.len), &c, &r, &e));
    CHECK(r.garbage);
    CHECK_INT(c.n, 10);
    catch_close(&c);
    arena_free(&a);
    buf_free(&json);
    buf_free(&file);
}

/* ---- long gzip files, which a second thread inflates ---- */

enum { LONG_EVENTS = 36000 }; /* stored as they are these are more than 4 MB */

/* Not compressed, with four bytes behind it that are no gzip. */
static const char *write_long(struct buf *file)
{
    struct buf json = {0};
    make_trace(&json, LONG_EVENTS);
    const char *path = path_of("long.json.gz");
    gzFile f = gzopen(path, "wb0");
    CHECK(f && gzwrite(f, json.p, (unsigned)json.len) == (int)json.len && gzclose(f) == Z_OK);
    CHECK(json.len > 5 << 20);
    struct arena a = {0};
    struct err e;
    char *bytes;
    size_t len;
    OK(file_read(path, 1 << 24, &a, &bytes, &len, &e));
    buf_put(file, bytes, len);
    buf_put(file, "junk", 4);
    arena_free(&a);
    buf_free(&json);
    return write_plain("long.json.gz", file->p, file->len);
}

TEST(a_thread_that_inflates_ahead_changes_nothing)
{
    struct buf file = {0};
    const char *path = write_long(&file);
    struct catch c[2];
    struct err e;
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct import_file_result r;
        catch_open(&c[i]);
        const struct import_file_ask ask = {.path = path, .sink = &c[i].sink, .threads = i == 1};
        OK(import_file(&ask, &r, &e));
        CHECK(r.gzip && r.garbage);
        CHECK_INT(c[i].n, LONG_EVENTS);
    }
    for (size_t i = 0; i < LONG_EVENTS; i++) {
        CHECK_STR(c[0].v[i].event.name, c[1].v[i].event.name);
        CHECK_INT(c[0].v[i].event.at.ns, c[1].v[i].event.at.ns);
    }
    catch_close(&c[0]);
    catch_close(&c[1]);
    buf_free(&file);
}

static int stop_half_way(void *ctx, uint64_t done, uint64_t all, struct err *e)
{
    (void)ctx;
    return done < all / 2 ? 0 : err_set(e, ERR_USAGE, "enough");
}

TEST(an_import_that_ends_early_ends_the_thread_that_inflates)
{
    struct buf file = {0};
    const char *path = write_long(&file);
    struct catch c;
    struct import_file_result r;
    struct err e;
    catch_open(&c);
    struct import_file_ask ask = {
        .path = path, .sink = &c.sink, .threads = true, .progress = stop_half_way};
    CHECK_INT(import_file(&ask, &r, &e), ERR_USAGE);
    CHECK(strstr(e.msg, "enough") != NULL);
    ask.progress = NULL;
    ask.path = write_plain("cut.json.gz", file.p, file.len - 500000);
    CHECK_INT(import_file(&ask, &r, &e), ERR_FORMAT);
    CHECK(strstr(e.msg, "ends early") != NULL);
    catch_close(&c);
    buf_free(&file);
}
