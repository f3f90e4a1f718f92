/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "base/mem.h"
#include "query/recordkit.h"
#include "test.h"

struct opened {
    struct run *run;
    struct arena arena;
    struct rank_steps *ranks;
    size_t n;
};

static struct opened open_steps(const char *path)
{
    struct opened o = {0};
    struct err e;
    OK(run_open(&o.run, path, &e));
    OK(steps_read(o.run, &o.arena, &o.ranks, &o.n, &e));
    return o;
}

static void close_steps(struct opened *o)
{
    run_close(o->run);
    arena_free(&o->arena);
}

/* kit_steps_text on the clock of the recorded run. */
static const char *steps_of(const struct opened *o, size_t rank)
{
    const struct rank_steps *r = &o->ranks[rank];
    CHECK(rank < o->n);
    for (size_t i = 0; i < r->n; i++)
        r->steps[i].start.ns -= KIT_START - KIT_WALL;
    return kit_steps_text(r->steps, r->n);
}

TEST(ranks_of_two_nodes_come_in_order_each_with_its_steps)
{
    const char *run = kit_run("r", "r", "r", KIT_START);
    for (uint32_t node = 0; node < 2; node++) {
        struct recordkit k = recordkit_open(run, node ? "b" : "a");
        for (uint32_t i = 0; i < 2; i++) {
            const uint32_t pid = 90 - i, rank = 2 * (1 - node) + i;
            recordkit_fact(k.events, pid, pid, "process.rank", rank);
            recordkit_thread(k.events, pid, pid, 1000 * (rank + 1), "D1 F1 B1 O1 D1 F1 B1 O1");
        }
        recordkit_close(&k, 0, NS_PER_S, "finished");
    }
    struct opened o = open_steps(run);
    CHECK_INT(o.n, 4);
    for (int64_t i = 0; i < 4; i++) {
        CHECK_INT(o.ranks[i].rank, i);
        CHECK_STR(o.ranks[i].node, i < 2 ? "b" : "a");
        CHECK_INT(o.ranks[i].n, 2);
        CHECK_INT(o.ranks[i].steps[0].start.ns, KIT_START + 1000 * (i + 1));
    }
    CHECK_STR(steps_of(&o, 3), "t0 4000+4, t1 4004+4");
    close_steps(&o);
}

TEST(the_thread_that_trains_is_the_one_with_most_of_it)
{
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    recordkit_thread(k.events, 7, 7, 100,
                     "U1 U1 U1 U1 U1 U1 U1 U1 U1 C1 C1 C1 C1 C1 C1 C1 C1 C1 C1 D1 F1");
    recordkit_thread(k.events, 7, 9, 200, "D1 F1 B1 O1 D1 F1 B1 O1");
    recordkit_thread(k.events, 7, 8, 300, "E1");
    recordkit_close(&k, 0, NS_PER_S, "finished");
    struct opened o = open_steps(run);
    CHECK_INT(o.n, 1);
    CHECK_STR(steps_of(&o, 0), "t0 200+4, t1 204+4");
    close_steps(&o);
}

TEST(workers_and_processes_without_steps_are_left_out)
{
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    recordkit_fact(k.events, 5, 5, "process.worker", 0);
    recordkit_thread(k.events, 5, 5, 100, "D1 F1 B1 O1");
    recordkit_thread(k.events, 6, 6, 100, "U1 K1 F1");
    recordkit_thread(k.events, 7, 7, 100, "D1 F1 B1 O1");
    recordkit_close(&k, 0, NS_PER_S, "finished");
    struct opened o = open_steps(run);
    CHECK_INT(o.n, 1);
    CHECK_INT(o.ranks[0].process->pid, 7);
    CHECK_INT(o.ranks[0].rank, 0);
    close_steps(&o);
}

TEST(ranks_that_nobody_said_are_numbered_by_pid_beside_those_that_were_said)
{
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    recordkit_fact(k.events, 8, 8, "process.rank", 1);
    for (uint32_t pid = 10; pid > 7; pid--)
        recordkit_thread(k.events, pid, pid, 100, "D1 F1 B1 O1");
    recordkit_close(&k, 0, NS_PER_S, "finished");
    struct opened o = open_steps(run);
    CHECK_INT(o.n, 3);
    CHECK_INT(o.ranks[0].process->pid, 9);
    CHECK_INT(o.ranks[1].process->pid, 8);
    CHECK_INT(o.ranks[2].process->pid, 10);
    CHECK_INT(o.ranks[2].rank, 2);
    close_steps(&o);
}

