/* SPDX-License-Identifier: Apache-2.0 */
/* test_health.c - training health from the real writer: index, curves, pictures. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "query/counters.h"
#include "query/event_flow.h"
#include "query/health.h"
#include "query/recordkit.h"
#include "query/steps.h"
#include "test.h"

static struct event event_of(int64_t at_ms, int64_t step, const char *name, double value)
{
    struct event v = {
        .at = {at_ms * NS_PER_MS}, .kind = EVENT_REAL, .name = name, .link = (uint64_t)(step + 1)};
    memcpy(&v.value, &value, sizeof v.value);
    return v;
}

static void put(struct writer *w, uint32_t pid, enum health_id stat, const struct event *v,
                size_t n)
{
    struct track t = {.kind = TRACK_HEALTH, .pid = pid, .id = stat};
    struct sink *s = writer_sink(w);
    snprintf(t.process, sizeof t.process, "python train.py");
    snprintf(t.name, sizeof t.name, "%s", health_words[stat].name);
    s->ops->events(s, &t, v, n);
}

static void put_one(struct writer *w, enum health_id stat, int64_t at_ms, int64_t step,
                    const char *name, double value)
{
    const struct event v = event_of(at_ms, step, name, value);
    put(w, 7, stat, &v, 1);
}

static void put_eval(struct writer *w, int64_t at_ms, int64_t step, const char *name, double value)
{
    struct event v = event_of(at_ms, step, name, value);
    v.mode = MODE_EVAL;
    put(w, 7, HEALTH_SCALAR, &v, 1);
}

struct opened {
    struct run *run;
    struct arena arena;
};

static struct opened open_run(const char *path)
{
    struct opened o = {0};
    struct err e;
    OK(run_open(&o.run, path, &e));
    return o;
}

static void close_run(struct opened *o)
{
    run_close(o->run);
    arena_free(&o->arena);
}

static struct health_curve curve_of(struct opened *o, const struct health_curve_ask *ask)
{
    struct health_curve c;
    struct err e;
    OK(health_curve(o->run, ask, &o->arena, &c, &e));
    return c;
}

static struct health_matrix matrix_of(struct opened *o, const struct health_matrix_ask *ask)
{
    struct health_matrix m;
    struct err e;
    OK(health_matrix(o->run, ask, &o->arena, &m, &e));
    return m;
}

/* 20 steps with a loss and a learning rate, an evaluation, two samples of three tensors. */
static const char *small_run(void)
{
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    recordkit_thread(k.events, 7, 7, 0, "S9:0(F5) S9:1(F5)");
    recordkit_fact(k.events, 7, 7, "process.rank", 0);
    for (int i = 0; i < 20; i++) {
        put_one(k.events, HEALTH_SCALAR, 10 * i, i, "loss", i == 13 ? (double)NAN : 20 - i);
        put_one(k.events, HEALTH_SCALAR, 10 * i, i, "lr", 0.1);
    }
    put_eval(k.events, 200, 19, "loss", 3);
    static const char *const names[] = {"a.weight", "a.bias", "b.weight"};
    for (int sample = 0; sample < 2; sample++)
        for (int i = 0; i < 3; i++)
            if (sample == 0 || i != 1)
                put_one(k.events, HEALTH_GRADIENT_L2, 100 * sample, 10 * sample, names[i],
                        sample && i == 2 ? (double)INFINITY : 1 + i + 10 * sample);
    recordkit_close(&k, 0, 1000 * NS_PER_MS, "finished");
    return run;
}

TEST(the_index_lists_scalars_by_name_and_mode_with_their_ends)
{
    struct opened o = open_run(small_run());
    struct health_index x;
    struct err e;
    OK(health_index(o.run, &o.arena, &x, &e));
    CHECK_INT(x.n_ranks, 1);
    CHECK_INT(x.ranks[0].rank, 0);
    CHECK_INT(x.n_scalars, 3);
    CHECK_STR(x.scalars[0].name, "loss");
    CHECK_INT(x.scalars[0].mode, MODE_TRAIN);
    CHECK_INT(x.scalars[0].count, 20);
    CHECK_INT(x.scalars[0].nonfinite, 1);
    CHECK_INT(x.scalars[0].nonfinite_step, 13);
    CHECK_INT(x.scalars[0].first_step, 0);
    CHECK_INT(x.scalars[0].last_step, 19);
    CHECK(x.scalars[0].first == 20 && x.scalars[0].last == 1);
    CHECK(x.scalars[0].min == 1 && x.scalars[0].max == 20);
    CHECK_INT(x.scalars[0].min_step, 19);
    CHECK_STR(x.scalars[1].name, "lr");
    CHECK_INT(x.scalars[1].min_step, 0); /* the first of equal ones */
    CHECK_INT(x.scalars[2].mode, MODE_EVAL);
    CHECK_INT(x.scalars[2].count, 1);
    CHECK_INT(x.n_stats, 1);
    CHECK_INT(x.stats[0].stat, HEALTH_GRADIENT_L2);
    CHECK_INT(x.stats[0].values, 5);
    CHECK_INT(x.stats[0].tensors, 3);
    CHECK_INT(x.n_tensors, 3);
    CHECK_INT(x.values, 46);
    close_run(&o);
}

