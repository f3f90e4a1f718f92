/* SPDX-License-Identifier: Apache-2.0 */
/* test_kineto_alike.c - events that look like those before, which are not read byte by byte,
 * against the same events after others that have used up all that the importer is willing to learn.
 */
#include "base/buf.h"
#include "import_run.h"

enum { TEACH_ARROWS = 64, TEACH_EVENTS = 2000, TEACHER = 999999 /* its process */ };

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

/* Of these, nothing can be learnt. */
static void put_teachers(struct buf *out)
{
    for (unsigned i = 0; i < TEACH_ARROWS; i++)
        buf_printf(out, "{\"ph\": \"s\", \"id\": \"%u\", \"cat\": \"ac2g\", \"name\": \"n%u\"},", i,
                   i);
    for (unsigned i = 0; i < TEACH_EVENTS; i++)
        buf_printf(
            out,
            "{\"cat\": \"c\", \"ph\": \"X\", \"name\": \"t\", \"tid\": 1, \"pid\": %d, \"ts\": 1},",
            TEACHER);
}

static struct imported import_events(const struct buf *events, bool learns, size_t piece)
{
    struct buf all = {0};
    buf_put(&all, "[", 1);
    if (!learns)
        put_teachers(&all);
    buf_put(&all, events->p, events->len);
    buf_put(&all, "\n]", 3); /* with its NUL */
    struct imported m =
        import_with(&importer_kineto, (const char *)all.p, (struct import_ask){0}, piece);
    buf_free(&all);
    return m;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
    return (h ^ v) * 1099511628211u;
}

static uint64_t mix_text(uint64_t h, const char *s)
{
    for (; s && *s; s++)
        h = mix(h, (uint8_t)*s);
    return mix(h, 256);
}

/* All that was told of others than the teachers, in whatever order. */
static uint64_t sum_of(const struct imported *m, size_t *n)
{
    uint64_t sum = *n = 0;
    for (size_t i = 0; i < m->got.n; i++) {
        const struct caught *c = &m->got.v[i];
        const struct event *v = &c->event;
        if (c->track.pid == TEACHER)
            continue;
        uint64_t h = mix_text(mix_text(1, v->name), v->args);
        h = mix(mix(mix(h, (uint64_t)v->at.ns), (uint64_t)v->dur_ns), (uint64_t)v->value);
        h = mix(mix(mix(h, v->link), v->parent), v->kind);
        h = mix(mix(mix(mix(h, v->category), c->track.kind), c->track.pid), c->track.id);
        sum += h;
        ++*n;
    }
    return sum;
}

/* What comes of the events is the same whether they are read or known. */
static bool are_alike(const struct buf *events, size_t piece)
{
    struct imported a = import_events(events, true, piece);
    struct imported b = import_events(events, false, piece);
    size_t n[2];
    const bool same_events = sum_of(&a, &n[0]) == sum_of(&b, &n[1]) && n[0] == n[1];
    b.result.count[IMPORTED_FLOWS] -= TEACH_ARROWS;
    b.result.count[IMPORTED_KEPT] -= TEACH_EVENTS;
    const bool same = same_events && (a.rc == b.rc || a.result.count[IMPORTED_KEPT] == 0) &&
                      memcmp(a.result.count, b.result.count, sizeof a.result.count) == 0 &&
                      memcmp(&a.result.faults, &b.result.faults, sizeof a.result.faults) == 0;
    catch_close(&a.got);
    catch_close(&b.got);
    return same;
}

TEST(events_that_look_alike_become_what_they_become_when_they_are_read)
{
    struct buf events = {0};
    put_events(&events, 3000);
    for (size_t piece = 0; piece < 300; piece += 97)
        CHECK(are_alike(&events, piece));
    struct imported m = import_events(&events, true, 0);
    CHECK_INT(m.result.count[IMPORTED_KEPT], 3000 - 750 + 58);
    CHECK_INT(m.result.count[IMPORTED_FLOWS], 750 - 58);
    catch_close(&m.got);
    buf_free(&events);
}

TEST(broken_bytes_are_seen_in_events_that_look_alike)
{
    static const char bytes[] = "\"\\,:{}[]0123-.eNX \n\x01\xc3";
    uint64_t seed = 1;
    for (unsigned round = 0; round < 600; round++) {
        struct buf events = {0};
        put_events(&events, 24);
        for (unsigned k = 0; k < 1 + round % 3; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            events.p[(seed >> 20) % events.len] = (uint8_t)bytes[(seed >> 50) % (sizeof bytes - 1)];
        }
        if (!are_alike(&events, round % 50))
            test_fail(__FILE__, __LINE__, "round %u", round);
        buf_free(&events);
    }
}

TEST(an_arrow_with_a_key_twice_is_counted_each_time)
{
    struct buf events = {0};
    for (unsigned i = 0; i < 9; i++)
        buf_printf(
            &events,
            "%s{\"ph\": \"s\", \"id\": %u, \"id\": %u, \"cat\": \"ac2g\", \"name\": \"ac2g\"}",
            i ? "," : "", i, i);
    struct imported m = import_events(&events, true, 0);
    CHECK_INT(m.result.count[IMPORTED_FLOWS], 9);
    CHECK_INT(m.result.count[IMPORTED_DUPLICATES], 9);
    catch_close(&m.got);
    buf_free(&events);
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
    struct imported m = import_events(&events, true, 0);
    CHECK_INT(m.result.count[IMPORTED_DUPLICATES], 6);
    unsigned nines = 0;
    for (size_t i = 0; i < m.got.n; i++)
        nines += m.got.v[i].track.pid == 9;
    CHECK_INT(nines, 3);
    CHECK(are_alike(&events, 0));
    catch_close(&m.got);
    buf_free(&events);
}

/* Each as often as an importer needs to know how it looks. */
static bool lines_are_alike(const char *const *lines, size_t n)
{
    struct buf events = {0};
    for (size_t i = 0; i < 3 * n; i++)
        buf_printf(&events, "%s%s", i ? "," : "", lines[i % n]);
    const bool same = are_alike(&events, 0);
    buf_free(&events);
    return same;
}

TEST(a_process_that_is_not_written_as_json_allows_is_a_fault_each_time)
{
    static const char *const odd[] = {"07", "-1", "1e3", "7.0", "\"7\"", "12345678901234567890"};
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        char text[160];
        const char *const line = text;
        snprintf(text, sizeof text,
                 "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"op\", \"pid\": %s, \"tid\": 8, "
                 "\"ts\": 1}",
                 odd[i]);
        if (!lines_are_alike(&line, 1))
            test_fail(__FILE__, __LINE__, "%s", odd[i]);
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
    CHECK(lines_are_alike(lines, COUNT_OF(lines)));
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
    CHECK(lines_are_alike(lines, COUNT_OF(lines)));
}
