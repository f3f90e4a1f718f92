/* SPDX-License-Identifier: Apache-2.0 */
#include "kit.h"

#define RULE_NAME "BatchSize"

static const struct verdict *judge_nodes(const struct kit_node *nodes, size_t n)
{
    return kit_verdict(&(struct kit){nodes, n}, RULE_NAME);
}

static void reads(struct moment *m, float cpu, float gpu, float mem)
{
    m->v[SIG_CPU] = cpu;
    m->gpu[0][GPU_SIG_UTIL] = gpu;
    m->gpu[0][GPU_SIG_MEM] = mem;
}

static void room(size_t i, struct moment *m)
{
    (void)i;
    reads(m, 24, 40, 30);
}

static void cpu_full(size_t i, struct moment *m)
{
    (void)i;
    reads(m, 70, 40, 30);
}

static void gpu_full(size_t i, struct moment *m)
{
    (void)i;
    reads(m, 24, 70, 30);
}

static void memory_full(size_t i, struct moment *m)
{
    (void)i;
    reads(m, 24, 40, 70);
}

TEST(room_everywhere_is_found_and_says_how_much_larger_the_batch_may_be)
{
    const struct kit_node node = {"n0", room, 1000, .gpus = 1, .batch = 32};
    const struct verdict *v = judge_nodes(&node, 1);
    CHECK_INT(v->n_findings, 1);
    CHECK_STR(v->findings[0].entity, "gpu0");
    CHECK_STR(v->findings[0].message,
              "gpu0 had headroom: utilization p95 40 % (threshold 70 %), memory p95 30 % "
              "(threshold 70 %), node CPU p95 24 % (threshold 70 %)");
    CHECK_STR(v->findings[0].advice,
              "70 % of the GPU memory is free: batches of 32 samples could be 3.0 times as large "
              "(96). Alternatively, use fewer or smaller machines.");
    NEAR(kit_number(&v->findings[0], "batch_factor"), 3, 1e-9);
    NEAR(v->findings[0].lost_gpu_s, 500 * 0.6, 1e-6);
    CHECK_INT(v->triggered, 2);
    CHECK_INT(v->datapoints, 1000);
}

TEST(each_of_the_three_at_its_threshold_keeps_it_clear)
{
    const struct kit_node cpu = {"n0", cpu_full, 1000, .gpus = 1};
    const struct kit_node gpu = {"n0", gpu_full, 1000, .gpus = 1};
    const struct kit_node memory = {"n0", memory_full, 1000, .gpus = 1};
    CHECK_INT(judge_nodes(&cpu, 1)->state, RULE_CLEAR);
    CHECK_INT(judge_nodes(&gpu, 1)->state, RULE_CLEAR);
    CHECK_INT(judge_nodes(&memory, 1)->state, RULE_CLEAR);
}

TEST(a_threshold_set_just_above_finds_it)
{
    const struct kit_node node = {"n0", memory_full, 1000, .gpus = 1};
    const char *const set[] = {"BatchSize.gpu_memory_threshold_p95=70.5", NULL};
    CHECK_INT(kit_verdict(&(struct kit){&node, 1, set}, RULE_NAME)->state, RULE_ISSUE);
}

TEST(a_run_shorter_than_its_patience_is_not_evaluated)
{
    const struct kit_node node = {"n0", room, 312, .gpus = 1};
    const struct verdict *v = kit_verdict(&(struct kit){&node, 1, .no_steps = true}, RULE_NAME);
    CHECK_STR(v->why, "needs 1000 readings (8 min 20 s), has 312");
}

static void no_memory(size_t i, struct moment *m)
{
    (void)i;
    reads(m, 24, 40, NAN);
}

TEST(without_memory_readings_it_is_not_evaluated_rather_than_clear)
{
    const struct kit_node node = {"n0", no_memory, 1000, .gpus = 1};
    const struct verdict *v = judge_nodes(&node, 1);
    CHECK_INT(v->state, RULE_NOT_EVALUATED);
    CHECK_STR(v->why, "utilization, memory and CPU were not recorded together for any GPU in use");
}

TEST(one_node_with_room_is_named)
{
    const struct kit_node nodes[] = {{"a", gpu_full, 1000, .gpus = 1},
                                     {"b", room, 1000, .gpus = 1}};
    const struct verdict *v = judge_nodes(nodes, 2);
    CHECK_INT(v->n_findings, 1);
    CHECK_STR(v->findings[0].node, "b");
}

static void changes(size_t i, struct moment *m)
{
    const bool full = kit_noise(i / 400, 2);
    reads(m, (float)kit_noise(i, 60), (float)kit_noise(i + 9, full ? 100 : 50), 40);
    m->gpu[1][GPU_SIG_UTIL] = i > 700 ? (float)kit_noise(i + 3, 40) : 0;
    m->gpu[1][GPU_SIG_MEM] = 20;
}

TEST(cuts_do_not_matter)
{
    const struct kit_node nodes[] = {{"a", changes, 2000, .gpus = 2, .batch = 8},
                                     {"b", room, 400, .gpus = 1}};
    const char *const set[] = {"BatchSize.window=100", NULL};
    kit_cuts_do_not_matter(&(struct kit){nodes, 2}, RULE_NAME);
    kit_cuts_do_not_matter(&(struct kit){nodes, 2, set}, RULE_NAME);
}
