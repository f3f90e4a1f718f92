/* SPDX-License-Identifier: Apache-2.0 */
/* check_sagemaker.c - verdicts as SageMaker's rules write them: one file per rule, for reports that
 * read those. What Footplate has no number for is left out. */
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "cmd/check.h"

/* Readers take the parameters by their position. A rule that is not here has them in its own order.
 */
static const struct {
    const char *rule;
    const char *params[6]; /* ends with NULL */
} orders[] = {
    {"CPUBottleneck", {"threshold", "cpu_threshold", "gpu_threshold", "patience"}},
    {"IOBottleneck", {"threshold", "io_threshold", "gpu_threshold", "patience"}},
    {"LowGPUUtilization", {"threshold_p95", "threshold_p5", "window", "patience"}},
    {"BatchSize",
     {"cpu_threshold_p95", "gpu_threshold_p95", "gpu_memory_threshold_p95", "patience", "window"}},
    {"GPUMemoryIncrease", {"increase", "patience", "window"}},
    {"LoadBalancing", {"threshold", "patience"}},
    {"StepOutlier", {"stddev", "mode", "n_outliers"}},
    {"MaxInitializationTime", {"threshold"}},
    {"Dataloader", {"min_threshold", "max_threshold"}},
};

/* Our numbers under the names that theirs have. */
static const struct {
    const char *rule, *number, *key;
} keys[] = {
    {"LowGPUUtilization", "gpu_p95", "gpu_95"},
    {"LowGPUUtilization", "gpu_p5", "gpu_5"},
    {"GPUMemoryIncrease", "memory_max", "gpu_max"},
    {"GPUMemoryIncrease", "increase", "increase"},
};

static const char *check_sagemaker_key_of(const struct rule *r, const char *number)
{
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (strcmp(keys[i].rule, r->name) == 0 && strcmp(keys[i].number, number) == 0)
            return keys[i].key;
    return number;
}

static void check_sagemaker_put_param(struct buf *b, const struct check *c, size_t rule,
                                      const char *name)
{
    const struct param *p = rules[rule]->params;
    for (size_t k = 0; p && p[k].name; k++) {
        const struct param_value *v = &c->params.v[rule][k];
        if (strcmp(p[k].name, name) != 0)
            continue;
        buf_printf(b, "%s%s:", b->len ? "\n" : "", name);
        if (p[k].unit == PARAM_WORD)
            buf_printf(b, "%s", p[k].words[(size_t)v->v]);
        else
            buf_printf(b, v->is_duration ? "%gs" : "%g", v->is_duration ? v->v / 1e9 : v->v);
    }
}

static const char *const *check_sagemaker_order_of(const struct rule *r)
{
    for (size_t i = 0; i < COUNT_OF(orders); i++)
        if (strcmp(orders[i].rule, r->name) == 0)
            return orders[i].params;
    return NULL;
}

/* "threshold:50\ncpu_threshold:90\n..." */
static const char *check_sagemaker_params_text(const struct check *c, size_t rule)
{
    struct buf b = {0};
    const char *const *order = check_sagemaker_order_of(rules[rule]);
    const struct param *p = rules[rule]->params;
    for (size_t i = 0; order && order[i]; i++)
        check_sagemaker_put_param(&b, c, rule, order[i]);
    for (size_t i = 0; !order && p && p[i].name; i++)
        check_sagemaker_put_param(&b, c, rule, p[i].name);
    const char *text = b.len ? arena_strndup(c->arena, (const char *)b.p, b.len) : "";
    buf_free(&b);
    return text;
}

static void check_sagemaker_put_numbers(struct jw *j, const struct rule *r, const struct finding *f)
{
    for (size_t i = 0; i < f->n_numbers; i++)
        if (!isnan(f->numbers[i].v))
            jw_num(j, check_sagemaker_key_of(r, f->numbers[i].name), f->numbers[i].v);
}

static bool same_place(const struct finding *a, const struct finding *b)
{
    return strcmp(a->node, b->node) == 0 && strcmp(a->entity, b->entity) == 0;
}

/* {"node": {"gpu0": {numbers}}}; findings stand by node and entity, the last of each counts. */
static void check_sagemaker_put_node(struct jw *j, const struct verdict *v, size_t *i)
{
    const char *node = v->findings[*i].node;
    if (*node)
        jw_object(j, node);
    for (; *i < v->n_findings && strcmp(v->findings[*i].node, node) == 0; ++*i) {
        const struct finding *f = &v->findings[*i];
        if (*i + 1 < v->n_findings && same_place(f, f + 1))
            continue;
        if (*f->entity)
            jw_object(j, f->entity);
        check_sagemaker_put_numbers(j, v->rule, f);
        if (*f->entity)
            jw_end(j);
    }
    if (*node)
        jw_end(j);
}

static void check_sagemaker_put_details(struct jw *j, const struct verdict *v)
{
    jw_object(j, "Details");
    for (size_t i = 0; i < v->n_findings;)
        check_sagemaker_put_node(j, v, &i);
    if (v->last_triggered.ns)
        jw_int(j, "last_timestamp", v->last_triggered.ns / NS_PER_US);
    jw_end(j);
}

static int write_rule(const struct check *c, size_t rule, const char *folder, struct err *e)
{
    const struct verdict *v = &c->checked.verdicts.v[rule];
    char path[PATH_LEN];
    struct buf b = {0};
    struct jw j = {.out = &b, .indent = 2};
    jw_object(&j, NULL);
    jw_int(&j, "RuleTriggered", (int64_t)v->triggered);
    jw_int(&j, "Violations", (int64_t)v->violations);
    check_sagemaker_put_details(&j, v);
    jw_int(&j, "Datapoints", (int64_t)v->datapoints);
    jw_str(&j, "RuleParameters", check_sagemaker_params_text(c, rule));
    jw_end(&j);
    buf_u8(&b, '\n');
    int rc = path_join(path, e, "%s/%s.json", folder, v->rule->name);
    if (rc == 0)
        rc = file_replace(path, b.p, b.len, e);
    buf_free(&b);
    return rc;
}

/* Rules that could not be evaluated have no file, as there. */
int check_sagemaker(const struct check *c, const char *folder, struct err *e)
{
    int rc = dir_make(folder, e);
    for (size_t k = 0; rc == 0 && k < RULE_N; k++)
        if (c->shown[k] && c->checked.verdicts.v[k].state != RULE_NOT_EVALUATED)
            rc = write_rule(c, k, folder, e);
    return rc;
}