TEST(a_restarted_node_has_its_rank_once_for_each_session)
{
    const char *run = kit_run("r", "r", "r", KIT_START);
    for (int i = 0; i < 2; i++) {
        struct recordkit k = recordkit_open(run, "a");
        recordkit_thread(k.events, (uint32_t)(70 - i), 1, 1000 * (i + 1),
                         i ? "D1 F1 B1 O1" : "D1 F1 B1 O1 D1 F9!");
        recordkit_close(&k, 1000 * i, 1000 * i + 900, i ? "finished" : "interrupted");
    }
    struct opened o = open_steps(run);
    CHECK_INT(o.n, 2);
    CHECK_INT(o.ranks[0].process->session, 1);
    CHECK_INT(o.ranks[1].process->session, 2);
    CHECK_INT(o.ranks[0].rank, 0);
    CHECK_INT(o.ranks[1].rank, 0);
    CHECK_STR(steps_of(&o, 0), "t0 1000+4, t1 1004+10!");
    CHECK_STR(steps_of(&o, 1), "t0 2000+4");
    close_steps(&o);
}

TEST(a_run_that_is_read_in_mid_step_has_a_cut_one)
{
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    recordkit_thread(k.events, 7, 7, 1000, "D1 F1 B1 O1 D1 F1?");
    recordkit_thread(k.events, 7, 8, 1000, "U500");
    const char *killed = recordkit_killed(&k, "killed");
    struct opened o = open_steps(killed);
    CHECK_INT(o.n, 1);
    CHECK_INT(o.ranks[0].n, 2);
    CHECK(o.ranks[0].steps[1].cut);
    CHECK_INT(o.ranks[0].steps[1].start.ns, KIT_START + 1004);
    CHECK_INT(o.ranks[0].steps[1].dur_ns, 496); /* to where its process was last seen */
    close_steps(&o);
    /* The step goes on. */
    recordkit_thread(k.events, 7, 7, 1005, "F600 B1 O1");
    const char *later = recordkit_killed(&k, "later");
    o = open_steps(later);
    CHECK_STR(steps_of(&o, 0), "t0 1000+4, t1 1004+603");
    close_steps(&o);
    recordkit_close(&k, 0, NS_PER_S, "finished");
}

TEST(steps_that_lie_in_several_blocks_are_whole)
{
    enum { STEPS = 60000, LATE = 1234 };
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    struct err e;
    int64_t at = 1000;
    for (int i = 0; i < STEPS; i++) {
        at = recordkit_thread(k.events, 7, 7, at, "D5 N4 F3(X1) B4 O1 .7");
        if (i % 500 == 0)
            OK(writer_flush(k.events, false, &e));
    }
    recordkit_thread(k.events, 7, 7, 1000 + 20 * LATE, "K13"); /* told late */
    recordkit_close(&k, 0, NS_PER_S, "finished");
    struct opened o = open_steps(run);
    CHECK_INT(o.n, 1);
    CHECK_INT(o.ranks[0].n, STEPS);
    CHECK_STR(kit_parts_text(&o.ranks[0].steps[LATE]), "compile 1, checkpoint 12");
    for (size_t i = 0; i < STEPS; i++) {
        const struct step *s = &o.ranks[0].steps[i];
        CHECK_INT(s->number, i);
        CHECK_INT(s->start.ns, KIT_START + 1000 + 20 * (int64_t)i);
        CHECK_INT(s->dur_ns, 13);
        CHECK_INT(s->batch, 4);
        CHECK_INT(s->part_ns[1], i == LATE ? 0 : 2);
    }
    close_steps(&o);
}

/* ---- in little room ---- */

