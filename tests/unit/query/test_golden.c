/* SPDX-License-Identifier: Apache-2.0 */
/* A run written by the first version of the format: it must open, and show the same numbers, for as
 * long as there is a Footplate. The files are copied first, so that a read-only checkout is fine.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "../../golden/golden_v1.h"
#include "base/mem.h"
#include "query/runkit.h"
#include "test.h"

static const char *const files[] = {
    "run.json",          "node-a/node.json",    "node-a/metrics.fp",
    "node-a/lock",       "node-b/node.json",    "node-b/node-2.json",
    "node-b/metrics.fp", "node-b/metrics.tail", "node-b/metrics-2.fp",
    "node-b/lock",
};

static struct run *open_golden(void)
{
    struct run *r;
    struct err e;
    kit_mkdir(kit_path("v1/node-a"));
    kit_mkdir(kit_path("v1/node-b"));
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        char from[PATH_LEN];
        snprintf(from, sizeof from, "%s/v1/%s", FP_GOLDEN, files[i]);
        kit_copy(kit_path("v1/%s", files[i]), from);
    }
    OK(run_open(&r, kit_path("v1"), &e));
    return r;
}

static struct series one(struct run *r, struct arena *a, const struct series_ask *ask)
{
    struct series *s;
    struct err e;
    size_t n;
    OK(series_read(r, ask, a, &s, &n, &e));
    CHECK_INT(n, 1);
    return s[0];
}

TEST(the_description_of_the_run_is_there)
{
    struct run *r = open_golden();
    const struct run_info *i = run_get_info(r);
    CHECK_STR(i->name, "golden");
    CHECK_STR(i->id, "golden-20260921-142640-90ld");
    CHECK_STR(i->command[0], "python");
    CHECK_STR(i->command[3], "0.1");
    CHECK(i->command[4] == NULL);
    CHECK_INT(i->n_labels, 2);
    CHECK_INT(i->start.ns, GOLDEN_START_A);
    CHECK_INT(i->n_nodes, 3);
    CHECK_INT(i->status, RUN_FAILED);
    CHECK_INT(i->exit_status, 137);
    const struct node_info *a = &i->nodes[0], *b = &i->nodes[1], *b2 = &i->nodes[2];
    CHECK_STR(a->id, "a");
    CHECK_INT(a->status, RUN_FINISHED);
    CHECK_STR(a->gpus[0].name, "Example GPU");
    CHECK_STR(a->launcher, "torchrun");
    CHECK_INT(a->world_size, 2);
    NEAR(a->self_cpu_s, 0.25, 0);
    CHECK(b->session == 1 && b->status == RUN_DIED);
    CHECK_INT(b->end.ns,
              GOLDEN_START_B + golden_b_us(B_ROWS + B_AFTER_JUMP - 1) * NS_PER_US + GOLDEN_JUMP_NS);
    CHECK(b2->session == 2 && b2->status == RUN_FAILED);
    run_close(r);
}

TEST(cores_keep_their_values_and_times_over_a_change_of_the_interval)
{
    struct run *r = open_golden();
    struct arena a = {0};
    for (int core = 0; core < 2; core++) {
        const struct series s = one(
            r, &a, &(struct series_ask){.metric = "cpu.util", .entity = core ? "cpu1" : "cpu0"});
        CHECK_STR(s.key.unit, "%");
        CHECK_INT(s.n, A_FAST_ROWS + A_SLOW_ROWS);
        for (int i = 0; i < A_FAST_ROWS + A_SLOW_ROWS; i++) {
            const bool fast = i < A_FAST_ROWS;
            NEAR(s.v[i], (double)golden_core(i, core) * (fast ? 10 : 5), 1e-9);
            CHECK_INT(s.t[i].ns,
                      GOLDEN_START_A +
                          NS_PER_US * (fast ? golden_fast_us(i) : golden_slow_us(i - A_FAST_ROWS)));
        }
    }
    const struct series all =
        one(r, &a, &(struct series_ask){.metric = "cpu.util", .entity = "total"});
    NEAR(all.v[1], (double)(golden_core(1, 0) + golden_core(1, 1)) * 5, 1e-9);
    arena_free(&a);
    run_close(r);
}

TEST(gaps_are_gaps_and_large_values_are_exact)
{
    struct run *r = open_golden();
    struct arena a = {0};
    const struct series p = one(r, &a, &(struct series_ask){.metric = "gpu.power"});
    size_t at = 0;
    for (int i = 0; i < A_GPU_ROWS; i++) {
        if (i % 10 == 3)
            continue;
        NEAR(p.v[at], (double)golden_power(i), 0);
        CHECK_INT(p.t[at++].ns, GOLDEN_START_A + golden_gpu_us(i) * NS_PER_US);
    }
    CHECK_INT(p.n, at);
    const struct series m = one(r, &a, &(struct series_ask){.metric = "gpu.mem_used"});
    CHECK_INT(m.n, A_GPU_ROWS);
    for (int i = 0; i < A_GPU_ROWS; i++)
        NEAR(m.v[i], (double)golden_memory(i) * 1048576, 0);
    arena_free(&a);
    run_close(r);
}

TEST(processes_that_came_and_went_have_their_own_series)
{
    struct run *r = open_golden();
    struct arena a = {0};
    struct series *s;
    struct err e;
    size_t n;
    OK(series_read(r, &(struct series_ask){.metric = "proc."}, &a, &s, &n, &e));
    CHECK_INT(n, A_PROCESSES);
    for (int i = 0; i < A_PROCESSES; i++) {
        CHECK_STR(s[i].key.entity, arena_printf(&a, "%d worker", 100 + i));
        CHECK_INT(s[i].n, 10);
        for (int k = 0; k < 10; k++) {
            NEAR(s[i].v[k], i + 1, 0);
            CHECK_INT(s[i].t[k].ns, GOLDEN_START_A + golden_proc_us(i * 10 + k) * NS_PER_US);
        }
    }
    arena_free(&a);
    run_close(r);
}

static int64_t b_wall(int i)
{
    return GOLDEN_START_B + golden_b_us(i) * NS_PER_US + (i < B_ROWS ? 0 : GOLDEN_JUMP_NS);
}

TEST(a_crashed_recorder_shows_blocks_tail_and_the_jump_of_the_clock)
{
    struct run *r = open_golden();
    struct arena a = {0};
    const struct series s =
        one(r, &a, &(struct series_ask){.node = "b", .metric = "gpu.clock_sm", .entity = "gpu7"});
    CHECK_INT(s.n, B_ROWS + B_AFTER_JUMP);
    for (int i = 0; i < B_ROWS + B_AFTER_JUMP; i++) {
        NEAR(s.v[i], 7, 0);
        CHECK_INT(s.t[i].ns, b_wall(i));
    }
    arena_free(&a);
    run_close(r);
}

TEST(a_restarted_recorder_goes_on_in_the_same_series)
{
    struct run *r = open_golden();
    struct arena a = {0};
    const struct series s =
        one(r, &a, &(struct series_ask){.node = "b", .metric = "gpu.clock_sm", .entity = "gpu0"});
    const int before = B_ROWS + B_AFTER_JUMP;
    CHECK_INT(s.n, before + B2_ROWS);
    for (int i = 0; i < B_ROWS; i++)
        NEAR(s.v[i], (double)golden_b(i, 0), 0);
    for (int i = 0; i < B2_ROWS; i++) {
        NEAR(s.v[before + i], 1000 + i, 0);
        CHECK_INT(s.t[before + i].ns, GOLDEN_START_B + golden_b2_us(i) * NS_PER_US);
    }
    arena_free(&a);
    run_close(r);
}

TEST(a_zoomed_out_view_keeps_the_spike)
{
    struct run *r = open_golden();
    struct arena a = {0};
    for (size_t points = 1; points < 200; points++) {
        const struct series s =
            one(r, &a, &(struct series_ask){.metric = "gpu.power", .points = points});
        double max = 0;
        for (size_t i = 0; i < s.n; i++)
            max = fmax(max, s.max[i]);
        CHECK(s.n <= points);
        NEAR(max, 1200, 0);
    }
    arena_free(&a);
    run_close(r);
}

TEST(statistics_are_the_same_as_ever)
{
    struct run *r = open_golden();
    struct arena a = {0};
    struct series_stats *s;
    struct err e;
    size_t n;
    OK(series_stats_read(r, &(struct series_ask){.node = "b", .entity = "gpu0"}, &a, &s, &n, &e));
    CHECK_INT(n, 1);
    CHECK_INT(s->count, B_ROWS + B_AFTER_JUMP + B2_ROWS);
    NEAR(s->min, 0, 0);
    NEAR(s->max, 1049, 0);
    NEAR(s->p25, 0, 0);
    NEAR(s->p75, 1, 0);
    arena_free(&a);
    run_close(r);
}

TEST(losses_and_marks_are_there)
{
    struct run *r = open_golden();
    struct arena a = {0};
    struct run_loss *l;
    struct run_mark *m;
    struct err e;
    size_t n;
    OK(run_losses(r, &a, &l, &n, &e));
    CHECK_INT(n, 3);
    CHECK_STR(l[0].node, "a");
    CHECK_INT(l[0].loss.id, LOSS_UNSUPPORTED);
    CHECK_INT(l[0].loss.count, 3);
    CHECK_STR(loss_what(&l[0].loss, (char[ENTITY_LEN]){0}), GOLDEN_LOSS);
    CHECK_STR(l[0].loss.why, GOLDEN_LOSS_WHY);
    CHECK_INT(l[1].loss.id, LOSS_TORN);
    CHECK_INT(l[2].loss.id, LOSS_NODE_DIED);
    OK(run_marks(r, &a, &m, &n, &e));
    CHECK_INT(n, 3);
    CHECK_INT(m[0].mark.id, MARK_JOB_START);
    CHECK_INT(m[0].mark.number, 4242);
    CHECK_STR(m[0].mark.text, GOLDEN_TRAIN);
    CHECK_INT(m[0].at.ns, GOLDEN_START_A + NS_PER_S);
    CHECK_INT(m[1].mark.id, MARK_JOB_EXIT);
    CHECK_INT(m[2].mark.id, MARK_SIGNAL);
    CHECK_STR(m[2].mark.text, "SIGKILL");
    arena_free(&a);
    run_close(r);
}
