/* SPDX-License-Identifier: Apache-2.0 */
/* rightsize_run.c - right-sizing of a run that was judged, and as JSON. See rightsize.h. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "rules/rightsize.h"

static const double GIB = 1024.0 * 1024 * 1024;
/* A run that is shorter says little about what it needs. */
static const double LEAST_S = 60;

static double gib_or(int64_t bytes, double otherwise)
{
    return bytes > 0 ? (double)bytes / GIB : otherwise;
}

/* What a GPU of that name is worth; a table may have it under another machine. */
static double tflops_of(const struct machines *t, const struct machine *m)
{
    for (size_t i = 0; isnan(m->gpu_tflops) && i < t->n; i++)
        if (machine_same_gpu(&t->v[i], m))
            return t->v[i].gpu_tflops;
    return m->gpu_tflops;
}

/* The one machine of the table that has the same cores, GPUs and memory; NULL: none, or several. A
 * kernel keeps some of the memory for itself. */
static const struct machine *by_shape(const struct node_facts *n, const struct machines *t)
{
    const struct machine *found = NULL;
    const double memory = gib_or(n->memory_bytes, NAN);
    for (size_t i = 0; i < t->n; i++) {
        const struct machine *m = &t->v[i];
        const bool same = m->cores == n->cores && m->gpus == (double)n->n_gpus &&
                          memory > 0.94 * m->memory_gib && memory <= m->memory_gib;
        if (!same || (n->gpu && *n->gpu && !machine_same_gpu(m, &(struct machine){.gpu = n->gpu})))
            continue;
        if (found)
            return NULL;
        found = m;
    }
    return found;
}

/* What was seen of the machine counts more than what the table says of its kind. */
static struct machine rightsize_run_machine_of(const struct node_facts *n, const struct machines *t,
                                               struct arena *a)
{
    const struct machine *known = *n->machine ? machines_find(t, n->machine) : by_shape(n, t);
    struct machine m = known ? *known
                             : (struct machine){.gpu = "",
                                                .gpu_memory_gib = NAN,
                                                .gpu_tflops = NAN,
                                                .cores = NAN,
                                                .memory_gib = NAN,
                                                .price_per_hour = NAN};
    if (!known)
        m.name = *n->machine ? n->machine : "this machine type";
    else if (!*n->machine)
        m.name = arena_printf(a, "%s (by cores and GPUs)", known->name);
    if (n->cores)
        m.cores = n->cores;
    m.memory_gib = gib_or(n->memory_bytes, m.memory_gib);
    m.gpu_memory_gib = gib_or(n->gpu_memory_bytes, m.gpu_memory_gib);
    if (n->gpu && *n->gpu)
        m.gpu = arena_strdup(a, n->gpu);
    if (!isnan(n->price_per_hour))
        m.price_per_hour = n->price_per_hour;
    m.gpu_tflops = tflops_of(t, &m);
    return m;
}

static const struct node_facts *facts_of(const struct checked *c, const char *node)
{
    for (size_t i = 0; i < c->n_nodes; i++)
        if (strcmp(c->nodes[i].id, node) == 0)
            return &c->nodes[i];
    return NULL;
}

/* A node that nothing was measured of leaves the run unknown: 0 then. */
static size_t used_nodes(const struct checked *c, const struct machines *t, struct arena *a,
                         struct used_node *out)
{
    const struct verdict *v = &c->verdicts.v[RULE_overall_system_usage];
    size_t n = 0;
    for (size_t i = 0; i < v->n_uses; i++) {
        const struct node_use *u = &v->uses[i];
        const struct node_facts *facts = facts_of(c, u->node);
        if (!facts)
            continue;
        out[n] = (struct used_node){
            .machine = rightsize_run_machine_of(facts, t, a),
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

/* Hours that cost, at the price of all machines, what the run did: nodes need not be there for
 * equally long. Where that is not known, those of the job. */
static double paid_hours(const struct checked *c)
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
    static const enum rule_id told[] = {RULE_overall_system_usage, RULE_low_gpu_utilization,
                                        RULE_batch_size};
    struct used_node *v = arena_array(a, struct used_node, c->n_nodes + 1);
    const double hours = paid_hours(c);
    if (hours * 3600 < LEAST_S)
        return NULL;
    const struct right_size *r = rightsize(t, v, used_nodes(c, t, a, v), hours, a);
    for (size_t i = 0; r && i < COUNT_OF(told); i++) {
        struct verdict *own = &c->verdicts.v[told[i]];
        if (!own->rule->summary && own->state != RULE_ISSUE)
            continue;
        own->right_size = r;
        if (!own->rule->summary)
            verdict_remark(own, "%s", r->why);
    }
    return r;
}
