/* SPDX-License-Identifier: Apache-2.0 */
/* CPUBottleneck: GPUs wait while the CPU, or a single core, is busy. */
#include "base/mem.h"
#include "rules/bottleneck.h"

enum { THRESHOLD, GPU, CPU, PATIENCE };

static const struct param params[] = {
    [THRESHOLD] = {"threshold", 50, 0, 100, PARAM_PERCENT,
                   "more of the snapshots than this with a low GPU and a hot CPU is a bottleneck"},
    [GPU] = {"gpu_threshold", 10, 0, 100, PARAM_PERCENT, "a GPU in use below this is low"},
    [CPU] = {"cpu_threshold", 90, 0, 100, PARAM_PERCENT,
             "the CPU is hot when the mean of the node, or one core, is above this"},
    [PATIENCE] = {"patience", 1000, 0, 1e7, PARAM_POINTS,
                  "what is left out at the start of a run without steps"},
    {0},
};

static const struct bottleneck_spec spec = {
    .threshold = THRESHOLD,
    .gpu_threshold = GPU,
    .hot_threshold = CPU,
    .resource = "the CPU",
    .hots = {{SIG_CPU, "hot_node_pct", "the whole node was",
              "The whole node is busy: it needs more cores, cheaper preprocessing, or "
              "preprocessing ahead of time"},
             {SIG_CPU_PEAK, "hot_core_pct", "one core was",
              "One core is busy while the rest of the node is not, so one Python thread holds the "
              "GPUs back: more cores will not help, more data-loader processes and prefetching "
              "will"}},
    .n_hots = 2,
    .refute = "the hot core runs something that the GPUs do not wait for: loader wait near zero "
              "in the steps of that time",
};

static const struct rule_limit limits[] = {
    {.signal = SIG_CPU_PEAK, .param = CPU, .low_gpu = true, .gpu_param = GPU}};
static const char *const explained_by[] = {"Dataloader", NULL};

const struct rule rule_cpu_bottleneck = {
    .name = "CPUBottleneck",
    .title = "CPU bottleneck",
    .description = "Checks how often a GPU in use was nearly idle while the CPU was busy: the mean "
                   "of the whole node, or a single core.",
    .recommendation = "Use more data-loader workers and prefetching, or move preprocessing off the "
                      "critical path.",
    .params = params,
    .patience = PATIENCE,
    .needs = NEEDS_SWEEPS | NEEDS_GPU,
    .by_phase = true,
    .explained_by = explained_by,
    .limits = limits,
    .n_limits = COUNT_OF(limits),
    .spec = &spec,
    .state_size = sizeof(struct bottleneck),
    .sweeps = bottleneck_sweeps,
    .join = bottleneck_join,
    .free_state = bottleneck_free,
    .judge = bottleneck_judge,
};
