/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "kit.h"

#define RULE_NAME "OverallSystemUsage"

static const struct verdict *judge_nodes(const struct kit_node *nodes, size_t n)
{
    return kit_verdict(&(struct kit){nodes, n}, RULE_NAME);
}

/* 0, 1, ... 100 in turn: quantiles are what they say. */
static void ramp(size_t i, struct moment *m)
{
    m->v[SIG_CPU] = (float)(i % 101);
    m->v[SIG_MEM] = 30;
    m->v[SIG_IOWAIT] = (float)(i % 101) / 10;
    m->v[SIG_NET_RX] = (float)(i % 101) * 1e6f;
    m->gpu[0][GPU_SIG_UTIL] = (float)(i % 101);
    m->gpu[0][GPU_SIG_MEM] = 50;
    m->gpu[1][GPU_SIG_UTIL] = 0;
    m->gpu[1][GPU_SIG_MEM] = 1;
}

static void check_row(const struct verdict *v, const char *title, const char *label, double scale,
                      double off)
{
    static const double expected[] = {0, 100, 99, 95, 90, 50};
    const struct plot_row *r = kit_row(v, title, label);
    CHECK_INT(r->n, COUNT_OF(expected));
    for (size_t i = 0; i < r->n; i++)
        NEAR(r->v[i], expected[i] * scale, expected[i] * scale * off + 1e-9);
}

TEST(the_table_has_the_quantiles_of_every_resource_of_the_node)
{
    const struct kit_node node = {"n0", ramp, 1010, .gpus = 2};
    const struct verdict *v = judge_nodes(&node, 1);
    CHECK_INT(v->state, RULE_CLEAR);
    CHECK_INT(v->n_findings, 0);
    CHECK_INT(v->datapoints, 1010);
    check_row(v, "Utilization of n0", "CPU", 1, 0);
    check_row(v, "Utilization of n0", "GPU", 1, 0); /* without the one that was never used */
    check_row(v, "Utilization of n0", "I/O wait", 0.1, 1e-6);
    check_row(v, "Network of n0", "Network in", 1e6, 0.01);
    NEAR(kit_row(v, "Utilization of n0", "GPU memory")->v[5], 50, 1e-9);
    NEAR(kit_row(v, "Utilization of n0", "CPU memory")->v[0], 30, 1e-9);
    CHECK_STR(v->plots[0].columns[2], "p99");
    CHECK_INT(v->plots[0].n_columns, 6);
}

static void reads(struct moment *m, float gpu, float cpu)
{
    m->gpu[0][GPU_SIG_UTIL] = gpu;
    m->v[SIG_CPU] = cpu;
}

static void under_used(size_t i, struct moment *m)
{
    (void)i;
    reads(m, 13, 24);
}

static void cpu_bound(size_t i, struct moment *m)
{
    (void)i;
    reads(m, 30, 92);
}

static void well_used(size_t i, struct moment *m)
{
    (void)i;
    reads(m, 91, 40);
}

static void at_times(size_t i, struct moment *m)
{
    reads(m, i % 4 ? 20 : 90, 40);
}

static void no_gpu(size_t i, struct moment *m)
{
    (void)i;
    m->v[SIG_CPU] = 88;
}

TEST(a_smaller_machine_is_suggested_when_nothing_holds_the_run_back)
{
    const struct kit_node node = {"a", under_used, 200, .gpus = 1};
    CHECK_STR(judge_nodes(&node, 1)->remarks[0],
              "a: GPU p50 13 %, p95 13 %; CPU p95 24 % in the training loop: underused, consider a "
              "smaller machine");
}

/* Mostly busy, but for a tenth of the time at nothing: LowGPUUtilization finds that it comes and
 * goes. */
static void comes_and_goes(size_t i, struct moment *m)
{
    reads(m, i % 10 ? 100 : 0, 40);
}

TEST(a_node_whose_gpu_comes_and_goes_is_not_called_well_used)
{
    const struct kit_node node = {"a", comes_and_goes, 1000, .gpus = 1};
    const struct kit kit = {&node, 1};
    CHECK_INT(kit_verdict(&kit, "LowGPUUtilization")->state, RULE_ISSUE);
    CHECK(strstr(judge_nodes(&node, 1)->remarks[0], "GPUs partly used"));
}

TEST(each_node_gets_its_sentence_with_the_numbers)
{
    const struct kit_node nodes[] = {{"a", under_used, 200, .gpus = 1},
                                     {"b", cpu_bound, 200, .gpus = 1},
                                     {"c", well_used, 200, .gpus = 1},
                                     {"d", at_times, 200, .gpus = 1},
                                     {"e", no_gpu, 200}};
    const struct verdict *v = judge_nodes(nodes, 5);
    CHECK_INT(v->n_remarks, 5);
    CHECK_STR(v->remarks[0], "a: GPU p50 13 %, p95 13 %; CPU p95 24 % in the training loop: "
                             "underused, see \"Load balance\"");
    CHECK_STR(
        v->remarks[1],
        "b: GPU p50 30 %, p95 30 %; CPU p95 92 % in the training loop: likely a CPU bottleneck");
    CHECK_STR(v->remarks[2],
              "c: GPU p50 91 %, p95 91 %; CPU p95 40 % in the training loop: well used");
    CHECK_STR(v->remarks[3],
              "d: GPU p50 20 %, p95 90 %; CPU p95 40 % in the training loop: GPUs partly used");
    CHECK_STR(v->remarks[4],
              "e: no GPU in use; CPU p50 88 %, p95 88 % in the training loop: CPU well used");
}

static void gpu_only(size_t i, struct moment *m)
{
    (void)i;
    m->gpu[0][GPU_SIG_UTIL] = 13;
}

TEST(what_was_not_measured_has_no_row_and_is_said)
{
    const struct kit_node node = {"n0", gpu_only, 200, .gpus = 1};
    const struct verdict *v = judge_nodes(&node, 1);
    CHECK_INT(v->n_plots, 1); /* no table of the network */
    CHECK_INT(v->plots[0].n_rows, 1);
    CHECK_STR(v->remarks[0],
              "n0: GPU p50 13 %, p95 13 % in the training loop; CPU not measured: GPUs underused");
}

TEST(a_single_sweep_is_no_summary)
{
    const struct kit_node node = {"n0", ramp, 1, .gpus = 1};
    CHECK_STR(judge_nodes(&node, 1)->why, "needs 2 readings (1.0 s of training), has 1");
}

static void lively(size_t i, struct moment *m)
{
    ramp(i * 7, m);
    m->v[SIG_NET_TX] = kit_noise(i, 3) ? (float)kit_noise(i, 1000000000) : NAN;
    m->gpu[1][GPU_SIG_UTIL] = i == 900;
}

TEST(cuts_do_not_matter)
{
    const struct kit_node nodes[] = {{"a", lively, 1500, .gpus = 2}, {"b", ramp, 500, .gpus = 2}};
    kit_cuts_do_not_matter(&(struct kit){nodes, 2}, RULE_NAME);
}
