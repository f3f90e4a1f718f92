/* SPDX-License-Identifier: Apache-2.0 */
#include "kit.h"

#define RULE_NAME "UnusedGPU"

static const struct verdict *judge_nodes(const struct kit_node *nodes, size_t n)
{
    return kit_verdict(&(struct kit){nodes, n}, RULE_NAME);
}

static void second_unused(size_t i, struct moment *m)
{
    m->gpu[0][GPU_SIG_UTIL] = (float)kit_noise(i, 90);
    m->gpu[0][GPU_SIG_PROCESSES] = 1;
    m->gpu[1][GPU_SIG_UTIL] = 0;
    m->gpu[1][GPU_SIG_PROCESSES] = 0;
}

static void none_used(size_t i, struct moment *m)
{
    second_unused(i, m);
    m->gpu[0][GPU_SIG_UTIL] = 0;
    m->gpu[0][GPU_SIG_PROCESSES] = 0;
}

static void all_used(size_t i, struct moment *m)
{
    second_unused(i, m);
    m->gpu[1][GPU_SIG_UTIL] = i == 500 ? 1 : 0;
}

/* A process that holds the GPU and never computes. */
static void held(size_t i, struct moment *m)
{
    second_unused(i, m);
    m->gpu[1][GPU_SIG_PROCESSES] = i == 500;
}

TEST(a_gpu_at_zero_without_a_process_is_found_with_its_cost)
{
    const struct kit_node node = {"n0", second_unused, 1000, .gpus = 2};
    const struct verdict *v = judge_nodes(&node, 1);
    CHECK_INT(v->n_findings, 1);
    CHECK_STR(v->findings[0].entity, "gpu1");
    CHECK_STR(v->findings[0].message,
              "gpu1 stayed at or below 0.0 % for 8 min 20 s with no process of the job on it; 1 of "
              "the node's 2 GPUs was unused");
    CHECK_STR(v->findings[0].advice,
              "Start a process for it (2 per node instead of 1), or use a machine with 1 GPU.");
    NEAR(v->findings[0].lost_gpu_s, 500, 1e-9);
    NEAR(v->lost_s, 250, 1e-9); /* half of the node */
}

TEST(one_percent_once_or_one_process_once_is_use)
{
    const struct kit_node nodes[] = {{"a", all_used, 1000, .gpus = 2},
                                     {"b", held, 1000, .gpus = 2}};
    const struct verdict *v = judge_nodes(nodes, 2);
    CHECK_INT(v->state, RULE_CLEAR);
    CHECK_STR(v->why, "all 4 GPUs were used");
}

TEST(a_job_that_uses_none_is_told_so)
{
    const struct kit_node node = {"n0", none_used, 1000, .gpus = 2};
    const struct verdict *v = judge_nodes(&node, 1);
    CHECK_INT(v->n_findings, 2);
    CHECK(strstr(v->findings[0].advice, "used no GPU of this node"));
}

TEST(a_run_that_goes_on_gets_its_patience)
{
    const struct kit_node node = {"n0", none_used, 312, .gpus = 2};
    const struct kit goes_on = {&node, 1, .goes_on = true};
    CHECK_STR(kit_verdict(&goes_on, RULE_NAME)->why,
              "needs 1000 readings (8 min 20 s of training), has 312");
    CHECK_INT(judge_nodes(&node, 1)->state, RULE_ISSUE); /* it ended so: that is a fact */
}

static void silent(size_t i, struct moment *m)
{
    (void)i;
    m->v[SIG_CPU] = 1;
}

TEST(without_readings_it_is_not_evaluated)
{
    const struct kit_node node = {"n0", silent, 1000, .gpus = 1};
    CHECK_STR(judge_nodes(&node, 1)->why, "GPU utilization was not reported");
}

TEST(the_node_with_the_unused_gpu_is_named)
{
    const struct kit_node nodes[] = {{"a", all_used, 1000, .gpus = 2},
                                     {"b", second_unused, 1000, .gpus = 2}};
    const struct verdict *v = judge_nodes(nodes, 2);
    CHECK_INT(v->n_findings, 1);
    CHECK_STR(v->findings[0].node, "b");
}

static void used_before_the_loop(size_t i, struct moment *m)
{
    second_unused(i, m);
    m->gpu[1][GPU_SIG_UTIL] = i < 100 ? 50 : 0;
}

TEST(use_before_the_loop_counts)
{
    const struct kit_node node = {"n0", used_before_the_loop, 1000, .gpus = 2};
    const struct kit late = {&node, 1, .loop_after_ns = 100 * NS_PER_S};
    CHECK_INT(kit_verdict(&late, RULE_NAME)->state, RULE_CLEAR);
}

TEST(cuts_do_not_matter)
{
    const struct kit_node nodes[] = {{"a", all_used, 1000, .gpus = 2},
                                     {"b", second_unused, 800, .gpus = 3}};
    kit_cuts_do_not_matter(&(struct kit){nodes, 2}, RULE_NAME);
}
