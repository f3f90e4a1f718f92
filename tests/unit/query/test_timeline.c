/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes and slices, what ran in an interval, slices by name. */
#include "base/mem.h"
#include "query/eventsum.h"
#include "query/recordkit.h"
#include "query/timeline.h"
#include "test.h"

struct opened {
    struct run *run;
    struct arena arena;
};

/* One span around all of them, told at the end. */
static void put_around(struct recordkit *k, int64_t end)
{
    const struct track t = {.kind = TRACK_THREAD, .pid = 7, .id = 7};
    const struct event v = {.at = {900},
                            .dur_ns = end - 900,
                            .kind = EVENT_SPAN,
                            .category = CAT_COMM,
                            .name = "epoch"};
    struct sink *s = writer_sink(k->events);
    s->ops->events(s, &t, &v, 1);
}

static struct opened record_all(const char *folder, const char *text, unsigned times, bool around)
{
    const char *path = kit_run(folder, folder, folder, KIT_START);
    struct recordkit k = recordkit_open(path, "a");
    struct opened o = {0};
    struct err e;
    int64_t at = 1000;
    for (unsigned i = 0; i < times; i++)
        at = recordkit_thread(k.events, 7, 7, at, text);
    if (around)
        put_around(&k, at);
    recordkit_close(&k, 0, at + 1000, "finished");
    OK(run_open(&o.run, path, &e));
    return o;
}

static struct opened record(const char *folder, const char *text, unsigned times)
{
    return record_all(folder, text, times, false);
}

static void close_run(struct opened *o)
{
    run_close(o->run);
    arena_free(&o->arena);
}

static struct timeline_ask ask_of(int64_t from, int64_t to, size_t px)
{
    return (struct timeline_ask){.from = {KIT_START + from},
                                 .to = {KIT_START + to},
                                 .px = px,
                                 .rank = -1,
                                 .detail = true,
                                 .limit = 1000,
                                 .budget = 1000000};
}

/* "user 0:1000+90, data 1:1000+5": name, row, start and duration; x3 behind when merged. */
static const char *slices_text(struct opened *o, const struct timeline_ask *ask,
                               struct timeline *out)
{
    static char text[4096];
    struct err e;
    size_t len = 0;
    OK(timeline_read(o->run, ask, &o->arena, out, &e));
    text[0] = '\0';
    for (size_t i = 0; i < out->n_slices; i++) {
        const struct timeline_slice *s = &out->slices[i];
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%s %u:%lld+%lld", i ? ", " : "",
                                out->names[s->name], s->row, (long long)(s->start - KIT_START),
                                (long long)s->dur_ns);
        if (s->merged)
            len += (size_t)snprintf(text + len, sizeof text - len, "x%u", s->merged);
    }
    return text;
}

static int by_start(const void *a, const void *b)
{
    const struct timeline_slice *x = a, *y = b;
    return x->row != y->row ? (int)x->row - (int)y->row
                            : (x->start > y->start) - (x->start < y->start);
}

TEST(nested_spans_get_rows_by_their_depth)
{
    struct opened o = record("nested", "B90(F20 .10 O30(X5)) .10 F7", 1);
    struct timeline t;
    struct err e;
    const struct timeline_ask ask = ask_of(0, 5000, 5000);
    OK(timeline_read(o.run, &ask, &o.arena, &t, &e));
    CHECK_INT(t.n_lanes, 1);
    CHECK_INT(t.lanes[0].depth, 3);
    CHECK_STR(t.lanes[0].node, "a");
    CHECK_INT(t.n_slices, 5);
    qsort(t.slices, t.n_slices, sizeof *t.slices, by_start);
    static const struct {
        unsigned row;
        int64_t start, dur;
    } want[] = {{0, 1000, 90}, {0, 1100, 7}, {1, 1000, 20}, {1, 1030, 30}, {2, 1030, 5}};
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        CHECK_INT(t.slices[i].row, want[i].row);
        CHECK_INT(t.slices[i].start - KIT_START, want[i].start);
        CHECK_INT(t.slices[i].dur_ns, want[i].dur);
    }
    CHECK(!t.cut);
    close_run(&o);
}