TEST(a_curve_has_every_value_when_there_is_room)
{
    struct opened o = open_run(small_run());
    const struct health_curve c =
        curve_of(&o, &(struct health_curve_ask){.rank = -1, .name = "loss", .mode = MODE_TRAIN});
    CHECK_INT(c.n, 20);
    CHECK_INT(c.nonfinite, 1);
    CHECK_INT(c.v[3].step, 3);
    CHECK_INT(c.v[3].at.ns, KIT_START + 30 * NS_PER_MS);
    CHECK(c.v[3].mean == 17 && c.v[3].last == 17);
    CHECK(isnan(c.v[13].mean) && isnan(c.v[13].last));
    CHECK_INT(c.v[13].nonfinite, 1);
    close_run(&o);
}

TEST(a_thinned_curve_keeps_minimum_maximum_and_what_was_not_finite)
{
    struct opened o = open_run(small_run());
    const struct health_curve c = curve_of(
        &o, &(struct health_curve_ask){.rank = 0, .name = "loss", .mode = MODE_TRAIN, .points = 5});
    CHECK(c.n <= 5 && c.n >= 3);
    uint32_t count = 0, nonfinite = 0;
    double min = INFINITY, max = -INFINITY;
    for (size_t i = 0; i < c.n; i++) {
        count += c.v[i].count;
        nonfinite += c.v[i].nonfinite;
        min = fmin(min, c.v[i].min);
        max = fmax(max, c.v[i].max);
        CHECK(c.v[i].min <= c.v[i].mean && c.v[i].mean <= c.v[i].max);
        CHECK(i == 0 || c.v[i].step == c.v[i - 1].last_step + 1);
    }
    CHECK_INT(count, 20);
    CHECK_INT(nonfinite, 1);
    CHECK(min == 1 && max == 20);
    close_run(&o);
}

TEST(a_curve_may_be_a_part_of_the_steps_and_of_the_time)
{
    struct opened o = open_run(small_run());
    struct health_curve c = curve_of(
        &o, &(struct health_curve_ask){
                .rank = -1, .name = "loss", .mode = MODE_TRAIN, .from_step = 5, .to_step = 8});
    CHECK_INT(c.n, 3);
    CHECK_INT(c.v[0].step, 5);
    c = curve_of(
        &o, &(struct health_curve_ask){
                .rank = -1, .name = "loss", .mode = -1, .from = {KIT_START + 185 * NS_PER_MS}});
    CHECK_INT(c.n, 2); /* step 19 and the evaluation */
    c = curve_of(&o, &(struct health_curve_ask){.rank = -1, .name = "none", .mode = -1});
    CHECK_INT(c.n, 0);
    CHECK_INT(c.rank, -1);
    close_run(&o);
}

TEST(a_picture_tells_what_was_not_measured_from_what_was_not_finite)
{
    struct opened o = open_run(small_run());
    const struct health_matrix m = matrix_of(
        &o, &(struct health_matrix_ask){.rank = -1, .stat = HEALTH_GRADIENT_L2, .columns = 100});
    CHECK_INT(m.n_rows, 3);
    CHECK_INT(m.n_columns, 2);
    CHECK_INT(m.samples, 2);
    CHECK_INT(m.nonfinite, 1);
    CHECK_INT(m.columns[1].step, 10);
    for (size_t i = 0; i < 3; i++) {
        const float second = health_cell(&m, i, 1);
        if (strcmp(m.names[i], "a.weight") == 0)
            CHECK(health_cell(&m, i, 0) == 1 && second == 11);
        else if (strcmp(m.names[i], "a.bias") == 0)
            CHECK(health_cell(&m, i, 0) == 2 && isnan(second));
        else
            CHECK(health_cell(&m, i, 0) == 3 && isinf(second));
    }
    close_run(&o);
}

