/* SPDX-License-Identifier: Apache-2.0 */
/* IOBottleneck: GPUs wait while the node waits for I/O. */
#include "base/mem.h"
#include "rules/bottleneck.h"

enum { THRESHOLD, GPU, IO, PATIENCE };

static const struct param params[] = {
    [THRESHOLD] = {"threshold", 50, 0, 100, PARAM_PERCENT,
                   "more of the snapshots than this with a low GPU and I/O wait is a bottleneck"},
    [GPU] = {"gpu_threshold", 10, 0, 100, PARAM_PERCENT, "a GPU in use below this is low"},
    [IO] = {"io_threshold", 50, 0, 100, PARAM_PERCENT,
            "I/O wait of the node or of one core, or pressure, above this"},
    [PATIENCE] = {"patience", 1000, 0, 1e7, PARAM_POINTS,
                  "what is left out at the start of a run without steps"},
    {0},
};

static const struct bottleneck_spec spec = {
    .threshold = THRESHOLD,
    .gpu_threshold = GPU,
    .hot_threshold = IO,
    .resource = "I/O wait or pressure",
    .hots = {{SIG_IOWAIT, "io_wait_node_pct", "I/O wait of the whole node was",
              "All cores wait for storage: prefetch, keep the data in few large binary files or "
              "shards, and put them on a local disk"},
             {SIG_IOWAIT_PEAK, "io_wait_core_pct", "I/O wait of one core was",
              "One process reads at a time: read ahead with more loader processes, and keep the "
              "data in few large binary files or shards"},
             {SIG_PSI_IO, "io_pressure_pct", "I/O pressure was",
              "Tasks are held up by I/O that no core's I/O wait shows, as with network file "
              "systems: copy or cache the data on a local disk, or prefetch"}},
    .n_hots = 3,
    .refute = "the waiting processes are not the job's, or the steps of that time show no loader "
              "wait and no checkpoint",
};

static const struct rule_limit limits[] = {
    {.signal = SIG_IOWAIT_PEAK, .param = IO, .low_gpu = true, .gpu_param = GPU}};
static const char *const explained_by[] = {"CheckpointStall", NULL};

const struct rule rule_io_bottleneck = {
    .name = "IOBottleneck",
    .title = "I/O bottleneck",
    .description = "Checks how often a GPU in use was nearly idle while the node waited for I/O: "
                   "I/O wait of the node or of its worst core, or pressure (PSI) where the kernel "
                   "tells it.",
    .recommendation = "Prefetch, use binary or sharded formats, put the data on a local disk.",
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