TEST(spans_narrower_than_a_pixel_become_one_that_says_how_many)
{
    struct opened o = record("merged", "F2 .1 B3 .1 F2", 1);
    struct timeline t;
    struct timeline_ask ask = ask_of(1000, 2000, 10); /* a pixel is 100 ns */
    CHECK_STR(slices_text(&o, &ask, &t), "forward 0:1000+4x2, backward 0:1003+3");
    ask.px = 1000;
    CHECK_STR(slices_text(&o, &ask, &t), "forward 0:1000+2, backward 0:1003+3, forward 0:1007+2");
    close_run(&o);
}

/* How long the slices of a name take together, and how many events they stand for. */
static void add_up(const struct timeline *t, const char *name, int64_t *dur_ns, uint64_t *events)
{
    *dur_ns = 0;
    *events = 0;
    for (size_t i = 0; i < t->n_slices; i++) {
        if (strcmp(t->names[t->slices[i].name], name) != 0)
            continue;
        *dur_ns += t->slices[i].dur_ns;
        *events += MAX_OF(t->slices[i].merged, 1u);
    }
}

TEST(however_far_out_each_name_keeps_its_time_and_its_number)
{
    struct opened o = record("names", "B9(F2 O3) .1 F5 .1", 500);
    struct timeline t;
    struct err e;
    const struct timeline_ask ask = ask_of(0, 20000, 20); /* 60 rounds are a pixel */
    int64_t dur_ns;
    uint64_t events;
    OK(timeline_read(o.run, &ask, &o.arena, &t, &e));
    CHECK(t.n_slices <= 4 * 20);
    add_up(&t, "forward", &dur_ns, &events);
    CHECK_INT(dur_ns, 500 * 7);
    CHECK_INT(events, 1000);
    add_up(&t, "backward", &dur_ns, &events);
    CHECK_INT(dur_ns, 500 * 9);
    CHECK_INT(events, 500);
    add_up(&t, "optimizer", &dur_ns, &events);
    CHECK_INT(dur_ns, 500 * 3);
    CHECK_INT(events, 500);
    for (size_t i = 1; i < t.n_slices; i++)
        CHECK(t.slices[i - 1].start <= t.slices[i].start);
    close_run(&o);
}

TEST(where_there_is_no_room_for_each_name_neighbours_join_under_that_of_the_longest)
{
    struct opened o = record("crowded", "F1 .1 B3 .1 F1 .93", 100);
    struct timeline t;
    struct err e;
    struct timeline_ask ask = ask_of(1000, 11000, 100); /* a round is a pixel */
    OK(timeline_read(o.run, &ask, &o.arena, &t, &e));
    CHECK_INT(t.n_slices, 200);
    static const size_t limits[] = {150, 40}; /* too many at the end, or long before */
    for (size_t k = 0; k < COUNT_OF(limits); k++) {
        ask.limit = limits[k];
        OK(timeline_read(o.run, &ask, &o.arena, &t, &e));
        CHECK_INT(t.n_slices, MIN_OF(ask.limit, (size_t)100));
        CHECK_INT(t.cut, ask.limit < 100);
        for (size_t i = 0; i < t.n_slices; i++) {
            CHECK_STR(t.names[t.slices[i].name], "backward");
            CHECK_INT(t.slices[i].merged, 3);
            CHECK_INT(t.slices[i].dur_ns, 5);
            CHECK_INT(t.slices[i].start - KIT_START, 1000 + 100 * (int64_t)i);
        }
    }
    close_run(&o);
}

TEST(only_what_lies_in_the_window_is_drawn)
{
    struct opened o = record("window", "F100 B100 O100", 1);
    struct timeline t;
    const struct timeline_ask ask = ask_of(1150, 1160, 100);
    CHECK_STR(slices_text(&o, &ask, &t), "backward 0:1100+100");
    close_run(&o);
}

TEST(more_slices_than_the_limit_are_cut_and_that_is_said)
{
    struct opened o = record("limit", "F100 .100", 50);
    struct timeline t;
    struct timeline_ask ask = ask_of(0, 20000, 20000);
    struct err e;
    ask.limit = 20;
    OK(timeline_read(o.run, &ask, &o.arena, &t, &e));
    CHECK_INT(t.n_slices, 20);
    CHECK(t.cut);
    close_run(&o);
}

