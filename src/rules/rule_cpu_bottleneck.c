/* SPDX-License-Identifier: Apache-2.0 */
/* CPUBottleneck: GPUs wait while the CPU, or a single core, is busy. */
#include "base/mem.h"
#include "rules/bottleneck.h"

enum { THRESHOLD, GPU, CPU, PATIENCE };

static const struct param params[] = {
    [THRESHOLD] = {"threshold", 50, 0, 100, PARAM_PERCENT,
                   "maximum share of readings with low GPU utilization and a busy CPU"},
    [GPU] = {"gpu_threshold", 10, 0, 100, PARAM_PERCENT, "GPU utilization below this is low"},
    [CPU] = {"cpu_threshold", 90, 0, 100, PARAM_PERCENT,
             "the CPU is busy when the node average, or one core, is above this"},
    [PATIENCE] = {"patience", 1000, 0, 1e7, PARAM_POINTS,
                  "readings skipped at the start when no steps are known"},
    {0},
};

static const struct bottleneck_spec spec = {
    .threshold = THRESHOLD,
    .gpu_threshold = GPU,
    .hot_threshold = CPU,
    .resource = "CPU utilization",
    .hots = {{SIG_CPU, "hot_node_pct", "whole node",
              "The whole node is busy: use more cores, make preprocessing cheaper, or preprocess "
              "the data in advance"},
             {SIG_CPU_PEAK, "hot_core_pct", "one core",
              "One core is busy while the others are not: a single Python thread limits the GPUs. "
              "Use more data loader workers and prefetching; more cores will not help"}},
    .n_hots = 2,
    .refute = "the GPUs do not wait for the busy core (loader wait is near zero in those steps)",
};

static const char *const explained_by[] = {"Dataloader", NULL};

static const struct number_label labels[] = {
    {"bottleneck_pct", "Readings with low GPU and busy CPU"},
    {"gpu_low_pct", "Readings with low GPU"},
    {"hot_node_pct", "Readings with low GPU and busy node"},
    {"hot_core_pct", "Readings with low GPU and one busy core"},
    {"snapshots", "Readings"},
    {0},
};

const struct rule rule_cpu_bottleneck = {
    .name = "CPUBottleneck",
    .title = "CPU bottleneck",
    .description = "Checks how often a GPU in use was nearly idle while the CPU was busy (the node "
                   "average or a single core).",
    .recommendation = "Use more data loader workers and prefetching, or move preprocessing off the "
                      "critical path.",
    .params = params,
    .labels = labels,
    .patience = PATIENCE,
    .needs = NEEDS_SWEEPS | NEEDS_GPU,
    .by_phase = true,
    .explained_by = explained_by,
    .spec = &spec,
    .state_size = sizeof(struct bottleneck),
    .sweeps = bottleneck_sweeps,
    .free_state = bottleneck_free,
    .judge = bottleneck_judge,
};