TEST(a_pattern_chooses_tensors_and_a_bad_one_is_refused)
{
    struct opened o = open_run(small_run());
    struct health_matrix m = matrix_of(
        &o,
        &(struct health_matrix_ask){.rank = -1, .stat = HEALTH_GRADIENT_L2, .pattern = "^a\\."});
    CHECK_INT(m.n_rows, 2);
    m = matrix_of(&o,
                  &(struct health_matrix_ask){.rank = -1, .stat = HEALTH_GRADIENT_L2, .rows = 1});
    CHECK_INT(m.n_rows, 1);
    CHECK_INT(m.more_rows, 2);
    static const char *const bad[] = {"(", "a{1,255}", "(a)\\1"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct err e;
        CHECK_INT(health_matrix(o.run,
                                &(struct health_matrix_ask){
                                    .rank = -1, .stat = HEALTH_GRADIENT_L2, .pattern = bad[i]},
                                &o.arena, &m, &e),
                  ERR_USAGE);
    }
    close_run(&o);
}

enum { SAMPLES = 3000, TENSORS = 20 };

/* Large enough for several blocks. */
static const char *long_run(void)
{
    const char *run = kit_run("long", "long", "long", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    for (int s = 0; s < SAMPLES; s++) {
        struct event v[TENSORS];
        char names[TENSORS][16];
        for (int i = 0; i < TENSORS; i++) {
            snprintf(names[i], sizeof names[i], "layer.%d", i);
            v[i] = event_of(s, s * 50, names[i], s == 1234 && i == 7 ? 1e6 : i + s % 7);
        }
        put(k.events, 7, HEALTH_GRADIENT_L2, v, TENSORS);
        put(k.events, 7, HEALTH_OUTPUT_MEAN, v, TENSORS);
        put_one(k.events, HEALTH_SCALAR, s, s * 50, "loss", s);
    }
    recordkit_close(&k, 0, 10000 * NS_PER_MS, "finished");
    return run;
}

TEST(a_thinned_picture_merges_as_the_statistic_says)
{
    struct opened o = open_run(long_run());
    const struct health_matrix m = matrix_of(
        &o, &(struct health_matrix_ask){.rank = -1, .stat = HEALTH_GRADIENT_L2, .columns = 100});
    CHECK_INT(m.n_rows, TENSORS);
    CHECK(m.n_columns <= 100 && m.n_columns > 50);
    CHECK_INT(m.samples, SAMPLES);
    uint32_t samples = 0;
    size_t peaks = 0;
    for (size_t k = 0; k < m.n_columns; k++) {
        samples += m.columns[k].samples;
        CHECK(k == 0 || m.columns[k].step == m.columns[k - 1].last_step + 50);
        CHECK_STR(m.names[7], "layer.7");
        peaks += health_cell(&m, 7, k) == 1e6f;
        CHECK(health_cell(&m, 3, k) == 9); /* the largest of 3 + 0..6 */
    }
    CHECK_INT(samples, SAMPLES);
    CHECK_INT(peaks, 1);
    const struct health_matrix mean = matrix_of(
        &o, &(struct health_matrix_ask){.rank = -1, .stat = HEALTH_OUTPUT_MEAN, .columns = 10});
    NEAR((double)health_cell(&mean, 3, 0), 6, 0.2);
    close_run(&o);
}

TEST(a_long_curve_is_thinned_to_what_fits_and_loses_no_value)
{
    struct opened o = open_run(long_run());
    const struct health_curve c = curve_of(
        &o, &(struct health_curve_ask){.rank = -1, .name = "loss", .mode = -1, .points = 300});
    CHECK(c.n <= 300 && c.n > 100);
    CHECK_INT(c.values, SAMPLES);
    CHECK(c.v[0].min == 0 && c.v[c.n - 1].max == SAMPLES - 1);
    CHECK_INT(c.v[c.n - 1].last_step, (SAMPLES - 1) * 50);
    close_run(&o);
}

/* The sum of ten times 0.1 is not 1. */
TEST(a_thinned_curve_of_equal_values_is_flat)
{
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    for (int i = 0; i < 3000; i++)
        put_one(k.events, HEALTH_SCALAR, i, i, "lr", 0.1);
    recordkit_close(&k, 0, 4000 * NS_PER_MS, "finished");
    struct opened o = open_run(run);
    const struct health_curve c = curve_of(
        &o, &(struct health_curve_ask){.rank = -1, .name = "lr", .mode = -1, .points = 30});
    CHECK(c.n > 10);
    for (size_t i = 0; i < c.n; i++)
        CHECK(c.v[i].mean == 0.1);
    close_run(&o);
}

/* Histograms have several values of one name at one time. */
TEST(values_of_one_name_and_time_are_all_kept)
{
    const char *run = kit_run("h", "h", "h", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    for (int64_t bin = 0; bin < 5; bin++) {
        const struct event v = {
            .at = {5}, .kind = EVENT_COUNT, .name = "w", .value = bin << 48 | (bin + 1), .link = 1};
        put(k.events, 7, HEALTH_GRADIENT_EXPONENTS, &v, 1);
        put(k.events, 7, HEALTH_GRADIENT_EXPONENTS, &v, 1); /* even the same one twice */
    }
    recordkit_close(&k, 0, 1000 * NS_PER_MS, "finished");
    struct opened o = open_run(run);
    struct run_track *t;
    size_t n;
    struct err e;
    OK(events_health_tracks(o.run, &o.arena, &t, &n, &e));
    CHECK_INT(n, 1);
    CHECK_INT(t[0].events, 10);
    struct run_event *v;
    OK(events_read(o.run, &t[0], (wall_ns){0}, (wall_ns){0}, &o.arena, &v, &n, &e));
    CHECK_INT(n, 10);
    close_run(&o);
}

TEST(health_is_no_track_of_the_timeline_no_counter_and_no_step)
{
    struct opened o = open_run(small_run());
    struct run_track *t;
    struct rank_steps *ranks;
    struct counters c;
    size_t n;
    struct err e;
    OK(events_tracks(o.run, &o.arena, &t, &n, &e));
    CHECK_INT(n, 1);
    CHECK_INT(t[0].track.kind, TRACK_THREAD);
    OK(events_health_tracks(o.run, &o.arena, &t, &n, &e));
    CHECK_INT(n, 2);
    CHECK_INT(t[0].track.id, HEALTH_SCALAR);
    CHECK_INT(t[1].track.id, HEALTH_GRADIENT_L2);
    OK(counters_read(
        o.run,
        &(struct counters_ask){.from = {KIT_START}, .to = {KIT_START + NS_PER_S}, .columns = 10},
        &o.arena, &c, &e));
    CHECK_INT(c.n, 0);
    OK(steps_read(o.run, &o.arena, &ranks, &n, &e));
    CHECK_INT(n, 1);
    CHECK_INT(ranks[0].n, 2);
    close_run(&o);
}

TEST(a_recorder_that_was_killed_leaves_health_that_can_be_read)
{
    const char *run = kit_run("k", "k", "k", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    for (int i = 0; i < 50; i++)
        put_one(k.events, HEALTH_SCALAR, i, i, "loss", i);
    struct opened o = open_run(recordkit_killed(&k, "copy"));
    const struct health_curve c =
        curve_of(&o, &(struct health_curve_ask){.rank = -1, .name = "loss", .mode = -1});
    CHECK_INT(c.n, 50);
    close_run(&o);
    recordkit_close(&k, 0, NS_PER_S, "finished");
}

TEST(processes_without_a_rank_get_numbers_and_a_restart_keeps_both_parts)
{
    const char *run = kit_run("p", "p", "p", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    for (uint32_t pid = 7; pid < 9; pid++)
        for (int i = 0; i < 10; i++) {
            const struct event v = event_of(10 * i, i % 6, "loss", pid);
            put(k.events, pid, HEALTH_SCALAR, &v, 1);
        }
    recordkit_close(&k, 0, NS_PER_S, "finished");
    struct opened o = open_run(run);
    struct health_index x;
    struct err e;
    OK(health_index(o.run, &o.arena, &x, &e));
    CHECK_INT(x.n_ranks, 2);
    CHECK_INT(x.ranks[1].rank, 1);
    const struct health_curve c =
        curve_of(&o, &(struct health_curve_ask){.rank = 1, .name = "loss", .mode = -1});
    CHECK_INT(c.n, 10); /* steps 0 to 5, then 0 to 3 once more */
    CHECK(c.v[0].mean == 8);
    CHECK_INT(c.v[6].step, 0);
    close_run(&o);
}

TEST(a_run_without_health_has_an_empty_index)
{
    const char *run = kit_run("e", "e", "e", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    recordkit_thread(k.events, 7, 7, 0, "S9:0(F5)");
    recordkit_close(&k, 0, NS_PER_S, "finished");
    struct opened o = open_run(run);
    struct health_index x;
    struct err e;
    OK(health_index(o.run, &o.arena, &x, &e));
    CHECK_INT(x.n_ranks + x.n_scalars + x.n_stats + x.n_tensors + x.values, 0);
    close_run(&o);
}
