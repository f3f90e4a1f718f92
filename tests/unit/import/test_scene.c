/* SPDX-License-Identifier: Apache-2.0 */
/* Scenes: what a line means, and what is said about one that means nothing. */
#include "base/mem.h"
#include "import/scene.h"
#include "import_catch.h"
#include "record/group.h"

#define S NS_PER_S

static struct scene parsed(struct arena *a, const char *text)
{
    struct scene s;
    struct err e;
    OK(scene_parse(text, strlen(text), a, &s, &e));
    return s;
}

/* The sentence that the scene is refused with. */
static const char *refused(const char *text)
{
    static struct err e;
    struct arena a = {0};
    struct scene s;
    CHECK(scene_parse(text, strlen(text), &a, &s, &e) < 0);
    arena_free(&a);
    return e.msg;
}

static double at(const struct scene *s, size_t series, double seconds)
{
    return scene_value(s, &s->series[series], (int64_t)(seconds * 1e9));
}

TEST(a_node_says_what_it_has)
{
    struct arena a = {0};
    const struct scene s = parsed(&a, "scene 1\nnode a cores=16 gpus=2 memory=64GiB # big\n");
    CHECK_STR(s.nodes[0].id, "a");
    CHECK_INT(s.nodes[0].cores, 16);
    CHECK_INT(s.nodes[0].gpus, 2);
    CHECK_INT(s.nodes[0].memory_bytes, (int64_t)64 << 30);
    CHECK_INT(s.interval_ns, 500 * NS_PER_MS);
    arena_free(&a);
}

TEST(pieces_of_a_series_are_flat_or_ramps_or_waves_and_missing_elsewhere)
{
    struct arena a = {0};
    const struct scene s =
        parsed(&a, "scene 1\nnode a\n"
                   "a cpu.util total 0s..10s 24  20s..30s 10 to 20  30s..40s 5 for 2s, 95 for 1s\n"
                   "a cpu.util total 35s..36s none\n");
    CHECK_INT(s.n_series, 1);
    NEAR(at(&s, 0, 0), 24, 0);
    NEAR(at(&s, 0, 9.9), 24, 0);
    CHECK(isnan(at(&s, 0, 10)));
    NEAR(at(&s, 0, 25), 15, 1e-9);
    NEAR(at(&s, 0, 31.9), 5, 0);
    NEAR(at(&s, 0, 32), 95, 0);
    NEAR(at(&s, 0, 33), 5, 0);
    CHECK(isnan(at(&s, 0, 35))); /* what was said last counts */
    NEAR(at(&s, 0, 36), 5, 0);
    CHECK(isnan(at(&s, 0, 40)));
    arena_free(&a);
}

TEST(noise_stays_within_its_bounds_and_is_the_same_every_time)
{
    struct arena a = {0};
    const char *text = "scene 1\nnode a gpus=2\nseed 7\na gpu.util gpu* 0s..1000s 50 noise 10\n";
    const struct scene s = parsed(&a, text), again = parsed(&a, text);
    double lo = 100, hi = 0, sum = 0;
    CHECK_INT(s.n_series, 2);
    CHECK_STR(s.series[1].entity, "gpu1");
    for (int i = 0; i < 1000; i++) {
        const double v = at(&s, 0, i);
        NEAR(v, at(&again, 0, i), 0);
        CHECK(v != at(&s, 1, i)); /* each series has its own */
        lo = fmin(lo, v);
        hi = fmax(hi, v);
        sum += v;
    }
    CHECK(lo >= 40 && lo < 41 && hi <= 60 && hi > 59);
    NEAR(sum / 1000, 50, 0.6);
    arena_free(&a);
}

TEST(a_star_is_every_node_and_every_device)
{
    struct arena a = {0};
    const struct scene s = parsed(&a, "scene 1\nnode a cores=2\nnode b cores=3\n"
                                      "* cpu.util cpu* 0s..1s 5\n* mem.util 0s..1s 5\n");
    CHECK_INT(s.n_series, 7);
    CHECK_STR(s.series[4].entity, "cpu2");
    CHECK_STR(s.series[5].entity, "total");
    arena_free(&a);
}

