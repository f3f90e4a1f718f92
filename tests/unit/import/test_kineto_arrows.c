/* SPDX-License-Identifier: Apache-2.0 */
/* test_kineto_arrows.c - arrows from a launch to what it launched, which are passed over as a whole
 * once it is known how they look, against the same arrows read member by member. */
#include "base/buf.h"
#include "import_run.h"

/* Arrows between other events, as PyTorch writes them, with some that differ. */
static void put_arrows(struct buf *out, unsigned n)
{
    char text[512];
    for (unsigned i = 0; i < n; i++) {
        const char *sep = i ? "," : "";
        const bool end = i % 3 != 0;
        int len =
            snprintf(text, sizeof text,
                     "%s\n  {\n    \"ph\": \"%s\", \"id\": %u, \"pid\": 7, \"tid\": %u, \"ts\": "
                     "%u.%03u,\n    \"cat\": \"%s\", \"name\": \"%s\"%s\n  }",
                     sep, end ? "f" : "s", i, i % 4, i * 17, i % 1000, i % 13 ? "ac2g" : "fwdbwd",
                     i % 13 ? "ac2g" : "fwdbwd", end ? ", \"bp\": \"e\"" : "");
        if (i % 4 == 1)
            len = snprintf(text, sizeof text,
                           "%s\n  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"op%u\", "
                           "\"pid\": 7, \"tid\": 8,\n    \"ts\": %u, \"dur\": %u\n  }",
                           sep, i % 5, i, i % 9);
        buf_put(out, text, (size_t)len);
    }
}

/* Arrows that are all written differently, until the importer no longer learns how one looks. */
static void put_teachers(struct buf *out)
{
    char text[256];
    for (unsigned i = 0; i < 64; i++) {
        const int len = snprintf(
            text, sizeof text,
            "{\"ph\": \"s\", \"id\": \"%u\", \"cat\": \"ac2g\", \"name\": \"n%u\"},", i, i);
        buf_put(out, text, (size_t)len);
    }
}

static struct imported import_arrows(const struct buf *events, bool learns, size_t piece)
{
    struct buf all = {0};
    buf_put(&all, "[", 1);
    if (!learns)
        put_teachers(&all);
    buf_put(&all, events->p, events->len);
    buf_put(&all, "\n]", 2);
    buf_u8(&all, 0);
    struct imported m =
        import_with(&importer_kineto, (const char *)all.p, (struct import_ask){0}, piece);
    buf_free(&all);
    return m;
}

static bool arrows_are_alike(const struct buf *events, size_t piece)
{
    struct imported a = import_arrows(events, true, piece), b = import_arrows(events, false, piece);
    b.result.count[IMPORTED_FLOWS] -= 64;
    bool same = a.rc == b.rc && a.got.n == b.got.n &&
                memcmp(a.result.count, b.result.count, sizeof a.result.count) == 0 &&
                memcmp(&a.result.faults, &b.result.faults, sizeof a.result.faults) == 0;
    for (size_t i = 0; same && i < a.got.n; i++)
        same = a.got.v[i].event.at.ns == b.got.v[i].event.at.ns &&
               strcmp(a.got.v[i].event.name, b.got.v[i].event.name) == 0;
    catch_close(&a.got);
    catch_close(&b.got);
    return same;
}

TEST(arrows_that_are_passed_over_as_a_whole_are_counted_as_those_that_are_read)
{
    struct buf events = {0};
    put_arrows(&events, 3000);
    for (size_t piece = 0; piece < 300; piece += 97)
        CHECK(arrows_are_alike(&events, piece));
    struct imported m = import_arrows(&events, true, 0);
    CHECK_INT(m.result.count[IMPORTED_KEPT], 750 + 173);
    CHECK_INT(m.result.count[IMPORTED_FLOWS], 3000 - 750 - 173);
    catch_close(&m.got);
    buf_free(&events);
}

TEST(broken_bytes_in_arrows_are_seen_whether_they_are_passed_over_or_read)
{
    static const char bytes[] = "\"\\,:{}[]0-.eN \n\x01\xc3";
    uint64_t seed = 1;
    for (unsigned round = 0; round < 2000; round++) {
        struct buf events = {0};
        put_arrows(&events, 24);
        for (unsigned k = 0; k < 1 + round % 3; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            events.p[(seed >> 20) % events.len] = (uint8_t)bytes[(seed >> 50) % (sizeof bytes - 1)];
        }
        CHECK(arrows_are_alike(&events, round % 50));
        buf_free(&events);
    }
}

TEST(an_arrow_with_a_key_twice_is_counted_each_time)
{
    struct buf events = {0};
    char text[160];
    for (unsigned i = 0; i < 9; i++) {
        const int n =
            snprintf(text, sizeof text,
                     "%s{\"ph\": \"s\", \"id\": %u, \"id\": %u, \"cat\": \"ac2g\", \"name\": "
                     "\"ac2g\"}",
                     i ? "," : "", i, i);
        buf_put(&events, text, (size_t)n);
    }
    struct imported m = import_arrows(&events, true, 0);
    CHECK_INT(m.result.count[IMPORTED_FLOWS], 9);
    CHECK_INT(m.result.count[IMPORTED_DUPLICATES], 9);
    catch_close(&m.got);
    buf_free(&events);
}
