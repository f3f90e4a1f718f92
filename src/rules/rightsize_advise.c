/* SPDX-License-Identifier: Apache-2.0 */
/* rightsize_advise.c - adds the advice of cost/rightsize.h to the verdicts of a run. See
 * rightsize_advise.h. */
#include "rules/rightsize_advise.h"

#include <string.h>

#include "base/mem.h"

/* A shorter run does not show what it needs. */
static const double LEAST_S = 60;

static const struct node_facts *rightsize_facts_of(const struct checked *c, const char *node)
{
    for (size_t i = 0; i < c->n_nodes; i++)
        if (strcmp(c->nodes[i].id, node) == 0)
            return &c->nodes[i];
    return NULL;
}

/* Returns 0 if a node was not measured: the use of the run is then not known. */
static size_t rightsize_used_nodes(const struct checked *c, const struct machines *t,
                                   struct arena *a, struct used_node *out)
{
    const struct verdict *v = &c->verdicts.v[RULE_overall_system_usage];
    size_t n = 0;
    for (size_t i = 0; i < v->n_uses; i++) {
        const struct node_use *u = &v->uses[i];
        const struct node_facts *facts = rightsize_facts_of(c, u->node);
        if (!facts)
            continue;
        const struct node_hardware hardware = {
            .machine = facts->machine,
            .cores = facts->cores,
            .n_gpus = facts->n_gpus,
            .memory_bytes = facts->memory_bytes,
            .gpu = facts->gpu,
            .gpu_memory_bytes = facts->gpu_memory_bytes,
            .price_per_hour = facts->price_per_hour,
        };
        out[n] = (struct used_node){
            .machine = machine_of_node(&hardware, t, a),
            .pct = {[RES_GPU] = u->gpu_p95,
                    [RES_GPU_MEMORY] = u->gpu_mem_p95,
                    [RES_CPU] = u->cpu_p95,
                    [RES_MEMORY] = u->mem_p95},
            .currency = facts->currency,
        };
        out[n++].machine.gpus = (double)u->gpus;
    }
    return n == c->n_nodes ? n : 0;
}

/* Hours of all machines together that cost as much as the run did: nodes may have joined for
 * different times. Without prices, the hours of the job. */
static double rightsize_paid_hours(const struct checked *c)
{
    double cost = 0, price = 0;
    for (size_t i = 0; i < c->n_nodes; i++) {
        cost += c->nodes[i].hours * c->nodes[i].price_per_hour;
        price += c->nodes[i].price_per_hour;
    }
    return cost > 0 ? cost / price : (double)(c->run.job_end.ns - c->run.job_start.ns) / 3600e9;
}

const struct right_size *rightsize_advise(struct checked *c, const struct machines *t,
                                          struct arena *a)
{
    static const enum rule_id advised[] = {RULE_overall_system_usage, RULE_low_gpu_utilization,
                                           RULE_batch_size};
    struct used_node *v = arena_array(a, struct used_node, c->n_nodes + 1);
    const double hours = rightsize_paid_hours(c);
    if (hours * 3600 < LEAST_S)
        return NULL;
    const struct right_size *r = rightsize(t, v, rightsize_used_nodes(c, t, a, v), hours, a);
    for (size_t i = 0; r && i < COUNT_OF(advised); i++) {
        struct verdict *own = &c->verdicts.v[advised[i]];
        if (!own->rule->summary && own->state != RULE_ISSUE)
            continue;
        own->right_size = r;
        if (!own->rule->summary)
            verdict_remark(own, "%s", r->why);
    }
    return r;
}
