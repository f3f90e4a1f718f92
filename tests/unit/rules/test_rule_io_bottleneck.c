/* SPDX-License-Identifier: Apache-2.0 */
#include "kit.h"

#define RULE_NAME "IOBottleneck"

static const struct verdict *judge_nodes(const struct kit_node *nodes, size_t n)
{
    return kit_verdict(&(struct kit){nodes, n}, RULE_NAME);
}

static void waits(size_t i, struct moment *m, size_t of_100, enum node_signal where)
{
    const bool waits = i % 100 < of_100;
    m->v[SIG_IOWAIT] = 1;
    m->v[SIG_IOWAIT_PEAK] = 10;
    m->v[where] = waits ? 80 : 5;
    m->gpu[0][GPU_SIG_UTIL] = waits ? 2 : 90;
}

static void one_core(size_t i, struct moment *m)
{
    waits(i, m, 60, SIG_IOWAIT_PEAK);
}

static void whole_node(size_t i, struct moment *m)
{
    waits(i, m, 60, SIG_IOWAIT);
}

static void pressure(size_t i, struct moment *m)
{
    waits(i, m, 60, SIG_PSI_IO);
}

static void half(size_t i, struct moment *m)
{
    waits(i, m, 50, SIG_IOWAIT_PEAK);
}

static void no_io(size_t i, struct moment *m)
{
    (void)i;
    m->v[SIG_CPU] = 10;
    m->gpu[0][GPU_SIG_UTIL] = 50;
}

TEST(io_wait_of_one_core_while_the_gpu_idles_is_found)
{
    const struct kit_node node = {"n0", one_core, 1000, .gpus = 1, .cores = 8};
    const struct verdict *v = judge_nodes(&node, 1);
    CHECK_INT(v->n_findings, 1);
    CHECK_STR(v->findings[0].message,
              "in 60 % of 1000 readings (threshold 50 %), a GPU in use was below 10 % while I/O "
              "wait or pressure was above 50 % (I/O wait of one core: 60 %)");
    CHECK(strstr(v->findings[0].advice, "Only one process reads at a time"));
    NEAR(v->findings[0].lost_s, 300, 1e-9);
}

TEST(the_whole_node_waiting_is_told_from_one_core)
{
    const struct kit_node node = {"n0", whole_node, 1000, .gpus = 1};
    const struct verdict *v = judge_nodes(&node, 1);
    NEAR(kit_number(&v->findings[0], "io_wait_node_pct"), 60, 0);
    NEAR(kit_number(&v->findings[0], "io_wait_core_pct"), 0, 0);
}

TEST(pressure_finds_network_file_systems_that_no_core_waits_for)
{
    const struct kit_node node = {"n0", pressure, 1000, .gpus = 1};
    const struct verdict *v = judge_nodes(&node, 1);
    CHECK_INT(v->state, RULE_ISSUE);
    NEAR(kit_number(&v->findings[0], "io_pressure_pct"), 60, 0);
    CHECK(strstr(v->findings[0].advice, "network file"));
}

TEST(exactly_half_of_the_snapshots_is_clear)
{
    const struct kit_node node = {"n0", half, 1000, .gpus = 1};
    CHECK_INT(judge_nodes(&node, 1)->state, RULE_CLEAR);
}

TEST(too_few_snapshots_and_no_io_readings_are_not_evaluated)
{
    const struct kit_node brief = {"n0", one_core, 7, .gpus = 1};
    const struct kit_node silent = {"n0", no_io, 700, .gpus = 1};
    CHECK_STR(judge_nodes(&brief, 1)->why, "needs 10 readings (5.0 s of training), has 7");
    CHECK_STR(
        judge_nodes(&silent, 1)->why,
        "needs 10 readings with a GPU in use and I/O wait or pressure (5.0 s of training), has 0");
}

TEST(one_bad_node_of_three_is_named)
{
    const struct kit_node nodes[] = {
        {"a", half, 600, .gpus = 1}, {"b", one_core, 600, .gpus = 1}, {"c", half, 600, .gpus = 1}};
    const struct verdict *v = judge_nodes(nodes, 3);
    CHECK_INT(v->n_findings, 1);
    CHECK_STR(v->findings[0].node, "b");
}

static void lively(size_t i, struct moment *m)
{
    m->v[SIG_IOWAIT] = (float)kit_noise(i / 50, 100);
    m->v[SIG_PSI_IO] = kit_noise(i, 3) ? (float)kit_noise(i / 9, 100) : NAN;
    m->gpu[0][GPU_SIG_UTIL] = kit_noise(i / 70 + 3, 3) ? 0 : 40;
}

TEST(cuts_do_not_matter)
{
    const struct kit_node nodes[] = {{"a", lively, 1200, .gpus = 1},
                                     {"b", pressure, 700, .gpus = 1}};
    kit_cuts_do_not_matter(&(struct kit){nodes, 2}, RULE_NAME);
}
