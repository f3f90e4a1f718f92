/* SPDX-License-Identifier: Apache-2.0 */
/* IOBottleneck: GPUs wait while the node waits for I/O. */
#include "base/mem.h"
#include "rules/bottleneck.h"

enum { THRESHOLD, GPU, IO, PATIENCE };

static const struct param params[] = {
    [THRESHOLD] = {"threshold", 50, 0, 100, PARAM_PERCENT,
                   "maximum share of readings with low GPU utilization and high I/O wait"},
    [GPU] = {"gpu_threshold", 10, 0, 100, PARAM_PERCENT, "GPU utilization below this is low"},
    [IO] = {"io_threshold", 50, 0, 100, PARAM_PERCENT,
            "I/O wait of the node or one core, or I/O pressure, above this is high"},
    [PATIENCE] = {"patience", 1000, 0, 1e7, PARAM_POINTS,
                  "readings skipped at the start when no steps are known"},
    {0},
};

static const struct bottleneck_spec spec = {
    .threshold = THRESHOLD,
    .gpu_threshold = GPU,
    .hot_threshold = IO,
    .resource = "I/O wait or pressure",
    .hots = {{SIG_IOWAIT, "io_wait_node_pct", "I/O wait of the whole node",
              "All cores wait for storage: prefetch, store the data in a few large binary files or "
              "shards, and put them on a local disk"},
             {SIG_IOWAIT_PEAK, "io_wait_core_pct", "I/O wait of one core",
              "Only one process reads at a time: read ahead with more loader workers, and store "
              "the data in a few large binary files or shards"},
             {SIG_PSI_IO, "io_pressure_pct", "I/O pressure",
              "Tasks are delayed by I/O that does not show as I/O wait, for example on a network "
              "file system: copy or cache the data on a local disk, or prefetch"}},
    .n_hots = 3,
    .refute = "other processes cause the I/O wait, or the steps at that time show neither loader "
              "wait nor a checkpoint",
};

static const char *const explained_by[] = {"CheckpointStall", NULL};

static const struct number_label labels[] = {
    {"bottleneck_pct", "Readings with low GPU and high I/O wait"},
    {"gpu_low_pct", "Readings with low GPU"},
    {"io_wait_node_pct", "Readings with low GPU and I/O wait of the node"},
    {"io_wait_core_pct", "Readings with low GPU and I/O wait of one core"},
    {"io_pressure_pct", "Readings with low GPU and I/O pressure"},
    {"snapshots", "Readings"},
    {0},
};

const struct rule rule_io_bottleneck = {
    .name = "IOBottleneck",
    .title = "I/O bottleneck",
    .description =
        "Checks how often a GPU in use was nearly idle while the node waited for I/O: I/O wait of "
        "the node or its worst core, or I/O pressure (PSI) where the kernel reports it.",
    .recommendation = "Prefetch, use binary or sharded formats, and put the data on a local disk.",
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
