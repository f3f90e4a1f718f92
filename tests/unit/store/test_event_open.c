/* SPDX-License-Identifier: Apache-2.0 */
/* What has begun and not ended: shown from a tail, never kept in blocks, never twice. */
#include "base/mem.h"
#include "store/eventkit.h"
#include "test.h"

static struct event span(const char *name, int64_t at, int64_t dur, enum event_end end)
{
    return (struct event){.at = {at}, .dur_ns = dur, .kind = EVENT_SPAN, .name = name, .end = end};
}

static void tell(struct kit_pair *w, const struct track *t, struct event v)
{
    kit_tell(writer_sink(w->events), t, &v);
}

static void flush(struct kit_pair *w)
{
    struct err e;
    OK(writer_flush(w->events, false, &e));
}

static struct kit_events look(void)
{
    return kit_events_path(kit_path("node-a/events.fp"));
}

static void check(const struct kit_events *l, size_t i, const char *name, int64_t dur,
                  enum event_end end)
{
    CHECK(i < l->n);
    CHECK_STR(l->v[i].event.name, name);
    CHECK_INT(l->v[i].event.dur_ns, dur);
    CHECK_INT(l->v[i].event.end, end);
}

TEST(an_open_span_lasts_until_its_process_was_last_seen)
{
    struct kit_pair w = kit_open_pair(kit_path("node-a"));
    const struct track main = kit_track(0), stranger = kit_track(1);
    struct track other = kit_track(0);
    other.id++; /* a thread of the same process */
    tell(&w, &main, span("epoch", 100, 0, END_OPEN));
    tell(&w, &main, span("forward", 150, 20, END_KNOWN));
    tell(&w, &other, span("copy", 200, 300, END_KNOWN));
    tell(&w, &stranger, span("far", 9000, 1, END_KNOWN));
    flush(&w);
    struct kit_events l = look();
    CHECK_INT(l.n, 4);
    check(&l, 0, "epoch", 400, END_OPEN);
    check(&l, 1, "forward", 20, END_KNOWN);
    kit_events_free(&l);
    kit_close_pair(&w);
}

TEST(how_long_an_open_span_has_lasted_may_be_told_with_it)
{
    struct kit_pair w = kit_open_pair(kit_path("node-a"));
    const struct track t = kit_track(0);
    tell(&w, &t, span("step", 50, 0, END_OPEN));
    tell(&w, &t, span("epoch", 100, 7000, END_OPEN));
    flush(&w);
    struct kit_events l = look();
    CHECK_INT(l.n, 2);
    check(&l, 0, "step", 7050, END_OPEN);
    check(&l, 1, "epoch", 7000, END_OPEN);
    kit_events_free(&l);
    kit_close_pair(&w);
}

TEST(an_open_span_gives_way_to_the_same_one_with_an_end)
{
    struct kit_pair w = kit_open_pair(kit_path("node-a"));
    const struct track t = kit_track(0);
    tell(&w, &t, span("a", 100, 0, END_OPEN));
    tell(&w, &t, span("b", 110, 0, END_OPEN));
    tell(&w, &t, span("b", 110, 40, END_KNOWN));
    tell(&w, &t, span("a", 100, 90, END_CUT));
    flush(&w);
    struct kit_events l = look();
    CHECK_INT(l.n, 2);
    check(&l, 0, "a", 90, END_CUT);
    check(&l, 1, "b", 40, END_KNOWN);
    kit_events_free(&l);
    kit_close_pair(&w);
}

TEST(an_end_told_before_the_open_one_counts_as_well)
{
    struct kit_pair w = kit_open_pair(kit_path("node-a"));
    const struct track t = kit_track(0);
    tell(&w, &t, span("a", 100, 90, END_KNOWN));
    tell(&w, &t, span("a", 100, 0, END_OPEN));
    flush(&w);
    struct kit_events l = look();
    CHECK_INT(l.n, 1);
    check(&l, 0, "a", 90, END_KNOWN);
    kit_events_free(&l);
    kit_close_pair(&w);
}

TEST(only_the_same_track_kind_name_and_begin_end_an_open_span)
{
    struct kit_pair w = kit_open_pair(kit_path("node-a"));
    const struct track t = kit_track(0), other = kit_track(1);
    tell(&w, &t, span("a", 100, 0, END_OPEN));
    tell(&w, &other, span("a", 100, 5, END_KNOWN));
    tell(&w, &t, span("b", 100, 5, END_KNOWN));
    tell(&w, &t, span("a", 101, 5, END_KNOWN));
    struct event step = span("a", 100, 5, END_KNOWN);
    step.kind = EVENT_STEP;
    tell(&w, &t, step);
    flush(&w);
    struct kit_events l = look();
    CHECK_INT(l.n, 5);
    check(&l, 0, "a", 6, END_OPEN); /* to the end of the last one */
    kit_events_free(&l);
    kit_close_pair(&w);
}