TEST(a_track_with_more_events_than_the_budget_is_drawn_by_its_intervals)
{
    struct opened o = record("budget", "F100 .100", 50);
    struct timeline t;
    struct timeline_ask ask = ask_of(0, 20000, 200);
    struct err e;
    ask.budget = 10;
    OK(timeline_read(o.run, &ask, &o.arena, &t, &e));
    CHECK_INT(t.n_slices, 1);
    CHECK_INT(t.slices[0].merged, 50);
    CHECK(t.cut);
    close_run(&o);
}

static enum event_category category_of(const struct timeline *t, const char *name)
{
    for (size_t i = 0; i < t->n_slices; i++)
        if (strcmp(t->names[t->slices[i].name], name) == 0)
            return t->slices[i].category;
    return CAT_N;
}

/* All names of two pictures of the same window. */
static void same_sums(const struct timeline *got, const struct timeline *want)
{
    static const char *const names[] = {"epoch", "forward", "backward", "optimizer"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        int64_t got_ns, want_ns;
        uint64_t got_events, want_events;
        add_up(got, names[i], &got_ns, &got_events);
        add_up(want, names[i], &want_ns, &want_events);
        CHECK(want_events > 0);
        CHECK_INT(got_events, want_events);
        CHECK_INT(got_ns, want_ns);
        CHECK_INT(category_of(got, names[i]), category_of(want, names[i]));
    }
}

TEST(an_overview_keeps_the_time_and_the_number_of_each_name)
{
    enum { ROUNDS = 160000 }; /* several intervals */
    struct opened o = record_all("overview", "B9(F2 O3) .1 F5 .1", ROUNDS, true);
    struct timeline_overview over;
    struct timeline exact, t;
    struct err e;
    struct timeline_ask ask = ask_of(0, 2000 + INT64_C(16) * ROUNDS, 100);
    ask.budget = UINT64_MAX;
    OK(timeline_read(o.run, &ask, &o.arena, &exact, &e));
    OK(timeline_overview_read(o.run, 1, &o.arena, &over, &e));
    ask.budget = 10;
    ask.overview = &over;
    OK(timeline_read(o.run, &ask, &o.arena, &t, &e));
    CHECK(!t.cut && t.n_slices > 100 && t.n_slices <= 6 * 100);
    CHECK_INT(t.n_lanes, 1);
    CHECK_INT(t.lanes[0].depth, 3);
    CHECK_INT(exact.lanes[0].depth, 3);
    CHECK_STR(t.lanes[0].title, exact.lanes[0].title);
    same_sums(&t, &exact);
    ask.px = 100000; /* finer than the overview, but there is nothing else within the budget */
    OK(timeline_read(o.run, &ask, &o.arena, &t, &e));
    CHECK(t.cut);
    close_run(&o);
}

TEST(a_window_of_the_overview_has_what_lies_in_it_and_what_began_before_and_goes_on)
{
    enum { ROUNDS = 160000, ALL = 2000 + 16 * ROUNDS };
    struct opened o = record_all("within", "B9(F2 O3) .1 F5 .1", ROUNDS, true);
    struct timeline_overview over;
    struct err e;
    OK(timeline_overview_read(o.run, 1, &o.arena, &over, &e));
    CHECK(over.n_levels > 1);
    for (int64_t span = ALL / 8; span < ALL / 2; span *= 2) {
        static const char *const names[] = {"forward", "backward", "optimizer", "epoch"};
        struct timeline_ask ask = ask_of(ALL / 3, ALL / 3 + span, 150);
        const int64_t pixel = span / 150;
        struct timeline exact, t;
        ask.budget = UINT64_MAX;
        OK(timeline_read(o.run, &ask, &o.arena, &exact, &e));
        ask.budget = 10;
        ask.overview = &over;
        OK(timeline_read(o.run, &ask, &o.arena, &t, &e));
        CHECK(!t.cut && t.n_slices > 150);
        for (size_t i = 0; i < COUNT_OF(names); i++) {
            int64_t got_ns, want_ns;
            uint64_t got, want;
            add_up(&t, names[i], &got_ns, &got);
            add_up(&exact, names[i], &want_ns, &want);
            CHECK(want > 0 && got > 0);
            CHECK(llabs(got_ns - want_ns) <= 2 * pixel);
        }
    }
    close_run(&o);
}

