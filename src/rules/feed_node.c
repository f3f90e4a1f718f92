/* SPDX-License-Identifier: Apache-2.0 */
/* feed_node.c - see feed_node.h. */
#include "rules/feed_node.h"

#include <stdlib.h>
#include <string.h>

#include "base/ahead.h"
#include "base/mem.h"
#include "base/text.h"
#include "query/columns.h"
#include "query/steps.h"

/* ---- sweeps ---- */

#define WHICH_TOTAL COLUMN_TOTAL
#define WHICH_ONLY  COLUMN_ONLY
#define WHICH_PEAK  COLUMN_PEAK

static const struct {
    enum metric_id metric;
    enum column_which which;
} node_signals[NODE_SIGNAL_N] = {
#define NODE_SIGNAL(id, metric, which) [SIG_##id] = {M_##metric, WHICH_##which},
#include "rules/signals.def"
};

static const enum metric_id gpu_signals[GPU_SIGNAL_N] = {
#define GPU_SIGNAL(id, metric) [GPU_SIG_##id] = M_##metric,
#include "rules/signals.def"
};

static bool is_gpu_series(const struct series_key *k)
{
    for (size_t i = 0; i < GPU_SIGNAL_N; i++)
        if (strcmp(k->metric, metrics[gpu_signals[i]].name) == 0)
            return true;
    return false;
}

static bool is_listed(const char *const *v, size_t n, const char *entity)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(v[i], entity) == 0)
            return true;
    return false;
}

static int feed_node_by_name(const void *a, const void *b)
{
    return name_compare(*(const char *const *)a, *(const char *const *)b);
}

/* The GPUs of the node that anything was read of; at most SIGHT_GPUS_MOST. */
static size_t feed_node_find_gpus(const struct feed *f, const char *node, const char **out)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n_series && n < SIGHT_GPUS_MOST; i++) {
        const struct series_key *k = &f->series[i];
        if (strcmp(k->node, node) == 0 && is_gpu_series(k) && !is_listed(out, n, k->entity))
            out[n++] = k->entity;
    }
    qsort(out, n, sizeof *out, feed_node_by_name);
    return n;
}

/* The asks: first those of the node, then those of each GPU. */
struct asks {
    const char *gpus[SIGHT_GPUS_MOST];
    size_t n_gpus, n;
    struct column_ask v[NODE_SIGNAL_N + SIGHT_GPUS_MOST * GPU_SIGNAL_N];
};

static void make_asks(struct asks *a, const struct feed *f, const char *node)
{
    *a = (struct asks){0};
    a->n_gpus = feed_node_find_gpus(f, node, a->gpus);
    for (size_t k = 0; k < NODE_SIGNAL_N; k++)
        a->v[a->n++] = (struct column_ask){.metric = metrics[node_signals[k].metric].name,
                                           .which = node_signals[k].which};
    for (size_t g = 0; g < a->n_gpus; g++)
        for (size_t k = 0; k < GPU_SIGNAL_N; k++)
            a->v[a->n++] = (struct column_ask){.metric = metrics[gpu_signals[k]].name,
                                               .which = COLUMN_ENTITY,
                                               .entity = a->gpus[g]};
}

static struct sweeps sweeps_of(const struct asks *a, const struct column_batch *b,
                               struct gpu_sweeps *gpus)
{
    struct sweeps s = {
        .n = b->n, .at = b->at, .period_ns = b->period_ns, .gpus = gpus, .n_gpus = a->n_gpus};
    memcpy(s.v, b->v, NODE_SIGNAL_N * sizeof *s.v);
    for (size_t g = 0; g < a->n_gpus; g++) {
        gpus[g].entity = a->gpus[g];
        memcpy(gpus[g].v, b->v + NODE_SIGNAL_N + g * GPU_SIGNAL_N, GPU_SIGNAL_N * sizeof *s.v);
    }
    return s;
}

static int open_columns(const struct feed *f, const char *node, struct asks *a,
                        struct columns **out, struct err *e)
{
    make_asks(a, f, node);
    return columns_open(out, f->run, node, a->v, a->n, e);
}