TEST(an_open_span_told_again_and_again_is_shown_once)
{
    struct kit_pair w = kit_open_pair(kit_path("node-a"));
    const struct track t = kit_track(0);
    for (int i = 0; i < 100; i++) {
        tell(&w, &t, span("a", 100, 0, END_OPEN));
        tell(&w, &t, span("b", 100, i, END_OPEN));
        tell(&w, &t, span("tick", 1000 + i, 1, END_KNOWN));
        flush(&w);
    }
    struct kit_events l = look();
    CHECK_INT(l.n, 102);
    check(&l, 0, "a", 1000, END_OPEN);
    check(&l, 1, "b", 1000, END_OPEN);
    kit_events_free(&l);
    kit_close_pair(&w);
}

TEST(a_closed_file_holds_no_open_span)
{
    struct kit_pair w = kit_open_pair(kit_path("node-a"));
    const struct track t = kit_track(0), only = kit_track(1);
    tell(&w, &t, span("a", 100, 0, END_OPEN));
    tell(&w, &t, span("b", 110, 5, END_KNOWN));
    tell(&w, &only, span("c", 110, 5, END_OPEN));
    kit_close_pair(&w);
    struct kit_events l = look();
    CHECK_INT(l.n, 1);
    check(&l, 0, "b", 5, END_KNOWN);
    kit_events_free(&l);
}

/* Tells small ones until the tail is sealed. */
static int64_t tell_until_sealed(struct kit_pair *w, const struct track *t, int64_t at)
{
    const uint64_t tail = writer_tail(w->events);
    while (writer_tail(w->events) == tail) {
        for (int i = 0; i < 50000; i++, at += 1000)
            tell(w, t, span("tick", at, 10 + at % 977, END_KNOWN));
        flush(w);
    }
    return at;
}

TEST(an_open_span_told_again_after_sealing_is_shown_and_its_end_kept_once)
{
    struct kit_pair w = kit_open_pair(kit_path("node-a"));
    const struct track t = kit_track(0);
    tell(&w, &t, span("epoch", 100, 0, END_OPEN));
    const int64_t at = tell_until_sealed(&w, &t, 1000);
    const size_t ticks = (size_t)(at - 1000) / 1000;
    struct kit_events l = look();
    CHECK_INT(l.n, ticks); /* sealed without it, and not told again yet */
    kit_events_free(&l);
    tell(&w, &t, span("epoch", 100, at, END_OPEN));
    flush(&w);
    l = look();
    CHECK_INT(l.n, ticks + 1);
    check(&l, 0, "epoch", at, END_OPEN);
    kit_events_free(&l);
    tell(&w, &t, span("epoch", 100, at + 5, END_KNOWN));
    flush(&w);
    for (int closed = 0; closed < 2; closed++) {
        l = look();
        CHECK_INT(l.n, ticks + 1);
        check(&l, 0, "epoch", at + 5, END_KNOWN);
        kit_events_free(&l);
        if (!closed)
            kit_close_pair(&w);
    }
}

TEST(open_spans_of_many_tracks_and_blocks_are_sorted_out)
{
    struct kit_pair w = kit_open_pair(kit_path("node-a"));
    enum { TRACKS = 20, EACH = 5000 };
    for (unsigned k = 0; k < TRACKS; k++) {
        const struct track t = kit_track(k);
        for (int i = 0; i < EACH; i++) {
            tell(&w, &t, span("a", i * 100, 0, END_OPEN));
            if (i % 2)
                tell(&w, &t, span("a", i * 100, 50, END_KNOWN));
        }
    }
    flush(&w);
    struct kit_events l = look();
    CHECK_INT(l.n, TRACKS * EACH);
    for (size_t i = 0; i < l.n; i++) {
        const int64_t n = (int64_t)(i % EACH);
        check(&l, i, "a", n % 2 ? 50 : (EACH - 1) * 100 + 50 - n * 100,
              n % 2 ? END_KNOWN : END_OPEN);
    }
    kit_events_free(&l);
    kit_close_pair(&w);
}