TEST(a_window_finer_than_the_overview_is_drawn_from_its_events)
{
    struct opened o = record("finer", "F100 B100 .100", 1000);
    struct timeline_overview over;
    struct timeline exact, t;
    struct err e;
    struct timeline_ask ask = ask_of(100000, 101000, 1000);
    OK(timeline_read(o.run, &ask, &o.arena, &exact, &e));
    OK(timeline_overview_read(o.run, 1, &o.arena, &over, &e));
    ask.overview = &over;
    OK(timeline_read(o.run, &ask, &o.arena, &t, &e));
    CHECK_INT(t.n_slices, exact.n_slices);
    CHECK(!t.cut);
    OK(timeline_overview_read(o.run, 5000, &o.arena, &over, &e)); /* too few for one */
    CHECK_INT(over.n_levels, 0);
    close_run(&o);
}

TEST(what_came_after_the_overview_was_made_is_drawn_by_its_intervals)
{
    enum { ROUNDS = 100000 };
    struct opened o = record("after", "F300 B100 .100", ROUNDS);
    struct timeline_overview over;
    struct timeline t;
    struct err e;
    struct timeline_ask ask = ask_of(0, 2000 + INT64_C(500) * ROUNDS, 100);
    OK(timeline_overview_read(o.run, 1, &o.arena, &over, &e));
    over.to.ns = KIT_START + INT64_C(250) * ROUNDS;
    ask.overview = &over;
    OK(timeline_read(o.run, &ask, &o.arena, &t, &e));
    CHECK(t.cut);
    size_t intervals = 0;
    for (size_t i = 0; i < t.n_slices; i++)
        if (strstr(t.names[t.slices[i].name], "zoom in")) {
            CHECK(t.slices[i].start >= over.to.ns);
            intervals++;
        }
    CHECK(intervals > 0);
    close_run(&o);
}

TEST(many_steps_in_a_pixel_are_one_slice_that_counts_them)
{
    enum { N = 3000 };
    struct opened o = record("joined", "F1", 1);
    struct step_mark *steps = xcalloc(N, sizeof *steps);
    struct timeline_ask ask = ask_of(0, N * 10, 30); /* 100 steps are a pixel */
    struct timeline t;
    struct err e;
    int64_t dur_ns;
    uint64_t n;
    for (int i = 0; i < N; i++)
        steps[i] = (struct step_mark){KIT_START + i * 10, 8, 10, i, i % 7 == 6};
    const struct rank_marks rank = {"a", 0, 7, steps, N};
    ask.ranks = &rank;
    ask.n_ranks = 1;
    OK(timeline_read(o.run, &ask, &o.arena, &t, &e));
    CHECK(t.n_slices <= 2 * 31 + 1);
    add_up(&t, "eval", &dur_ns, &n);
    CHECK_INT(n, N / 7);
    CHECK_INT(dur_ns, N / 7 * 8);
    add_up(&t, "train", &dur_ns, &n);
    CHECK_INT(n, N - N / 7);
    free(steps);
    close_run(&o);
}

TEST(steps_are_called_by_their_number_until_they_are_too_narrow)
{
    struct opened o = record("steps", "F1", 1);
    struct step_mark steps[] = {{KIT_START + 100, 50, 100, 3, MODE_TRAIN},
                                {KIT_START + 200, 50, 50, 4, MODE_EVAL}};
    const struct rank_marks rank = {"a", 0, 7, steps, 2};
    struct timeline t;
    struct timeline_ask ask = ask_of(90, 400, 310);
    ask.ranks = &rank;
    ask.n_ranks = 1;
    CHECK_STR(slices_text(&o, &ask, &t), "train 3 0:100+50, eval 4 0:200+50");
    CHECK_INT(t.lanes[0].kind, LANE_STEPS);
    ask.px = 1;
    CHECK_STR(slices_text(&o, &ask, &t), "train 0:100+50, eval 0:200+50");
    close_run(&o);
}