static bool same_step(const struct step *a, const struct step *b)
{
    return a->number == b->number && a->mode == b->mode && a->cut == b->cut &&
           a->marked == b->marked && a->start.ns == b->start.ns && a->dur_ns == b->dur_ns &&
           a->batch == b->batch && a->between_ns == b->between_ns &&
           a->between_sync_ns == b->between_sync_ns && a->warmup == b->warmup &&
           a->disturbed == b->disturbed && a->save_ns == b->save_ns &&
           memcmp(a->part_ns, b->part_ns, sizeof a->part_ns) == 0;
}

TEST(kept_steps_are_the_same_steps)
{
    enum { STEPS = 1000 };
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    int64_t at = 1000;
    for (int i = 0; i < STEPS; i++)
        at =
            recordkit_thread(k.events, 7, 7, at, i % 7 ? "D5 N4 F3 B4 O1 .7" : "D900000 E3 .70000");
    recordkit_close(&k, 0, NS_PER_S, "finished");
    struct opened o = open_steps(run);
    struct arena a = {0};
    struct run_steps kept;
    struct err e;
    OK(steps_read_named(o.run, &(struct steps_want){.packed = true}, &a, &kept, &e));
    CHECK_INT(kept.n_ranks, 1);
    CHECK(kept.ranks[0].n == o.ranks[0].n && o.ranks[0].n > STEPS / 2);
    CHECK(!kept.ranks[0].steps);
    for (size_t i = 0, n; i < kept.ranks[0].n; i += n) {
        struct step some[PACKED_ROWS];
        n = rank_steps_read(&kept.ranks[0], i, some);
        for (size_t s = 0; s < n; s++) {
            const struct step one = rank_step(&kept.ranks[0], i + s);
            const struct step whole = rank_step(&o.ranks[0], i + s);
            CHECK(same_step(&some[s], &o.ranks[0].steps[i + s]));
            CHECK(same_step(&one, &some[s]) && same_step(&whole, &some[s]));
        }
    }
    arena_free(&a);
    close_steps(&o);
}

/* ---- events by name ---- */

static bool is_checkpoint(enum event_id id)
{
    return id == EV_CHECKPOINT;
}

static bool is_in_order(const struct node_events *x)
{
    struct named_event v[PACKED_ROWS];
    int64_t before = INT64_MIN;
    for (size_t i = 0, n; i < x->n; i += n) {
        n = node_events_read(x, i, v);
        for (size_t k = 0; k < n; k++) {
            if (v[k].at.ns < before)
                return false;
            before = v[k].at.ns;
        }
    }
    return true;
}

TEST(events_of_a_name_come_by_node_in_order_of_time_whatever_thread_and_block_they_are_of)
{
    enum { STEPS = 30000, EACH = 1000 };
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit a = recordkit_open(run, "a"), b = recordkit_open(run, "b");
    int64_t at = 1000;
    for (int i = 0; i < STEPS; i++)
        at = recordkit_thread(a.events, 7, 7, at, i % EACH ? "D5 N4 F3 B4 O1" : "D5 F3 B4 O1 K7");
    for (int i = 0; i < 20; i++) /* another process, in between */
        recordkit_thread(a.events, 9, 9, 1500 + 20000 * i, "K3");
    recordkit_thread(b.events, 5, 5, 2000, "D5 F3 B4 O1 K2");
    recordkit_close(&a, 0, NS_PER_S, "finished");
    recordkit_close(&b, 0, NS_PER_S, "finished");
    struct arena arena = {0};
    struct run *r;
    struct run_steps steps;
    struct named_event v[PACKED_ROWS];
    struct err e;
    OK(run_open(&r, run, &e));
    OK(steps_read_named(r, &(struct steps_want){.wanted = is_checkpoint}, &arena, &steps, &e));
    CHECK_INT(steps.n_named, 2);
    CHECK_STR(steps.named[0].node, "a");
    CHECK_INT(steps.named[0].n, STEPS / EACH + 20);
    CHECK(is_in_order(&steps.named[0]));
    CHECK_STR(steps.named[1].node, "b");
    CHECK_INT(steps.named[1].n, 1);
    CHECK_INT(node_events_read(&steps.named[1], 0, v), 1);
    CHECK_INT(v[0].at.ns, KIT_START + 2013);
    CHECK_INT(v[0].dur_ns, 2);
    CHECK_INT(v[0].id, EV_CHECKPOINT);
    CHECK_INT(steps.n_ranks, 2);
    CHECK_INT(steps.ranks[0].n, STEPS);
    run_close(r);
    arena_free(&arena);
}

