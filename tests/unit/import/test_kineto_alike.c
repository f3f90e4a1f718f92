/* SPDX-License-Identifier: Apache-2.0 */
/* test_kineto_alike.c - many events that are written alike, as json_members reads them, with some
 * that are not. That what json_members gives is what json_next gives is tested in
 * tests/unit/json. */
#include "base/buf.h"
#include "import_run.h"

/* Arrows from launches, with some of another kind. */
static void put_arrow(struct buf *out, unsigned i)
{
    const char *cat = i % 13 ? "ac2g" : "fwdbwd";
    const bool end = i % 3 != 0;
    buf_printf(out,
               "{\n    \"ph\": \"%s\", \"id\": %u, \"pid\": 7, \"tid\": %u, \"ts\": %u.%03u,\n"
               "    \"cat\": \"%s\", \"name\": \"%s\"%s\n  }",
               end ? "f" : "s", i, i % 4, i * 17, i % 1000, cat, cat, end ? ", \"bp\": \"e\"" : "");
}

/* As PyTorch writes them: more categories and threads than are remembered. */
static void put_span(struct buf *out, unsigned i)
{
    static const char *const cats[] = {"cpu_op",   "cuda_runtime",    "kernel", "cpu_op",
                                       "overhead", "user_annotation", "cpu_op"};
    buf_printf(
        out,
        "{\n    \"ph\": \"X\", \"cat\": \"%s\", \"name\": \"op%u\", \"pid\": %s, \"tid\": %u,\n"
        "    \"ts\": %u, \"dur\": %u",
        cats[i % 7], i % 5, i % 31 ? "7" : "\"a text\"", i % 3 ? 8 : i % 47, i, i % 9);
    if (i % 2)
        buf_printf(out, ",\n    \"args\": {\n      \"External id\": %u, \"name\": \"x\"\n    }", i);
    buf_printf(out, "\n  }");
}

static void put_events(struct buf *out, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        buf_printf(out, i ? ",\n  " : "\n  ");
        if (i % 4 == 1)
            put_arrow(out, i);
        else
            put_span(out, i);
    }
}

static struct imported import_events(const struct buf *events, size_t piece)
{
    struct buf all = {0};
    buf_put(&all, "[", 1);
    buf_put(&all, events->p, events->len);
    buf_put(&all, "\n]", 3); /* with its NUL */
    struct imported m =
        import_with(&importer_kineto, (const char *)all.p, (struct import_ask){0}, piece);
    buf_free(&all);
    return m;
}

/* The first that begins then. */
static const struct caught *find_at(const struct imported *m, int64_t ns)
{
    for (size_t i = 0; i < m->got.n; i++)
        if (m->got.v[i].event.at.ns == ns)
            return &m->got.v[i];
    test_fail(__FILE__, __LINE__, "no event at %lld", (long long)ns);
}

TEST(events_that_look_alike_are_all_kept_whatever_the_size_of_reads)
{
    struct buf events = {0};
    put_events(&events, 3000);
    for (size_t piece = 0; piece < 300; piece += 97) {
        struct imported m = import_events(&events, piece);
        CHECK_INT(m.result.count[IMPORTED_KEPT], 3000 - 750 + 58);
        CHECK_INT(m.result.count[IMPORTED_FLOWS], 750 - 58);
        CHECK_INT(m.result.count[IMPORTED_DUPLICATES], 0);
        const struct event *v = &find_at(&m, 3000)->event;
        CHECK_STR(v->name, "op3");
        CHECK_INT(v->dur_ns, 3000);
        CHECK_INT(v->parent, 3);
        catch_close(&m.got);
    }
    buf_free(&events);
}

TEST(a_broken_event_among_others_that_look_alike_is_the_only_one_lost)
{
    struct buf events = {0};
    put_events(&events, 40);
    buf_printf(&events, ",\n  {\n    \"ph\": \"X\", \"cat\": }cpu_op, \"name\": \"bad\"\n  },");
    put_events(&events, 40);
    struct imported m = import_events(&events, 0);
    CHECK_INT(m.result.faults.unread, 1);
    CHECK_INT(m.result.count[IMPORTED_KEPT] + m.result.count[IMPORTED_FLOWS], 80);
    catch_close(&m.got);
    buf_free(&events);
}