int feed_facts(const struct feed *f, struct node_facts *facts, struct err *e)
{
    struct asks *a = xmalloc(sizeof *a);
    struct columns *c = NULL;
    struct column_batch b;
    const int rc = open_columns(f, facts->id, a, &c, e);
    facts->n_gpus = MAX_OF(facts->n_gpus, a->n_gpus);
    if (rc == 0 && columns_next(c, &b)) {
        facts->first = b.at[0];
        facts->period_ns = b.period_ns;
    }
    columns_close(c);
    free(a);
    run_forget(f->run, facts->id);
    return rc;
}

/* ---- times that do not count ---- */

static void leave_out_step(struct engine *g, size_t node, const struct step *s)
{
    const struct time_range when = step_time(s);
    if (s->disturbed)
        engine_leave_out(g, node, &when, 1);
}

static void leave_out_steps(struct engine *g, size_t node, const struct rank_steps *r)
{
    struct step some[PACKED_ROWS];
    for (size_t i = 0, n; !r->steps && i < r->n; i += n) {
        n = rank_steps_read(r, i, some);
        for (size_t k = 0; k < n; k++)
            leave_out_step(g, node, &some[k]);
    }
    for (size_t i = 0; r->steps && i < r->n; i++)
        leave_out_step(g, node, &r->steps[i]);
}

static void feed_node_leave_out_windows(struct engine *g, size_t node, const struct node_events *x)
{
    struct named_event some[PACKED_ROWS];
    for (size_t i = 0, n; i < x->n; i += n) {
        n = node_events_read(x, i, some);
        for (size_t k = 0; k < n; k++)
            if (some[k].id == EV_DETAIL)
                engine_leave_out(
                    g, node, &(struct time_range){some[k].at, {some[k].at.ns + some[k].dur_ns}}, 1);
    }
}

/* Our own detail windows, and the steps that they slow down. */
static void leave_out(struct engine *g, const struct feed *f, size_t node, const char *id)
{
    for (size_t i = 0; i < f->steps->n_ranks; i++)
        if (strcmp(f->steps->ranks[i].node, id) == 0)
            leave_out_steps(g, node, &f->steps->ranks[i]);
    for (size_t i = 0; i < f->steps->n_named; i++)
        if (strcmp(f->steps->named[i].node, id) == 0)
            feed_node_leave_out_windows(g, node, &f->steps->named[i]);
}

/* The batch before stays valid while the next is made: one slot for each. */
struct feed_batches {
    struct columns *columns;
    struct column_batch v[2];
};

static bool feed_make_batch(void *ctx, size_t slot)
{
    struct feed_batches *b = ctx;
    return columns_next(b->columns, &b->v[slot]);
}

static int feed_node_sweeps(struct engine *g, const struct feed *f, size_t node,
                            const struct node_facts *facts, struct err *e)
{
    const char *id = facts->id;
    struct asks *a = xmalloc(sizeof *a);
    struct gpu_sweeps gpus[SIGHT_GPUS_MOST];
    struct feed_batches b = {0};
    leave_out(g, f, node, id);
    const int rc = open_columns(f, id, a, &b.columns, e);
    /* Of a single node a thread decodes ahead, which saves a fifth of the time of `check`. Several
     * nodes have a thread each. */
    struct ahead *ahead = rc == 0 ? ahead_open(feed_make_batch, &b, COUNT_OF(b.v), f->alone) : NULL;
    for (size_t slot; rc == 0 && ahead_next(ahead, &slot);) {
        const struct sweeps s = sweeps_of(a, &b.v[slot], gpus);
        engine_sweeps(g, node, &s);
    }
    ahead_close(ahead);
    columns_close(b.columns);
    free(a);
    run_forget(f->run, id);
    return rc;
}

/* ---- steps and events ---- */

/* Of a rank that works on a GPU: how long its iterations take, evened out. */
static void find_pace(struct step_pace *p, const struct rank_steps *r)
{
    struct step some[PACKED_ROWS];
    for (size_t i = 0, n; i < r->n; i += n) {
        n = r->steps ? MIN_OF(r->n - i, (size_t)PACKED_ROWS) : rank_steps_read(r, i, some);
        step_pace_see(p, r->steps ? r->steps + i : some, n);
    }
    step_pace_done(p);
}