/* "t0 10+1, e0 11+2, c 13+3": what the rank does, in seconds. */
static const char *walk_text(struct arena *a, const struct scene *s, size_t rank)
{
    struct scene_walk w;
    struct scene_doing d;
    const char *text = "";
    scene_walk_begin(&w, s, &s->ranks[rank]);
    while (scene_walk_next(&w, &d)) {
        const double start = (double)d.start_ns / 1e9, took = (double)d.dur_ns / 1e9;
        const char *comma = *text ? ", " : "";
        text = d.is_step
                   ? arena_printf(a, "%s%s%c%lld %g+%g", text, comma, event_mode_names[d.mode][0],
                                  (long long)d.number, start, took)
                   : arena_printf(a, "%s%sc %g+%g", text, comma, start, took);
    }
    return text;
}

TEST(a_rank_does_its_steps_one_after_the_other_with_what_comes_between)
{
    struct arena a = {0};
    const struct scene s =
        parsed(&a, "scene 1\nnode a\n"
                   "rank 0 on a: steps 4 x 1s from 10s pause 1s; every 3 takes 5s in data\n"
                   "rank 0 on a: eval 2 x 500ms every 2; checkpoint 3s every 4\n"
                   "rank 0 on a: steps 1 x 2s\n"
                   "rank 0 on a: steps 1 x 2s from 60s mode eval\n");
    CHECK_INT(s.n_ranks, 1);
    CHECK_STR(walk_text(&a, &s, 0),
              "t0 10+1, t1 12+1, e0 13+0.5, e1 13.5+0.5, t2 15+5, t3 21+1, e2 22+0.5, e3 22.5+0.5, "
              "c 23+3, t4 26+2, e4 60+2");
    arena_free(&a);
}

TEST(several_ranks_can_be_said_at_once)
{
    struct arena a = {0};
    const struct scene s = parsed(&a, "scene 1\nnode a\nrank 0..2 on a: steps 2 x 1s; device 1\n"
                                      "rank 1 on a: step 0 takes 9s\n");
    CHECK_INT(s.n_ranks, 3);
    CHECK_INT(s.ranks[2].device, 1);
    CHECK_STR(walk_text(&a, &s, 0), "t0 0+1, t1 1+1");
    CHECK_STR(walk_text(&a, &s, 1), "t0 0+9, t1 9+1");
    arena_free(&a);
}

TEST(the_cpu_time_of_a_rank_is_counted_every_second)
{
    struct arena a = {0};
    const struct scene s = parsed(&a, "scene 1\nnode a\nrank 0 on a: cpu 98% 5s..8s\n");
    const struct scene_rank *r = &s.ranks[0];
    CHECK_INT(r->n_events, 4);
    for (size_t i = 0; i < r->n_events; i++) {
        CHECK_STR(r->events[i].name, "cpu.process");
        CHECK_INT(r->events[i].at_ns, (int64_t)(5 + i) * S);
        CHECK_INT(r->events[i].value, (int64_t)i * 980 * NS_PER_MS);
    }
    arena_free(&a);
}

TEST(a_place_that_waits_has_a_number_of_calls_and_a_time)
{
    struct arena a = {0};
    const struct scene s =
        parsed(&a, "scene 1\nnode a\nrank 0 on a: waits item train.py:31 2000 x 50us at 30s\n");
    const struct scene_rank *r = &s.ranks[0];
    CHECK_INT(r->n_events, 2);
    CHECK_STR(r->events[0].name, "sync.calls item train.py:31");
    CHECK_INT(r->events[0].value, 2000);
    CHECK_STR(r->events[1].name, "sync.ns item train.py:31");
    CHECK_INT(r->events[1].value, 100 * NS_PER_MS);
    CHECK_INT(r->events[1].at_ns, 30 * S);
    arena_free(&a);
}

TEST(notes_for_tests_are_kept_as_they_stand)
{
    struct arena a = {0};
    const struct scene s =
        parsed(&a, "scene 1\nnode a\nset Rule.x=5\n  expect Rule issue says \"a # b\"  # why\n");
    CHECK_INT(s.n_notes, 2);
    CHECK_STR(s.notes[0].text, "Rule.x=5");
    CHECK_STR(s.notes[1].text, "Rule issue says \"a # b\"");
    CHECK_INT(s.notes[1].line, 4);
    arena_free(&a);
}

