/* SPDX-License-Identifier: Apache-2.0 */
/* What tracks are called in the end, whenever it is told; and writers that keep their tail in
 * memory and may move events afterwards. */
#include <unistd.h>

#include "base/mem.h"
#include "store/eventkit.h"
#include "test.h"

static void rename_track(struct writer *w, struct track *t, const char *process, const char *name)
{
    struct sink *s = writer_sink(w);
    memset(t->process, 0, sizeof t->process);
    memset(t->name, 0, sizeof t->name);
    snprintf(t->process, sizeof t->process, "%s", process);
    snprintf(t->name, sizeof t->name, "%s", name);
    s->ops->events(s, t, NULL, 0);
}

/* Enough events for more than one segment. */
static void tell_many(struct writer *w, const struct track *t)
{
    struct err e;
    for (int i = 0; i < 150000; i++) {
        const struct event v = {
            .at = {i * 1000},
            .dur_ns = 10 + i * 7919 % 1000,
            .kind = EVENT_SPAN,
            .name = "x",
            .link = (uint64_t)i * 0x9e3779b97f4a7c15u, /* takes bytes */
        };
        kit_tell(writer_sink(w), t, &v);
        if (i % 20000 == 0)
            OK(writer_flush(w, false, &e));
    }
}

static void check_names(const char *path, const char *process, const char *name, size_t blocks)
{
    struct store *s;
    struct err e;
    OK(store_open(&s, path, &e));
    CHECK(s->n_events >= blocks);
    for (uint32_t i = 0; i < s->n_events; i++) {
        CHECK_STR(s->events[i].track.process, process);
        CHECK_STR(s->events[i].track.name, name);
    }
    CHECK_INT(s->n_losses, 0);
    store_close(s);
}

TEST(a_name_told_after_all_events_is_that_of_all_of_them)
{
    struct kit_pair w = kit_open_pair(kit_path("node-a"));
    struct track t = {.pid = 7, .id = 8};
    struct err e;
    const uint64_t first = writer_tail(w.events);
    tell_many(w.events, &t);
    CHECK(writer_tail(w.events) > first);
    OK(writer_flush(w.events, false, &e));
    rename_track(w.events, &t, "python", "loader");
    OK(writer_flush(w.events, false, &e));
    check_names(kit_path("node-a/events.fp"), "python", "loader", 2); /* from the tail */
    kit_close_pair(&w);
    check_names(kit_path("node-a/events.fp"), "python", "loader", 2);
}

TEST(a_name_told_when_a_new_tail_has_begun_is_kept_though_no_event_follows)
{
    struct kit_pair w = kit_open_pair(kit_path("node-a"));
    struct track t = {.pid = 7, .id = 8}, other = {.pid = 7, .id = 9};
    struct err e;
    tell_many(w.events, &t);
    const uint64_t tail = writer_tail(w.events);
    while (writer_tail(w.events) == tail) {
        tell_many(w.events, &other);
        OK(writer_flush(w.events, false, &e));
    }
    rename_track(w.events, &t, "python", "loader");
    rename_track(w.events, &other, "python", "loader");
    kit_close_pair(&w);
    check_names(kit_path("node-a/events.fp"), "python", "loader", 2);
}

TEST(an_empty_name_does_not_take_the_place_of_one_that_was_told)
{
    struct kit_pair w = kit_open_pair(kit_path("node-a"));
    struct track t = kit_track(0), bare = t;
    const struct event v = {.kind = EVENT_MARK, .name = "x"};
    kit_tell(writer_sink(w.events), &t, &v);
    memset(bare.process, 0, sizeof bare.process);
    memset(bare.name, 0, sizeof bare.name);
    kit_tell(writer_sink(w.events), &bare, &v);
    rename_track(w.events, &bare, "", "");
    kit_close_pair(&w);
    check_names(kit_path("node-a/events.fp"), t.process, t.name, 1);
}

