/* SPDX-License-Identifier: Apache-2.0 */
/* feed_facts.c - what is known of a run as a whole before rules see its readings: its nodes, the
 * programs outside of the job, and when the training loop runs. See feed_run.h. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "cost/machines.h"
#include "query/steps.h"
#include "rules/feed_run.h"
#include "run/run_ending.h"

/* ---- nodes ---- */

static void add_session(struct node_facts *n, const struct node_info *s, struct arena *a)
{
    n->cores = MAX_OF(n->cores, s->cores);
    n->n_gpus = MAX_OF(n->n_gpus, s->n_gpus);
    n->memory_bytes = MAX_OF(n->memory_bytes, s->memory_bytes);
    n->hours += node_hours(s);
    if (s->n_gpus && !n->gpu_memory_bytes) {
        n->gpu = arena_strdup(a, s->gpus[0].name);
        n->gpu_memory_bytes = s->gpus[0].memory_bytes;
    }
}

static void set_price(struct node_facts *n, struct node_price p)
{
    n->machine = p.machine;
    n->price_per_hour = p.price_per_hour;
    n->currency = p.currency;
}

/* Sessions of a node follow each other. */
void feed_find_nodes(const struct run_info *info, const struct pricing *pricing, struct arena *a,
                     struct checked *out)
{
    out->nodes = arena_array(a, struct node_facts, info->n_nodes);
    for (size_t i = 0; i < info->n_nodes; i++) {
        const struct node_info *s = &info->nodes[i];
        if (i == 0 || strcmp(info->nodes[i - 1].id, s->id) != 0)
            out->nodes[out->n_nodes++] = (struct node_facts){
                .id = arena_strdup(a, s->id),
                .period_ns = MAX_OF(s->interval_ns, 1),
                .first = s->start,
            };
        add_session(&out->nodes[out->n_nodes - 1], s, a);
        set_price(&out->nodes[out->n_nodes - 1], pricing_of_node(pricing, info, s, a));
    }
}

/* ---- programs outside of the job ---- */

static int others_by_cores(const void *a, const void *b)
{
    const double x = ((const struct other_use *)a)->cores, y = ((const struct other_use *)b)->cores;
    return (x < y) - (x > y);
}

/* A program has readings only while it is there, the total has all. */
static void find_node_others(const struct series_stats *v, size_t n, struct arena *a,
                             struct node_facts *node)
{
    struct other_use *out = arena_array(a, struct other_use, n);
    double readings = 0;
    for (size_t i = 0; i < n; i++)
        if (strcmp(v[i].key.node, node->id) == 0 && strcmp(v[i].key.entity, ENTITY_TOTAL) == 0)
            readings = (double)v[i].count;
    for (size_t i = 0; i < n && readings > 0; i++)
        if (strcmp(v[i].key.node, node->id) == 0 && strcmp(v[i].key.entity, ENTITY_TOTAL) != 0 &&
            v[i].count)
            out[node->n_others++] = (struct other_use){
                arena_strdup(a, v[i].key.entity), v[i].mean / 100 * (double)v[i].count / readings};
    SORT(out, node->n_others, others_by_cores);
    node->others = out;
}

int feed_find_others(struct run *r, const struct series_key *series, size_t n_series,
                     struct arena *a, struct checked *out, struct err *e)
{
    const struct series_ask ask = {.metric = metrics[M_OTHERS_CPU].name};
    struct series_stats *v;
    size_t n = 0, at = 0;
    while (at < n_series && strcmp(series[at].metric, ask.metric) != 0)
        at++;
    if (at == n_series)
        return 0;
    TRY(series_stats_read(r, &ask, a, &v, &n, e));
    for (size_t i = 0; i < out->n_nodes; i++)
        find_node_others(v, n, a, &out->nodes[i]);
    return 0;
}

/* ---- when the loop runs ---- */

/* The few steps of a rank that define when the loop begins and ends: its first one, its first train
 * step, and the one that ends last. Steps of a rank do not overlap. */
static struct rank_steps outermost(const struct rank_steps *r, struct arena *a)
{
    struct rank_steps out = {.process = r->process,
                             .node = r->node,
                             .rank = r->rank,
                             .steps = arena_array(a, struct step, 3)};
    const size_t train = FIND_FIRST(k, r->n, rank_step(r, k).mode == MODE_TRAIN);
    if (r->n)
        out.steps[out.n++] = rank_step(r, 0);
    if (train < r->n)
        out.steps[out.n++] = rank_step(r, train);
    if (r->n)
        out.steps[out.n++] = rank_step(r, r->n - 1);
    return out;
}

/* Where the first steps that are no warm-up begin. */
struct steady {
    bool trains;          /* a train step was seen */
    int64_t train, other; /* INT64_MAX: none */
};

/* False: nothing more to learn from this rank. */
static bool look_at_step(struct steady *x, const struct step *s)
{
    x->trains |= s->mode == MODE_TRAIN;
    if (s->warmup)
        return true;
    int64_t *to = s->mode == MODE_TRAIN ? &x->train : &x->other;
    *to = MIN_OF(*to, s->start.ns);
    return s->mode != MODE_TRAIN;
}

static void look_at_rank(struct steady *x, const struct rank_steps *r)
{
    struct step some[PACKED_ROWS];
    bool more = true;
    for (size_t i = 0, n; more && i < r->n; i += n) {
        n = r->steps ? MIN_OF(r->n - i, (size_t)PACKED_ROWS) : rank_steps_read(r, i, some);
        const struct step *v = r->steps ? r->steps + i : some;
        for (size_t k = 0; k < n && more; k++)
            more = look_at_step(x, &v[k]);
    }
}

/* With the first train step of any rank that is no warm-up; of a run that trains nothing, the first
 * such step of any kind. When all are warm-up, the loop is over before it counts. */
static wall_ns find_steady(const struct run_steps *steps, const struct run_phases *p)
{
    struct steady x = {.train = INT64_MAX, .other = INT64_MAX};
    for (size_t i = 0; i < steps->n_ranks; i++)
        look_at_rank(&x, &steps->ranks[i]);
    if (!p->has_steps)
        return (wall_ns){0};
    const int64_t from = x.trains ? x.train : x.other;
    return (wall_ns){MIN_OF(from, p->loop_end.ns)};
}

int feed_find_times(struct run *r, const struct run_steps *steps, struct arena *a,
                    struct run_facts *out, struct err *e)
{
    const size_t n = steps->n_ranks;
    struct rank_steps *few = arena_array(a, struct rank_steps, n);
    struct phases_from from = {.info = run_get_info(r), .ranks = few, .n_ranks = n};
    for (size_t i = 0; i < n; i++)
        few[i] = outermost(&steps->ranks[i], a);
    struct run_phases phases;
    struct run_mark *run_mark_list;
    const int rc = run_marks(r, a, &run_mark_list, &from.n_marks, e);
    if (rc)
        return rc;
    from.marks = run_mark_list;
    phases_of(&from, a, &phases);
    *out = (struct run_facts){
        .ended = from.info->status != RUN_RUNNING,
        .interrupted = from.info->status == RUN_INTERRUPTED || from.info->status == RUN_STOPPED ||
                       from.info->status == RUN_DIED,
        .ending = run_ending_of(from.info),
        .has_steps = phases.has_steps,
        .job_start = phases.job_start,
        .job_end = phases.job_end,
        .loop_start = phases.loop_start,
        .loop_end = phases.loop_end,
        .steady_start = find_steady(steps, &phases),
    };
    return 0;
}