TEST(an_arrow_with_a_key_twice_is_counted_each_time)
{
    struct buf events = {0};
    for (unsigned i = 0; i < 9; i++)
        buf_printf(
            &events,
            "%s{\"ph\": \"s\", \"id\": %u, \"id\": %u, \"cat\": \"ac2g\", \"name\": \"ac2g\"}",
            i ? "," : "", i, i);
    struct imported m = import_events(&events, 0);
    CHECK_INT(m.result.count[IMPORTED_FLOWS], 9);
    CHECK_INT(m.result.count[IMPORTED_DUPLICATES], 9);
    catch_close(&m.got);
    buf_free(&events);
}

static size_t count_pid(const struct imported *m, uint32_t pid)
{
    size_t n = 0;
    for (size_t i = 0; i < m->got.n; i++)
        n += m->got.v[i].track.pid == pid;
    return n;
}

TEST(an_event_with_a_process_twice_is_counted_each_time_and_the_last_one_counts)
{
    struct buf events = {0};
    for (unsigned i = 0; i < 9; i++)
        buf_printf(
            &events,
            "%s{\"ph\": \"X\", \"cat\": \"cpu_op\", %s\"name\": \"op\", \"pid\": 7, \"tid\": 8, "
            "\"ts\": %u, \"dur\": 1%s}",
            i ? "," : "", i % 3 ? "" : "\"pid\": 3, ", i, i % 3 == 1 ? ", \"pid\": 9" : "");
    struct imported m = import_events(&events, 0);
    CHECK_INT(m.result.count[IMPORTED_DUPLICATES], 6);
    CHECK_INT(count_pid(&m, 9), 3);
    CHECK_INT(count_pid(&m, 7), 6);
    catch_close(&m.got);
    buf_free(&events);
}

/* Each three times, one after the other. */
static struct imported import_lines(const char *const *lines, size_t n)
{
    struct buf events = {0};
    for (size_t i = 0; i < 3 * n; i++)
        buf_printf(&events, "%s%s", i ? "," : "", lines[i % n]);
    struct imported m = import_events(&events, 0);
    buf_free(&events);
    return m;
}

TEST(a_process_that_is_not_written_as_json_allows_is_a_fault_each_time)
{
    static const struct {
        const char *pid;
        uint64_t faults;
    } odd[] = {{"07", 3}, {"-1", 0}, {"1e3", 0}, {"7.0", 0}, {"\"7\"", 0}};
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        char text[160];
        const char *const line = text;
        snprintf(text, sizeof text,
                 "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"op\", \"pid\": %s, \"tid\": 8, "
                 "\"ts\": 1}",
                 odd[i].pid);
        struct imported m = import_lines(&line, 1);
        CHECK_INT(m.result.faults.numbers, odd[i].faults);
        CHECK_INT(m.result.count[IMPORTED_KEPT], 3);
        catch_close(&m.got);
    }
}

TEST(a_category_that_comes_twice_is_the_last_one)
{
    static const char *const lines[] = {
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"pid\": 7, \"tid\": 8, \"ts\": 1}",
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"b\", \"pid\": 7, \"tid\": 8, \"ts\": 2, "
        "\"cat\": \"kernel\"}",
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"c\", \"pid\": 7, \"tid\": 8, \"ts\": 3, "
        "\"ph\": \"i\"}",
    };
    struct imported m = import_lines(lines, COUNT_OF(lines));
    CHECK_INT(find_at(&m, 1000)->event.category, CAT_OP);
    CHECK_INT(find_at(&m, 2000)->event.category, CAT_KERNEL);
    CHECK_INT(count_kind(&m, EVENT_SPAN), 6);
    CHECK_INT(count_kind(&m, EVENT_MARK), 3);
    catch_close(&m.got);
}

TEST(arguments_that_look_like_the_beginning_of_an_event_are_arguments)
{
    static const char *const lines[] = {
        "{\"ph\": \"i\", \"cat\": \"x\", \"name\": \"a\", \"pid\": 7, \"tid\": 8, \"ts\": 1}",
        "{\"ph\": \"i\", \"cat\": \"x\", \"name\": \"b\", \"pid\": 7, \"tid\": 8, \"ts\": 2}",
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"c\", \"pid\": 7, \"tid\": 8, \"ts\": 3, "
        "\"args\": {\"ph\": \"i\", \"cat\": \"x\", \"name\": \"d\", \"pid\": 9, \"tid\": 9, "
        "\"module\": \"e\"}}",
    };
    struct imported m = import_lines(lines, COUNT_OF(lines));
    CHECK_INT(count_kind(&m, EVENT_SPAN), 3);
    CHECK_INT(count_kind(&m, EVENT_MARK), 6);
    CHECK_INT(find_at(&m, 3000)->event.category, CAT_OP);
    CHECK_INT(count_pid(&m, 7), 9);
    catch_close(&m.got);
}