TEST(errors_name_the_line_and_the_cause)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"node a\n", "the first line must be 'scene 1'"},
        {"scene 12\nnode a\n", "the first line must be 'scene 1'"},
        {"scene 1\n", "the scene has no node"},
        {"scene 1\nnode a\n\nfoo 5\n", "line 4: 'foo' is neither a node"},
        {"scene 1\nnode a\nnode a\n", "line 3: node 'a' is already declared"},
        {"scene 1\nnode a/b\n", "line 2: 'a/b' is not a valid node name"},
        {"scene 1\nnode a cores=x\n", "line 2: 'cores=x' is not a number"},
        {"scene 1\nnode a disks=1\n", "'disks=1' is not one of cores=, gpus=, memory="},
        {"scene 1\nnode a\na cpu.utl 0s..1s 5\n", "did you mean cpu.util?"},
        {"scene 1\nnode a\na cpu.util total 5\n", "'5' is not a time range"},
        {"scene 1\nnode a\na cpu.util 5s..5s 5\n", "'5s..5s' is not a time range"},
        {"scene 1\nnode a\na cpu.util 0s..5s\n", "'the end of the line' is not a value"},
        {"scene 1\nnode a\na cpu.util 0s..5s x\n", "'x' is not a value"},
        {"scene 1\nnode a\na cpu.util 0s..5s 5 for 0s\n", "needs a duration"},
        {"scene 1\nnode a\na gpu.util gpu* 0s..5s 5\n", "does not declare its number"},
        {"scene 1\nnode a\ninterval 0\n", "at least 1ms"},
        {"scene 1\nnode a\nrank 0 on b: steps 1 x 1s\n", "unknown node 'b'"},
        {"scene 1\nnode a\nrank x on a: steps 1 x 1s\n", "'x' is not a rank"},
        {"scene 1\nnode a\nrank 0 on a: steps 0 x 1s\n", "'0' is not a number between 1"},
        {"scene 1\nnode a\nrank 0 on a: steps 1 x 1s frob=1%\n", "'frob' is not a part of a step"},
        {"scene 1\nnode a\nrank 0 on a: steps 1 x 1s data=101%\n", "neither a share"},
        {"scene 1\nnode a\nrank 0 on a: every 5 takes 1s\n", "must come after the steps"},
        {"scene 1\nnode a\nrank 0 on a: dance\n", "'dance' is not an activity of a rank"},
        {"scene 1\nnode a\nnode b\nrank 0 on a: device 1\nrank 0 on b: device 1\n",
         "rank 0 is already declared on node 'a'"},
        {"scene 1\nnode a\nrank 0 on a: loader workers=2\n", "is not a loader property"},
        {"scene 1\nnode a\nrank 0 on a: cpu much 0s..9s\n", "'much' is not a CPU utilization"},
        {"scene 1\nnode a\nrank 0..999 on a: cpu 9% 0s..1h\n", "seconds of CPU time"},
        {"scene 1\nnode a\nrank 0 on a: waits item\n", "needs a name"},
        {"scene 1\nnode a\njob 0s..5s exit 0 now\n", "unexpected 'now'"},
        {"scene 1\nnode a\na mark 5s dance\n", "unknown mark 'dance'"},
        {"scene 1\nnode a\nexpect\n", "expected a value after 'expect'"},
        {"scene 1\nnode a\nrank 0 on a: steps 10000000 x 100h\n", "more than eight weeks"},
        {"scene 1\nnode a\ninterval 1ms\na cpu.util 0s..160h 5\n", "too large"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (!strstr(refused(rows[i].text), rows[i].says))
            test_fail(__FILE__, __LINE__, "%zu: \"%s\" does not say \"%s\"", i,
                      refused(rows[i].text), rows[i].says);
}

/* ---- the importer ---- */

struct heard {
    struct catch catch; /* first: the sink is this */
    size_t rows, marks;
    double first[4];
    struct mark last;
};

static void on_row(struct sink *s, struct group *g, mono_ns t)
{
    struct heard *h = (struct heard *)s;
    (void)t;
    for (slot_id i = 0; h->rows == 0 && i < MIN_OF(g->n, 4u); i++)
        h->first[i] = (double)g->cells[i] * g->slots[i].step;
    h->rows++;
}