/* ---- numbers ---- */

static void fill(struct step *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        v[i] = (struct step){
            .number = (int64_t)i, .dur_ns = 10 * NS_PER_MS, .batch = 5, .start = {(int64_t)i}};
}

TEST(numbers_of_steps_are_those_of_a_table_of_times)
{
    struct step v[101];
    struct arena a = {0};
    struct step_stats s;
    fill(v, 101);
    for (int i = 0; i < 101; i++)
        v[i].dur_ns = (i + 1) * NS_PER_MS;
    v[7].dur_ns = v[0].dur_ns;
    v[0].dur_ns = 8 * NS_PER_MS; /* not in order */
    step_stats_of(&(struct rank_steps){.steps = v, .n = 101}, MODE_TRAIN, &a, &s);
    CHECK_INT(s.count, 101);
    NEAR(s.mean_s, 0.051, 1e-9);
    NEAR(s.min_s, 0.001, 1e-9);
    NEAR(s.p50_s, 0.051, 1e-9);
    NEAR(s.p95_s, 0.096, 1e-9);
    NEAR(s.p99_s, 0.100, 1e-9);
    NEAR(s.max_s, 0.101, 1e-9);
    NEAR(s.stddev_s, sqrt((101.0 * 101 - 1) / 12) * 1e-3, 1e-9);
    NEAR(s.throughput_steady, 5 / 0.051, 1e-6);
    CHECK_INT(s.n_outliers, 0);
    arena_free(&a);
}

TEST(steps_that_are_far_too_long_are_named)
{
    struct step v[100];
    struct arena a = {0};
    struct step_stats s;
    fill(v, 100);
    v[42].dur_ns = v[90].dur_ns = NS_PER_S;
    step_stats_of(&(struct rank_steps){.steps = v, .n = 100}, MODE_TRAIN, &a, &s);
    CHECK_INT(s.n_outliers, 2);
    CHECK_INT(s.outliers[0], 42);
    CHECK_INT(s.outliers[1], 90);
    arena_free(&a);
}

TEST(a_step_whose_batch_was_fetched_ahead_takes_time_for_samples_too)
{
    struct step v[4];
    struct arena a = {0};
    struct step_stats s;
    const struct rank_steps r = {.steps = v, .n = 4};
    fill(v, 4); /* 10 ms and 5 samples each */
    v[3].batch = -1;
    step_stats_of(&r, MODE_TRAIN, &a, &s);
    NEAR(s.throughput_steady, 15 / 0.030,
         1e-6); /* nothing is known of fetches: nor of the last one */
    for (size_t i = 0; i < 3; i++)
        v[i].part_ns[0] = NS_PER_MS; /* data */
    CHECK_STR(step_part_name(0), "data");
    step_stats_of(&r, MODE_TRAIN, &a, &s);
    NEAR(s.throughput_steady, 15 / 0.040, 1e-6);
    v[3].part_ns[0] = NS_PER_MS; /* a batch whose size nobody can tell */
    step_stats_of(&r, MODE_TRAIN, &a, &s);
    NEAR(s.throughput_steady, 15 / 0.030, 1e-6);
    arena_free(&a);
}

/* ---- GPU times ---- */

/* 40 steps of 100 ns, of which each `every`-th is timed; the first is slow, on the GPU too. The
 * host is done early, and twice a step a module is called. */
static struct step_stats timed_steps(int every, const char *gpu, struct arena *a)
{
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    recordkit_thread(k.events, 7, 7, 0, "A0 D5 F400 F3 B4 O1 .87");
    recordkit_device(k.events, 7, 0, 10, "F300 F50 B40 O60");
    for (int i = 0; i < 40; i++) {
        recordkit_thread(k.events, 7, 7, 500 + 100 * i, "D5 F5 F3 B4 O1 .82");
        if (i % every == 0)
            recordkit_device(k.events, 7, 0, 510 + 100 * i, gpu);
    }
    recordkit_close(&k, 0, NS_PER_S, "finished");
    struct opened o = open_steps(run);
    struct step_stats s;
    CHECK_INT(o.n, 1);
    step_stats_of(&o.ranks[0], MODE_TRAIN, a, &s);
    close_steps(&o);
    return s;
}

