/* SPDX-License-Identifier: Apache-2.0 */
/* feed_run.c - see feed_run.h. */
#include "rules/feed_run.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/parallel.h"
#include "rules/correlate.h"
#include "rules/feed_node.h"

/* ---- what is known of the run ---- */

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

/* Sessions of a node stand one behind the other. */
static void find_nodes(const struct run_info *info, const struct pricing *pricing, struct arena *a,
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

/* The few steps of a rank that say when the loop begins and ends: its first one, its first train
 * step, and the one that ends last. Steps of a rank do not overlap. */
static struct rank_steps outermost(const struct rank_steps *r, struct arena *a)
{
    struct rank_steps out = {.process = r->process,
                             .node = r->node,
                             .rank = r->rank,
                             .steps = arena_array(a, struct step, 3)};
    size_t train = 0;
    while (train < r->n && rank_step(r, train).mode != MODE_TRAIN)
        train++;
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

static int find_times(struct run *r, const struct feed *f, struct arena *a, struct run_facts *out,
                      struct err *e)
{
    const size_t n = f->steps->n_ranks;
    struct rank_steps *few = arena_array(a, struct rank_steps, n);
    struct phases_from from = {.info = run_get_info(r), .ranks = few, .n_ranks = n};
    for (size_t i = 0; i < n; i++)
        few[i] = outermost(&f->steps->ranks[i], a);
    struct run_phases phases;
    struct run_mark *told;
    const int rc = run_marks(r, a, &told, &from.n_marks, e);
    if (rc)
        return rc;
    from.marks = told;
    phases_of(&from, a, &phases);
    *out = (struct run_facts){
        .ended = from.info->status != RUN_RUNNING,
        .interrupted = from.info->status == RUN_INTERRUPTED || from.info->status == RUN_STOPPED ||
                       from.info->status == RUN_DIED,
        .has_steps = phases.has_steps,
        .job_start = phases.job_start,
        .job_end = phases.job_end,
        .loop_start = phases.loop_start,
        .loop_end = phases.loop_end,
        .steady_start = find_steady(f->steps, &phases),
    };
    return 0;
}

/* ---- nodes, by as many threads as pay ---- */

struct fed_part {
    struct engine *engine;
    int rc;
    struct err e;
};

struct fed {
    const struct feed *feed;
    const struct checked *checked;
    struct fed_part *parts; /* FEED_PARTS for each node; before that, one with its facts */
};

static void work_facts(struct parallel *c, struct arena *results)
{
    const struct fed *x = c->ctx;
    (void)results;
    for (size_t i; parallel_next(c, &i);)
        x->parts[i].rc = feed_facts(x->feed, &x->checked->nodes[i], &x->parts[i].e);
}

static void feed_run_work(struct parallel *c, struct arena *results)
{
    const struct fed *x = c->ctx;
    const struct run_facts *run = &x->checked->run;
    (void)results;
    for (size_t i; parallel_next(c, &i);) {
        struct fed_part *p = &x->parts[i];
        p->engine = engine_open(x->feed->params);
        engine_window(p->engine, run->steady_start, run->loop_end);
        p->rc = feed_node(p->engine, x->feed, &x->checked->nodes[i / FEED_PARTS],
                          (enum feed_part)(i % FEED_PARTS), &p->e);
    }
}

/* The error of the first that has one. */
static int first_error(const struct fed_part *v, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++)
        if (v[i].rc != 0) {
            *e = v[i].e;
            return v[i].rc;
        }
    return 0;
}

/* All parts into one engine. */
static void feed_run_join(struct engine *all, struct fed_part *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        engine_merge(all, v[i].engine);
        engine_close(v[i].engine);
        v[i].engine = NULL;
    }
}

static int feed_run_judge(const struct feed *f, struct arena *a, struct checked *out, struct err *e)
{
    const size_t n = out->n_nodes * FEED_PARTS;
    struct fed x = {f, out, xcalloc(n + 1, sizeof(struct fed_part))};
    struct parallel facts = {.n = out->n_nodes, .each = 1, .work = work_facts, .ctx = &x};
    struct parallel job = {.n = n, .each = 1, .work = feed_run_work, .ctx = &x};
    struct engine *all = engine_open(f->params);
    engine_window(all, out->run.steady_start, out->run.loop_end);
    parallel_run(&facts, a);
    int rc = first_error(x.parts, out->n_nodes, e);
    if (rc == 0) {
        parallel_run(&job, a);
        rc = first_error(x.parts, n, e);
        feed_run_join(all, x.parts, n);
    }
    if (rc == 0)
        engine_judge(all, &out->run, a, &out->verdicts);
    engine_close(all);
    free(x.parts);
    return rc;
}

int rules_read_steps(struct run *r, struct arena *a, struct run_steps *out, struct err *e)
{
    return steps_read_named(r, &(struct steps_want){.wanted = rules_are_told}, a, out, e);
}

int rules_check_run(struct run *r, const struct rule_params *p, struct arena *a,
                    struct checked *out, struct err *e)
{
    return rules_check_priced(r, p, &(struct pricing){0}, a, out, e);
}

int rules_check_priced(struct run *r, const struct rule_params *p, const struct pricing *pricing,
                       struct arena *a, struct checked *out, struct err *e)
{
    struct run_steps steps;
    struct arena scratch = {0};
    const struct steps_want read = {.wanted = rules_are_told, .packed = true};
    int rc = steps_read_named(r, &read, &scratch, &steps, e);
    if (rc == 0)
        rc = rules_check_steps(r, &(struct check_ask){p, pricing, &steps}, a, out, e);
    arena_free(&scratch);
    return rc;
}

int rules_check_steps(struct run *r, const struct check_ask *ask, struct arena *a,
                      struct checked *out, struct err *e)
{
    struct feed f = {.run = r, .params = ask->params, .steps = ask->steps};
    struct arena scratch = {0};
    struct run_process *processes;
    struct series_key *series;
    *out = (struct checked){0};
    find_nodes(run_get_info(r), ask->pricing, a, out);
    int rc = events_processes(r, &scratch, &processes, &f.n_processes, e);
    if (rc == 0)
        rc = series_list(r, &scratch, &series, &f.n_series, e);
    if (rc == 0) {
        f.alone = out->n_nodes == 1;
        f.processes = processes;
        f.series = series;
        rc = find_times(r, &f, &scratch, &out->run, e);
    }
    if (rc == 0)
        rc = feed_run_judge(&f, a, out, e);
    if (rc == 0)
        rc = rules_correlate(
            &(struct correlate_ask){r, ask->steps->ranks, ask->steps->n_ranks, &out->run},
            &out->verdicts, a, e);
    arena_free(&scratch);
    return rc;
}