static void on_mark(struct sink *s, const struct mark *m)
{
    struct heard *h = (struct heard *)s;
    h->marks++;
    h->last = *m;
}

static void import(struct heard *h, const char *text, struct import_result *r)
{
    static const struct sink_ops ops = {.row = on_row, .mark = on_mark, .events = catch_events};
    struct bytes_memory in;
    struct err e;
    *h = (struct heard){.catch = {.sink = {&ops}}};
    bytes_memory_init(&in, text, strlen(text), 7);
    const struct import_ask ask = {
        .in = &in.in, .sink = &h->catch.sink, .wall_minus_mono_ns = SCENE_START_NS};
    OK(importer_scene.run(&ask, r, &e));
}

TEST(gauges_and_rates_come_out_in_the_unit_of_their_metric)
{
    struct heard h;
    struct import_result r;
    import(&h,
           "scene 1\nnode a\na cpu.util 0s..5s 91.3\na job.rss 0s..5s 2GiB\n"
           "a gpu.mem gpu0 0s..5s 44.9\na net.rx total 0s..5s 1MB\n",
           &r);
    CHECK_INT(h.rows, 10);
    NEAR(h.first[0], 91.3, 1e-9);
    NEAR(h.first[1], 2147483648.0, 0);
    NEAR(h.first[2], 44.9, 1e-9);
    NEAR(h.first[3], 1e6, 2);
    CHECK_INT(r.count[IMPORTED_READINGS], 40);
    catch_close(&h.catch);
}

TEST(a_rank_says_who_it_is_and_its_steps_hold_their_parts)
{
    struct heard h;
    struct import_result r;
    import(&h,
           "scene 1\nnode a\nrank 3 on a: steps 1 x 1s from 5s data=40% forward=100ms batch 8\n",
           &r);
    CHECK_INT(catch_find(&h.catch, "process.rank")->event.value, 3);
    const struct event *data = &catch_find(&h.catch, "data")->event;
    CHECK_INT(data->at.ns, 5 * S);
    CHECK_INT(data->dur_ns, 400 * NS_PER_MS);
    CHECK_INT(catch_find(&h.catch, "forward")->event.at.ns, 5 * S + 400 * NS_PER_MS);
    CHECK_INT(catch_find(&h.catch, "batch.size")->event.value, 8);
    CHECK_INT(h.catch.v[h.catch.n - 1].event.kind, EVENT_STEP);
    CHECK_INT(r.count[IMPORTED_KEPT], h.catch.n);
    catch_close(&h.catch);
}

TEST(what_an_odd_step_takes_longer_goes_to_the_part_that_is_named)
{
    struct heard h;
    struct import_result r;
    import(&h, "scene 1\nnode a\nrank 0 on a: steps 1 x 1s forward=50%; step 0 takes 3s in comm\n",
           &r);
    CHECK_INT(catch_find(&h.catch, "forward")->event.dur_ns, S / 2);
    CHECK_INT(catch_find(&h.catch, "comm")->event.dur_ns, 2 * S);
    catch_close(&h.catch);
}

TEST(a_span_without_an_end_is_cut_where_the_scene_ends)
{
    struct heard h;
    struct import_result r;
    import(&h, "scene 1\nnode a\nrank 0 on a: span data 5s..\njob 0s..9s exit 3\n", &r);
    const struct event *data = &catch_find(&h.catch, "data")->event;
    CHECK_INT(data->dur_ns, 4 * S);
    CHECK_INT(data->end, END_CUT);
    CHECK_INT(h.marks, 3);
    CHECK_INT(h.last.id, MARK_JOB_END);
    CHECK_INT(h.last.at.ns, 9 * S);
    catch_close(&h.catch);
}

TEST(workers_fetch_in_turns_for_as_long_as_there_are_steps)
{
    struct heard h;
    struct import_result r;
    import(&h,
           "scene 1\nnode a\nrank 0 on a: steps 4 x 1s from 2s; workers 2 fetch 600ms every 1s\n",
           &r);
    size_t n = 0;
    for (size_t i = 0; i < h.catch.n; i++)
        n += strcmp(h.catch.v[i].event.name, "worker.fetch") == 0;
    CHECK_INT(n, 7); /* the last turn of the second one would end too late */
    catch_close(&h.catch);
}