TEST(a_writer_in_bulk_has_no_tail_and_no_lock_and_reads_back_the_same)
{
    struct kit_pair w = kit_open_bulk(kit_path("node-a")),
                    plain = kit_open_pair(kit_path("node-b"));
    struct track t = kit_track(0);
    tell_many(w.events, &t);
    tell_many(plain.events, &t);
    rename_track(w.events, &t, "python", "loader");
    rename_track(plain.events, &t, "python", "loader");
    CHECK(access(kit_path("node-a/events.tail"), F_OK) != 0);
    CHECK(access(kit_path("node-a/lock"), F_OK) != 0);
    CHECK(access(kit_path("node-b/events.tail"), F_OK) == 0);
    kit_close_pair(&w);
    kit_close_pair(&plain);
    struct kit_events a = kit_events_path(kit_path("node-a/events.fp"));
    struct kit_events b = kit_events_path(kit_path("node-b/events.fp"));
    CHECK_INT(a.n, 150000);
    CHECK(kit_events_same(&a, &b));
    check_names(kit_path("node-a/events.fp"), "python", "loader", 2);
    kit_events_free(&a);
    kit_events_free(&b);
}

/* Of several tracks in turns, with every field in some of them. */
static void tell_mixed(struct sink *s, struct kit_events *told)
{
    static const char *const names[] = {"aten::mm", "", "a name\nwith a line", "x"};
    for (int i = 0; i < 30000; i++) {
        const struct track t = kit_track((unsigned)(i * 31 % 7));
        const struct event v = {
            .at = {(i * 7919 % 30000) * (int64_t)100 - 5000},
            .dur_ns = i % 3 ? i % 500 : -(i % 2),
            .kind = i % 5 ? EVENT_SPAN : EVENT_MARK,
            .category = i % 2 ? CAT_OP : CAT_KERNEL,
            .end = i % 11  ? END_KNOWN
                   : i % 2 ? END_OPEN
                           : END_CUT,
            .name = names[i % 4],
            .args = i % 6 ? NULL : "dims=[1, 2]",
            .value = i % 9 ? 0 : -i,
            .link = i % 8 ? 0 : (uint64_t)i,
            .parent = i % 10 ? 0 : (uint64_t)i << 40,
        };
        struct event kept = v;
        kept.dur_ns = MAX_OF(v.dur_ns, 0);
        kit_tell(s, &t, &v);
        if (v.end != END_OPEN)
            kit_events_add(told, &t, &kept);
    }
    kit_events_sort(told);
}

TEST(a_writer_in_bulk_keeps_every_field_of_events_of_many_tracks_but_none_that_is_open)
{
    struct kit_pair w = kit_open_bulk(kit_path("node-a"));
    struct kit_events told = {0};
    const struct event bad = {.at = {INT64_MAX}, .kind = EVENT_MARK, .name = "x"};
    struct writer_stats stats;
    const struct track t = kit_track(0);
    tell_mixed(writer_sink(w.events), &told);
    CHECK(writer_pending(w.events) > 30000);
    kit_tell(writer_sink(w.events), &t, &bad);
    writer_get_stats(w.events, &stats);
    CHECK_INT(stats.events, 30000);
    CHECK_INT(stats.events_dropped, 1);
    kit_close_pair(&w);
    struct kit_events got = kit_events_path(kit_path("node-a/events.fp"));
    CHECK_INT(got.n, told.n);
    CHECK(kit_events_same(&got, &told));
    kit_events_free(&got);
    kit_events_free(&told);
}

TEST(a_text_at_the_address_of_another_is_another)
{
    struct kit_pair w = kit_open_bulk(kit_path("node-a"));
    struct kit_events told = {0};
    const struct track t = kit_track(0);
    char name[8];
    for (int i = 0; i < 12; i++) {
        struct event v = {.at = {i}, .kind = EVENT_MARK, .name = name};
        snprintf(name, sizeof name, "n%d", i < 3 ? i : i / 3);
        kit_tell(writer_sink(w.events), &t, &v);
        kit_events_add(&told, &t, &v);
    }
    kit_close_pair(&w);
    struct kit_events got = kit_events_path(kit_path("node-a/events.fp"));
    kit_events_sort(&told);
    CHECK(kit_events_same(&got, &told));
    kit_events_free(&got);
    kit_events_free(&told);
}
