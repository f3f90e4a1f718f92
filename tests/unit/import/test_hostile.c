/* SPDX-License-Identifier: Apache-2.0 */
/* Traces that somebody made to do harm, or that a broken profiler writes: they come to an end, need
 * memory that does not grow with them, and what is dropped is counted. */
#include <malloc.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/mem.h"
#include "import/import_out.h"
#include "test.h"

/* A trace that is made while it is read. */
struct maker {
    struct bytes_in in;
    int (*put)(char *to, size_t room,
               uint64_t i); /* element i; a comma stands before all but one */
    uint64_t i, n;
    char text[512];
    size_t len, at;
};

static void make_next(struct maker *m)
{
    static const char head[] = "{\"traceEvents\": [", tail[] = "]}";
    int len = 0;
    if (m->i == 0)
        len = snprintf(m->text, sizeof m->text, "%s", head);
    if (m->i < m->n) {
        m->text[len] = ',';
        len += m->i > 0;
        len += m->put(m->text + len, sizeof m->text - (size_t)len, m->i);
    } else if (m->i == m->n) {
        len += snprintf(m->text + len, sizeof m->text - (size_t)len, "%s", tail);
    }
    m->i++;
    m->len = (size_t)len;
    m->at = 0;
}

static int64_t make_bytes(struct bytes_in *in, void *to, size_t most, struct err *e)
{
    struct maker *m = (struct maker *)in;
    size_t n = 0;
    (void)e;
    while (n < most) {
        if (m->at == m->len)
            make_next(m);
        if (m->len == 0)
            break;
        const size_t k = MIN_OF(most - n, m->len - m->at);
        memcpy((char *)to + n, m->text + m->at, k);
        m->at += k;
        n += k;
    }
    return (int64_t)n;
}

/* Counts what it is told, and looks at the memory in use. With a sanitizer's allocator there is
 * nothing to see. */
struct watch {
    struct sink sink;
    uint64_t events, calls;
    size_t most_bytes;
};

static void watch_events(struct sink *s, const struct track *t, const struct event *v, size_t n)
{
    struct watch *w = (struct watch *)s;
    (void)t;
    for (size_t i = 0; i < n; i++)
        CHECK(v[i].dur_ns >= 0 && v[i].name);
    w->events += n;
    if (w->calls++ % 4096 == 0) {
        const struct mallinfo2 m = mallinfo2();
        w->most_bytes = MAX_OF(w->most_bytes, m.uordblks + m.hblkhd);
    }
}

static const struct sink_ops watch_ops = {.events = watch_events};

enum { MEMORY_MOST = 96 << 20 };

static struct import_result import_made(uint64_t n, int (*put)(char *, size_t, uint64_t))
{
    struct watch w = {.sink = {&watch_ops}};
    struct maker m = {.in = {make_bytes}, .put = put, .n = n};
    struct import_result r;
    struct err e;
    const struct import_ask ask = {.in = &m.in, .sink = &w.sink};
    OK(importer_kineto.run(&ask, &r, &e));
    CHECK_INT(w.events, r.count[IMPORTED_KEPT]);
    CHECK(w.most_bytes < MEMORY_MOST);
    return r;
}

static int put_other_name(char *to, size_t room, uint64_t i)
{
    return snprintf(to, room,
                    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op %llu\",\"pid\":1,\"tid\":1,"
                    "\"ts\":%llu,\"dur\":1,\"args\":{\"Input Dims\":[[%llu]]}}",
                    (unsigned long long)i, (unsigned long long)i + 1000000, (unsigned long long)i);
}

TEST(a_name_of_its_own_for_every_event_needs_no_more_memory)
{
    const struct import_result r = import_made(600000, put_other_name);
    CHECK_INT(r.count[IMPORTED_KEPT], 600000);
}

static int put_other_thread(char *to, size_t room, uint64_t i)
{
    return snprintf(to, room,
                    "{\"ph\":\"X\",\"name\":\"a\",\"pid\":%llu,\"tid\":%llu,\"ts\":%llu,\"dur\":1}",
                    (unsigned long long)(i % 3000), (unsigned long long)i, (unsigned long long)i);
}

TEST(events_of_threads_beyond_the_limit_are_dropped_and_counted)
{
    const struct import_result r = import_made(300000, put_other_thread);
    CHECK_INT(r.count[IMPORTED_KEPT], OUT_TRACKS_MOST);
    CHECK_INT(r.count[IMPORTED_TRACKS], 300000 - OUT_TRACKS_MOST);
}