static const struct event_sum *sum_named(const struct event_sum *v, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(v[i].name, name) == 0)
            return &v[i];
    test_fail(__FILE__, __LINE__, "no %s", name);
}

static struct event_window window_of(int64_t from, int64_t to)
{
    return (struct event_window){
        .from = {KIT_START + from}, .to = {KIT_START + to}, .rank = -1, .budget = 1000000};
}

TEST(an_interval_counts_only_the_part_of_a_span_that_lies_in_it)
{
    struct opened o = record("clipped", "F100 B100 O100 F100", 1);
    const struct event_window w = window_of(1050, 1250);
    struct event_sum *v;
    struct err e;
    size_t n;
    OK(event_sums_within(o.run, &w, &o.arena, &v, &n, &e));
    CHECK_INT(n, 3);
    CHECK_STR(v[0].name, "backward"); /* the longest first */
    NEAR(v[0].total_s, 100e-9, 1e-15);
    NEAR(sum_named(v, n, "forward")->total_s, 50e-9, 1e-15);
    NEAR(sum_named(v, n, "optimizer")->total_s, 50e-9, 1e-15);
    CHECK_INT(sum_named(v, n, "forward")->count, 1);
    CHECK(!v[0].estimated);
    close_run(&o);
}

TEST(an_interval_with_too_many_events_is_estimated_and_says_so)
{
    enum { ROUNDS = 100000 }; /* several intervals */
    struct opened o = record("estimated", "F300 B100 .100", ROUNDS);
    struct event_window w = window_of(0, 1000 + INT64_C(500) * ROUNDS);
    struct event_sum *v;
    struct err e;
    uint64_t cost;
    size_t n;
    w.budget = 1000;
    OK(event_sums_within(o.run, &w, &o.arena, &v, &n, &e));
    CHECK_INT(n, 2);
    CHECK(v[0].estimated && v[1].estimated);
    CHECK_STR(v[0].name, "forward");
    NEAR((double)v[0].count, ROUNDS, 0.01 * ROUNDS);
    NEAR(v[0].total_s, 300e-9 * ROUNDS, 3e-9 * ROUNDS);
    NEAR(v[0].p50_s, 300e-9, 1e-12);
    OK(event_sums_cost(o.run, &w, &o.arena, &cost, &e));
    CHECK(cost > 0 && cost < ROUNDS);
    w.budget = 2 * ROUNDS;
    OK(event_sums_within(o.run, &w, &o.arena, &v, &n, &e));
    CHECK(!v[0].estimated);
    CHECK_INT(v[0].count, ROUNDS);
    close_run(&o);
}

TEST(a_track_in_one_interval_is_summed_up_however_small_the_budget)
{
    struct opened o = record("one", "F100 .100", 400);
    struct event_window w = window_of(0, 100000);
    struct event_sum *v;
    struct err e;
    size_t n;
    w.budget = 100;
    OK(event_sums_within(o.run, &w, &o.arena, &v, &n, &e));
    CHECK_INT(n, 1);
    CHECK_INT(v[0].count, 400);
    CHECK(!v[0].estimated);
    close_run(&o);
}

TEST(search_finds_spans_by_a_part_of_their_name_in_any_case)
{
    struct opened o = record("search", "F100 B100 O100", 30);
    struct search_ask ask = {.text = "WARD", .limit = 10, .budget = 1000000};
    struct search_result got;
    struct err e;
    OK(search_read(o.run, &ask, &o.arena, &got, &e));
    CHECK_INT(got.count, 60);
    CHECK_INT(got.n, 10);
    CHECK(!got.cut);
    CHECK_STR(got.v[0].name, "forward");
    CHECK_INT(got.v[0].at.ns - KIT_START, 1000);
    CHECK_INT(got.v[1].dur_ns, 100);
    ask.text = "nothing";
    OK(search_read(o.run, &ask, &o.arena, &got, &e));
    CHECK_INT(got.count, 0);
    ask.text = "ward";
    ask.from.ns = KIT_START + 1000 + 29 * 300;
    OK(search_read(o.run, &ask, &o.arena, &got, &e));
    CHECK_INT(got.count, 2);
    ask.budget = 5;
    OK(search_read(o.run, &ask, &o.arena, &got, &e));
    CHECK(got.cut);
    close_run(&o);
}