static void feed_rank(struct engine *g, size_t node, const struct rank_sight *sight,
                      const struct rank_steps *r, bool on_gpu)
{
    struct step some[PACKED_ROWS];
    struct step_pace pace = {0};
    if (on_gpu)
        find_pace(&pace, r);
    for (size_t i = 0, n; i < r->n; i += n) {
        if (r->steps) {
            n = MIN_OF(r->n - i, (size_t)PACKED_ROWS);
            memcpy(some, r->steps + i, n * sizeof *some);
        } else {
            n = rank_steps_read(r, i, some);
        }
        for (size_t k = 0; k < n; k++)
            some[k].paced_ns = 0;
        if (on_gpu)
            step_pace_give(&pace, i, some, n);
        engine_steps(g, node, sight, some, n);
    }
    step_pace_free(&pace);
}

static void feed_node_steps(struct engine *g, const struct feed *f, size_t node,
                            const struct node_facts *facts)
{
    for (size_t i = 0; i < f->steps->n_ranks; i++) {
        const struct rank_steps *r = &f->steps->ranks[i];
        const struct rank_sight sight = {r->rank, r->process->device, r->process->pid, &r->gpu};
        if (strcmp(r->node, facts->id) == 0)
            feed_rank(g, node, &sight, r, facts->n_gpus > 0);
    }
}

/* One that has steps has a number even if it did not say so. */
static int64_t feed_node_rank_of(const struct feed *f, const struct run_process *p)
{
    for (size_t i = 0; i < f->steps->n_ranks; i++) {
        const struct run_process *q = f->steps->ranks[i].process;
        if (q->pid == p->pid && q->session == p->session && strcmp(q->node, p->node) == 0)
            return f->steps->ranks[i].rank;
    }
    return p->rank;
}

static struct told told_of(const struct feed *f, const struct named_event *v, const int64_t *ranks)
{
    const struct run_process *p = &f->processes[v->process];
    return (struct told){
        .id = v->id,
        .at = v->at,
        .dur_ns = v->dur_ns,
        .value = v->value,
        .rank = ranks[v->process],
        .worker = p->worker,
        .pid = p->pid,
    };
}

static void feed_node_tell(struct engine *g, const struct feed *f, size_t node,
                           const int64_t *ranks, const struct node_events *x)
{
    struct named_event some[PACKED_ROWS];
    struct told told[PACKED_ROWS];
    for (size_t i = 0, n; i < x->n; i += n) {
        n = node_events_read(x, i, some);
        for (size_t k = 0; k < n; k++)
            told[k] = told_of(f, &some[k], ranks);
        engine_told(g, node, told, n);
    }
}

static void feed_node_told(struct engine *g, const struct feed *f, size_t node, const char *id)
{
    int64_t *ranks = xcalloc(f->n_processes + 1, sizeof *ranks);
    for (size_t i = 0; i < f->n_processes; i++)
        ranks[i] = feed_node_rank_of(f, &f->processes[i]);
    for (size_t i = 0; i < f->steps->n_named; i++)
        if (strcmp(f->steps->named[i].node, id) == 0)
            feed_node_tell(g, f, node, ranks, &f->steps->named[i]);
    free(ranks);
}

static int feed_events(struct engine *g, const struct feed *f, size_t node,
                       const struct node_facts *facts, struct err *e)
{
    (void)e;
    feed_node_steps(g, f, node, facts);
    feed_node_told(g, f, node, facts->id);
    return 0;
}

int feed_node(struct engine *g, const struct feed *f, const struct node_facts *facts,
              enum feed_part part, struct err *e)
{
    static int (*const feeds[FEED_PARTS])(struct engine *, const struct feed *, size_t,
                                          const struct node_facts *, struct err *) = {
        [FEED_SWEEPS] = feed_node_sweeps, [FEED_EVENTS] = feed_events};
    return feeds[part](g, f, engine_node(g, facts), facts, e);
}
