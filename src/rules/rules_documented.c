/* SPDX-License-Identifier: Apache-2.0 */
/* rules_documented.c - names and parameters of SageMaker Debugger's rules about tensors. See
 * rule.h.
 *
 * Those that have another name here mean the rule here. Those that are not supported are accepted,
 * so that settings which name them still work, and are reported as not evaluated. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "rules/rule.h"

/* ---- rules that have another name ---- */

static const struct {
    const char *name, *param; /* NULL: any parameter */
    const char *is;
} renamed[] = {
    {"ExplodingTensor", NULL, "NonFinite"},
    {"AllZero", NULL, "ZeroGradient"},
    {"WeightUpdateRatio", "small_threshold", "UpdateTooSmall"},
    {"WeightUpdateRatio", NULL, "UpdateTooLarge"},
};

const char *rule_of_documented(const char *name, const char *param)
{
    for (size_t i = 0; i < COUNT_OF(renamed); i++)
        if (strcmp(renamed[i].name, name) == 0 &&
            (!renamed[i].param || (param && strcmp(renamed[i].param, param) == 0)))
            return renamed[i].is;
    return name;
}

/* ---- parameters that have no use here ---- */

static const struct {
    const char *rule, *param; /* rule "": of every rule about tensors */
} unused[] = {
    {"", "base_trial"},
    {"", "collection_names"},
    {"", "tensor_regex"},
    {"NonFinite", "only_nan"},
    {"UpdateTooLarge", "num_steps"},
    {"UpdateTooLarge", "epsilon"},
    {"DeadRelu", "threshold_inactivity"},
    {"SaturatedActivation", "threshold_tanh_min"},
    {"SaturatedActivation", "threshold_tanh_max"},
    {"SaturatedActivation", "threshold_sigmoid_min"},
    {"SaturatedActivation", "threshold_sigmoid_max"},
    {"SaturatedActivation", "threshold_inactivity"},
    {"PoorWeightInitialization", "activation_inputs_regex"},
    {"PoorWeightInitialization", "distribution_range"},
    {"PoorWeightInitialization", "patience"},
    {"PoorWeightInitialization", "steps"},
    {"LossNotDecreasing", "use_losses_collection"},
    {"LossNotDecreasing", "increase_threshold_percent"},
    {"LossNotDecreasing", "mode"},
    {"Overfit", "patience"},
    {"StalledTraining", "base_trial"},
    {"StalledTraining", "stop_training_on_fire"},
    {"StalledTraining", "training_job_name_prefix"},
};

bool rule_param_is_unused(const struct rule *r, const char *param)
{
    for (size_t i = 0; i < COUNT_OF(unused); i++)
        if (strcmp(unused[i].param, param) == 0 &&
            (*unused[i].rule ? strcmp(unused[i].rule, r->name) == 0 : r->health))
            return true;
    return false;
}

/* ---- rules that are not supported ---- */

#define UNSUPPORTED(id)                                                                            \
    {                                                                                              \
        .name = id, .title = id, .description = "A rule of SageMaker Debugger.",                   \
        .recommendation = ""                                                                       \
    }

static const struct rule unsupported[] = {
    UNSUPPORTED("TensorVariance"),
    UNSUPPORTED("UnchangedTensor"),
    UNSUPPORTED("Overtraining"),
    UNSUPPORTED("ClassImbalance"),
    UNSUPPORTED("Confusion"),
    UNSUPPORTED("SimilarAcrossRuns"),
    UNSUPPORTED("CheckInputImages"),
    UNSUPPORTED("NLPSequenceRatio"),
    UNSUPPORTED("FeatureImportanceOverweight"),
    UNSUPPORTED("TreeDepth"),
    UNSUPPORTED("CreateXgboostReport"),
};

static_assert(COUNT_OF(unsupported) == RULES_UNSUPPORTED, "rule.h has their number");

size_t rule_unsupported(const char *name, size_t len)
{
    for (size_t i = 0; i < COUNT_OF(unsupported); i++)
        if (strlen(unsupported[i].name) == len && memcmp(unsupported[i].name, name, len) == 0)
            return i;
    return RULES_UNSUPPORTED;
}

struct verdict rule_unsupported_verdict(size_t i, struct arena *a)
{
    struct verdict v = verdict_new(&unsupported[i], a);
    verdict_not_evaluated(&v, "not supported yet");
    return v;
}