static int put_thread_name(char *to, size_t room, uint64_t i)
{
    return snprintf(to, room,
                    "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%llu,\"tid\":%llu,"
                    "\"args\":{\"name\":\"n%llu\"}},"
                    "{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":%llu,\"dur\":1}",
                    i % 2 ? "thread_name" : "process_name", (unsigned long long)i,
                    (unsigned long long)i, (unsigned long long)i, (unsigned long long)i);
}

TEST(names_of_threads_and_processes_without_end_are_bounded)
{
    const struct import_result r = import_made(200000, put_thread_name);
    CHECK_INT(r.count[IMPORTED_KEPT], 200000);
}

static int put_backward(char *to, size_t room, uint64_t i)
{
    return snprintf(to, room,
                    "{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":%llu,\"dur\":-%llu}",
                    (unsigned long long)(900000 - i % 900000), (unsigned long long)i);
}

TEST(negative_durations_are_none_and_counted)
{
    const struct import_result r = import_made(100000, put_backward);
    CHECK_INT(r.count[IMPORTED_KEPT], 100000);
    CHECK_INT(r.count[IMPORTED_NEGATIVE], 100000 - 1);
}

static int put_begin(char *to, size_t room, uint64_t i)
{
    return snprintf(to, room, "{\"ph\":\"B\",\"name\":\"f%llu\",\"pid\":1,\"tid\":1,\"ts\":%llu}",
                    (unsigned long long)(i % 100), (unsigned long long)i);
}

TEST(spans_nested_a_hundred_thousand_deep_are_all_kept)
{
    const struct import_result r = import_made(100000, put_begin);
    CHECK_INT(r.count[IMPORTED_KEPT], 100000);
    CHECK_INT(r.count[IMPORTED_UNENDED], 100000);
}

TEST(begins_beyond_those_that_are_followed_are_counted)
{
    const struct import_result r = import_made(OUT_OPEN_MOST + 5000, put_begin);
    CHECK_INT(r.count[IMPORTED_KEPT], OUT_OPEN_MOST);
    CHECK_INT(r.count[IMPORTED_OPEN], 5000);
}

enum { DEEP = 100000 };

/* Brackets or objects, as deep as that; closed again, or not. */
static void put_deep(struct buf *out, const char *open, const char *close)
{
    for (unsigned i = 0; i < DEEP; i++)
        buf_put(out, open, strlen(open));
    buf_put(out, "1", 1);
    for (unsigned i = 0; i < DEEP && *close; i++)
        buf_put(out, close, strlen(close));
}

static void put_text(struct buf *out, const char *text)
{
    buf_put(out, text, strlen(text));
}

static struct import_result import_buf(struct buf *b)
{
    struct watch w = {.sink = {&watch_ops}};
    struct bytes_memory m;
    struct import_result r;
    struct err e;
    bytes_memory_init(&m, b->p, b->len, 0);
    const struct import_ask ask = {.in = &m.in, .sink = &w.sink};
    OK(importer_kineto.run(&ask, &r, &e));
    buf_free(b);
    return r;
}

#define EVENT "{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1"

TEST(values_nested_a_hundred_thousand_deep_do_not_hide_what_follows_them)
{
    static const char *const pairs[][2] = {{"[", "]"}, {"{\"x\":", "}"}, {"{\"args\":", "}"}};
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        struct buf b = {0};
        put_text(&b, "{\"other\":");
        put_deep(&b, pairs[i][0], pairs[i][1]);
        put_text(&b, ",\"traceEvents\":[" EVENT ",\"args\":{\"Input Dims\":");
        put_deep(&b, pairs[i][0], pairs[i][1]);
        put_text(&b, "}}," EVENT ",\"x\":");
        put_deep(&b, pairs[i][0], pairs[i][1]);
        put_text(&b, "}, {\"ph\":\"?\",\"x\":");
        put_deep(&b, pairs[i][0], pairs[i][1]);
        put_text(&b, "}," EVENT "}]}");
        const struct import_result r = import_buf(&b);
        CHECK_INT(r.count[IMPORTED_KEPT], 3);
        CHECK_INT(r.count[IMPORTED_PHASES], 1);
        CHECK_INT(r.faults.cut, 0);
    }
}

TEST(brackets_that_never_close_end_the_trace_and_it_is_told)
{
    struct buf b = {0};
    put_text(&b, "{\"traceEvents\":[" EVENT "}," EVENT ",\"args\":{\"x\":");
    put_deep(&b, "[", "");
    const struct import_result r = import_buf(&b);
    CHECK_INT(r.count[IMPORTED_KEPT], 1);
    CHECK_INT(r.faults.cut, 1);
}
