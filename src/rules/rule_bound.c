/* SPDX-License-Identifier: Apache-2.0 */
/* ComputeBound, MemoryBound: what limits a busy GPU, as information. Neither is a fault: they show
 * where the next gain is possible. By means over the training loop:
 *
 *     tensor activity   DRAM activity
 *     >= 50 %           any             compute-bound
 *     <  50 %           >= 60 %         memory-bound
 *
 * Otherwise neither is reported; other rules then look for the reason that the GPU does not reach
 * its limits. */
#include <math.h>

#include "base/mem.h"
#include "rules/gpu_activity.h"
#include "rules/per_entity.h"

enum { TENSOR, DRAM };

#define TENSOR_PARAM                                                                               \
    {                                                                                              \
        "tensor_threshold", 50, 0, 100, PARAM_PERCENT,                                             \
            "tensor core activity at or above this means compute bound"                            \
    }
#define DRAM_PARAM                                                                                 \
    {                                                                                              \
        "dram_threshold", 60, 0, 100, PARAM_PERCENT,                                               \
            "DRAM activity at or above this means memory bound, unless compute bound"              \
    }

static const struct param compute_params[] = {[TENSOR] = TENSOR_PARAM, {0}};
static const struct param memory_params[] = {[TENSOR] = TENSOR_PARAM, [DRAM] = DRAM_PARAM, {0}};

/* What makes one of the two. */
struct bound {
    bool (*holds)(const struct param_value *p, double tensor, double dram);
    const char *words, *advice;
};

static bool is_compute_bound(const struct param_value *p, double tensor, double dram)
{
    (void)dram;
    return tensor >= p[TENSOR].v;
}

static bool is_memory_bound(const struct param_value *p, double tensor, double dram)
{
    return tensor < p[TENSOR].v && dram >= p[DRAM].v;
}

static const struct bound compute_bound = {
    is_compute_bound,
    "is compute bound",
    "lower precision (bf16, FP8) or fewer FLOPs would make it faster",
};
static const struct bound memory_bound = {
    is_memory_bound,
    "is memory bound",
    "fused kernels (torch.compile), larger tiles or less memory traffic would make it faster",
};

static void bound_judge(const struct judge *j, struct verdict *out)
{
    const struct bound *b = j->rule->spec->family;
    const struct gpu_activity *most = NULL, *g;
    for (struct entity_at at = {0}; (g = next_gpu(j, &at));) {
        const double tensor = gpu_level_mean(&g->tensor), dram = gpu_level_mean(&g->dram);
        if (isnan(tensor) || isnan(dram))
            continue;
        out->datapoints = MAX_OF(out->datapoints, g->tensor.n);
        most = most && gpu_level_mean(&most->tensor) >= tensor ? most : g;
        if (b->holds(j->p, tensor, dram))
            verdict_remark(out,
                           "%s %s %s: tensor cores active %.0f %% of the time, DRAM %.0f %%; %s",
                           at.node->facts->id, g->head.entity, b->words, tensor, dram, b->advice);
    }
    if (!most)
        gpu_activity_is_missing(j, out);
    else if (!out->n_remarks)
        verdict_why(out, "tensor cores active %.0f %% of the time, DRAM %.0f %%",
                    gpu_level_mean(&most->tensor), gpu_level_mean(&most->dram));
}

const struct rule rule_compute_bound = {
    .name = "ComputeBound",
    .title = "Compute bound",
    .description = "Reports whether a GPU is limited by the throughput of its tensor cores. "
                   "Informational, never an issue.",
    .recommendation = "Use lower precision or fewer FLOPs.",
    .params = compute_params,
    .needs = NEEDS_SWEEPS | NEEDS_GPU,
    .summary = true,
    RULE_STATE(struct node_state, GPU_ACTIVITY, .family = &compute_bound),
    .judge = bound_judge,
};

const struct rule rule_memory_bound = {
    .name = "MemoryBound",
    .title = "Memory bound",
    .description =
        "Reports whether a GPU is limited by its memory bandwidth. Informational, never an issue.",
    .recommendation = "Fuse operations or move less data.",
    .params = memory_params,
    .needs = NEEDS_SWEEPS | NEEDS_GPU,
    .summary = true,
    RULE_STATE(struct node_state, GPU_ACTIVITY, .family = &memory_bound),
    .judge = bound_judge,
};