TEST(gpu_times_are_of_the_steps_that_were_timed_without_the_warm_up)
{
    struct arena a = {0};
    const struct step_stats s = timed_steps(8, "F20 F5 B50 O15", &a);
    CHECK_INT(s.count, 41);
    CHECK_INT(s.warmup, 1);
    CHECK_INT(s.gpu_timed_steps, 5);
    NEAR(s.gpu_part_s[1] * 1e9, 25, 1e-6); /* two calls a step */
    NEAR(s.gpu_part_s[2] * 1e9, 50, 1e-6);
    NEAR(s.gpu_part_s[3] * 1e9, 15, 1e-6);
    CHECK(isnan(s.gpu_part_s[0])); /* nobody times the wait for data on a GPU */
    NEAR(s.iteration_mean_s * 1e9, 100, 1e-6);
    NEAR(s.host_part_s[1] * 1e9, 8, 1e-6);
    NEAR(s.between_s * 1e9, 82, 1e-6);
    arena_free(&a);
}

TEST(passes_that_an_optimizer_runs_on_the_gpu_are_not_counted_twice)
{
    struct arena a = {0};
    const struct step_stats s = timed_steps(1, "O90(F20 F5 B50)", &a);
    CHECK_INT(s.gpu_timed_steps, 40);
    NEAR(s.gpu_part_s[1] * 1e9, 25, 1e-6);
    NEAR(s.gpu_part_s[3] * 1e9, 15, 1e-6);
    arena_free(&a);
}

/* ---- throughput ---- */

TEST(throughput_is_samples_over_wall_time_of_the_loop)
{
    struct step v[6];
    struct arena a = {0};
    struct step_stats s;
    fill(v, 6); /* 10 ms and 5 samples each */
    for (int i = 0; i < 6; i++) {
        v[i].start.ns = i * 20 * NS_PER_MS;
        v[i].between_ns = i < 5 ? 10 * NS_PER_MS : -1;
    }
    v[0].warmup = true;
    v[3].save_ns = 300 * NS_PER_MS; /* a checkpoint is no pace of the loop, nor what goes with it */
    v[3].between_ns += 500 * NS_PER_MS;
    v[3].between_sync_ns = 10 * NS_PER_MS;
    for (int i = 4; i < 6; i++)
        v[i].start.ns += 500 * NS_PER_MS;
    step_stats_of(&(struct rank_steps){.steps = v, .n = 6}, MODE_TRAIN, &a, &s);
    NEAR(s.throughput_steady, 5 / 0.020, 1e-6);
    NEAR(s.throughput_overall, 30 / 0.610, 1e-6);
    NEAR(s.mean_s, 0.010, 1e-12); /* a step stays what it is */
    NEAR(s.iteration_p50_s, 0.020, 1e-12);
    CHECK_INT(s.iterations, 4);
    arena_free(&a);
}

TEST(cut_steps_and_those_of_another_mode_do_not_count)
{
    struct step v[10];
    struct arena a = {0};
    struct step_stats s;
    fill(v, 10);
    v[9].cut = true;
    v[9].dur_ns = NS_PER_S;
    v[8].mode = MODE_EVAL;
    v[8].dur_ns = 3 * NS_PER_S;
    v[8].batch = -1;
    const struct rank_steps r = {.steps = v, .n = 10};
    step_stats_of(&r, MODE_TRAIN, &a, &s);
    CHECK_INT(s.count, 8);
    NEAR(s.max_s, 0.010, 1e-12);
    NEAR(s.throughput_steady, 500, 1e-6);
    step_stats_of(&r, MODE_EVAL, &a, &s);
    CHECK_INT(s.count, 1);
    NEAR(s.p99_s, 3, 1e-12);
    CHECK(isnan(s.throughput_steady));
    step_stats_of(&r, MODE_PREDICT, &a, &s);
    CHECK_INT(s.count, 0);
    CHECK(isnan(s.mean_s) && isnan(s.p50_s) && isnan(s.max_s));
    CHECK_INT(s.n_outliers, 0);
    arena_free(&a);
}
