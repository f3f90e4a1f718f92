/* SPDX-License-Identifier: Apache-2.0 */
/* TensorCoresUnused: the SMs of a GPU are busy, its tensor cores are not. The usual cause are
 * matrix products in FP32 without TF32.
 *
 * Work that is limited by memory (elementwise operations, embeddings) uses no tensor cores either,
 * and would not gain by them: with high DRAM activity nothing is found. */
#include <math.h>

#include "base/mem.h"
#include "query/efficiency.h"
#include "rules/gpu_activity.h"
#include "rules/per_entity.h"

enum { SM, TENSOR, DRAM }; /* parameters */

static const double TENSOR_OF_SM = 0.1;
/* Of the time in which SMs are busy. Matrix products become 6 times as fast and more (H200: TF32
 * 495 TFLOP/s against FP32 67, a GPT in bf16 6.3 times as fast); if the whole becomes only 3 times
 * as fast, so much of its time is lost. */
static const double LOST_SHARE = 1 - 1.0 / 3;

static const char *factor_text(const struct judge *j, const char *gpu)
{
    const struct gpu_peak *p = gpu ? gpu_peak_find(gpu) : NULL;
    if (!p || p->tf32_tflops <= 0 || p->fp32_tflops <= 0)
        return "matrix products can be several times faster";
    return arena_printf(j->arena,
                        "on this GPU the peak is %.0f TFLOP/s in TF32 and %.0f in FP32, so matrix "
                        "products can be up to %.0f times as fast",
                        p->tf32_tflops, p->fp32_tflops, floor(p->tf32_tflops / p->fp32_tflops));
}

static void tensor_find(const struct judge *j, struct verdict *v, const struct judged_node *node,
                        const struct gpu_activity *g)
{
    const double sm = gpu_level_mean(&g->sm), tensor = gpu_level_mean(&g->tensor),
                 dram = gpu_level_mean(&g->dram);
    struct finding *f = verdict_find(v, node->facts->id, g->head.entity);
    finding_when(v, f, &g->range, 1);
    finding_say(v, f,
                "the SMs of %s were active %.0f %% of the time, its tensor cores %.1f %% "
                "(threshold %g %%): matrix products run in FP32 without TF32, or in a format that "
                "tensor cores do not support",
                g->head.entity, sm, tensor, j->p[TENSOR].v);
    finding_advise(v, f,
                   "Call torch.set_float32_matmul_precision(\"high\") for TF32, or train in bf16 "
                   "with torch.autocast(\"cuda\", dtype=torch.bfloat16): %s.",
                   factor_text(j, node->facts->gpu));
    f->refute = "the model has no matrix products or convolutions, or needs FP64";
    FINDING_NUMBERS(v, f, sm, tensor, dram);
    const double seconds =
        j->run->has_steps ? judge_counted_s(j) : wall_span_s(g->range.start, g->range.end);
    f->lost_s = f->lost_gpu_s = seconds * sm / 100 * LOST_SHARE;
    finding_count(v, f, 1, g->tensor.n);
}

static bool tensor_cores_are_unused(const struct judge *j, const struct gpu_activity *g)
{
    const double sm = gpu_level_mean(&g->sm), tensor = gpu_level_mean(&g->tensor),
                 dram = gpu_level_mean(&g->dram);
    const bool limited_by_memory = dram >= j->p[DRAM].v; /* no, where it is not known */
    return sm >= j->p[SM].v && tensor < j->p[TENSOR].v && tensor < TENSOR_OF_SM * sm &&
           !limited_by_memory;
}

static void tensor_judge(const struct judge *j, struct verdict *out)
{
    const struct gpu_activity *least = NULL, *g;
    for (struct entity_at at = {0}; (g = next_gpu(j, &at));) {
        const double tensor = gpu_level_mean(&g->tensor);
        if (isnan(gpu_level_mean(&g->sm)) || isnan(tensor))
            continue;
        out->datapoints = MAX_OF(out->datapoints, g->tensor.n);
        least = least && gpu_level_mean(&least->tensor) <= tensor ? least : g;
        if (tensor_cores_are_unused(j, g))
            tensor_find(j, out, at.node, g);
    }
    if (!least)
        gpu_activity_is_missing(j, out);
    else if (out->state == RULE_CLEAR)
        verdict_why(out, "tensor cores active %.1f %% of the time, SMs %.0f %%, DRAM %.0f %%",
                    gpu_level_mean(&least->tensor), gpu_level_mean(&least->sm),
                    gpu_level_mean(&least->dram));
}

const struct rule rule_tensor_cores_unused = {
    .name = "TensorCoresUnused",
    .title = "Tensor cores unused",
    .description = "Checks whether the SMs of a GPU are busy while its tensor cores are not, as "
                   "with FP32 matrix products without TF32.",
    .recommendation = "Enable TF32, or train in bf16.",
    RULE_PARAMS([SM] = {"sm_threshold", 50, 0, 100, PARAM_PERCENT,
                        "the SMs are busy from this SM activity"},
                [TENSOR] = {"tensor_threshold", 5, 0, 100, PARAM_PERCENT,
                            "tensor cores are unused below this activity, if also below a tenth of "
                            "the SM activity"},
                [DRAM] = {"dram_threshold", 60, 0, 100, PARAM_PERCENT,
                          "from this DRAM activity, memory bandwidth is the limit instead"}),
    .labels = {{"sm_active", "%", "SM activity"},
               {"tensor_active", "%", "Tensor core activity"},
               {"dram_active", "%", "DRAM activity"}},
    .needs = NEEDS_SWEEPS | NEEDS_GPU,
    RULE_STATE(struct node_state, GPU_ACTIVITY),
    .judge = tensor_judge,
};
