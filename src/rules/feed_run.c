/* SPDX-License-Identifier: Apache-2.0 */
/* feed_run.c - see feed_run.h. */
#include "rules/feed_run.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "rules/correlate.h"
#include "rules/feed_node.h"

enum { THREADS_MOST = 4 };

/* ---- what is known of the run ---- */

static void add_session(struct node_facts *n, const struct node_info *s, struct arena *a)
{
    n->cores = MAX_OF(n->cores, s->cores);
    n->n_gpus = MAX_OF(n->n_gpus, s->n_gpus);
    n->memory_bytes = MAX_OF(n->memory_bytes, s->memory_bytes);
    if (s->n_gpus && !n->gpu_memory_bytes) {
        n->gpu = arena_strdup(a, s->gpus[0].name);
        n->gpu_memory_bytes = s->gpus[0].memory_bytes;
    }
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
        pricing_of_node(pricing, info, s, a, &out->nodes[out->n_nodes - 1]);
    }
}

/* The few steps of a rank that say when the loop begins and ends: its first one, its first train
 * step, and the one that ends last. */
static struct rank_steps outermost(const struct rank_steps *r, struct arena *a)
{
    struct rank_steps out = *r;
    size_t train = 0, last = 0;
    while (train < r->n && r->steps[train].mode != MODE_TRAIN)
        train++;
    for (size_t i = 0; i < r->n; i++)
        if (r->steps[i].start.ns + r->steps[i].dur_ns >
            r->steps[last].start.ns + r->steps[last].dur_ns)
            last = i;
    out.steps = arena_array(a, struct step, 3);
    out.n = 0;
    if (r->n)
        out.steps[out.n++] = r->steps[0];
    if (train < r->n)
        out.steps[out.n++] = r->steps[train];
    if (r->n)
        out.steps[out.n++] = r->steps[last];
    return out;
}

static int find_times(struct run *r, const struct feed *f, struct arena *a, struct run_facts *out,
                      struct err *e)
{
    struct rank_steps *few = arena_array(a, struct rank_steps, f->n_ranks);
    struct phases_from from = {.info = run_get_info(r), .ranks = few, .n_ranks = f->n_ranks};
    for (size_t i = 0; i < f->n_ranks; i++)
        few[i] = outermost(&f->ranks[i], a);
    struct run_phases phases;
    struct run_mark *told;
    const int rc = run_marks(r, a, &told, &from.n_marks, e);
    if (rc)
        return rc;
    from.marks = told;
    phases_of(&from, a, &phases);
    *out = (struct run_facts){
        .ended = from.info->status != RUN_RUNNING,
        .has_steps = phases.has_steps,
        .job_start = phases.job_start,
        .job_end = phases.job_end,
        .loop_start = phases.loop_start,
        .loop_end = phases.loop_end,
    };
    return 0;
}

/* ---- nodes, by as many threads as pay ---- */

/* Shared by the threads: who is free takes the next node. */
struct work {
    const struct feed *feed;
    const struct run_facts *run;
    struct node_facts *nodes;
    size_t n;
    struct engine **engines; /* by node */
    atomic_size_t next;
};

struct worker {
    struct work *work;
    pthread_t thread;
    bool started;
    int rc;
    struct err e;
};

static void *work_off(void *arg)
{
    struct worker *w = arg;
    struct work *x = w->work;
    for (size_t i; w->rc == 0 && (i = atomic_fetch_add(&x->next, 1)) < x->n;) {
        x->engines[i] = engine_open(x->feed->params);
        engine_window(x->engines[i], x->run->loop_start, x->run->loop_end);
        w->rc = feed_node(x->engines[i], x->feed, &x->nodes[i], &w->e);
    }
    return NULL;
}

static size_t threads_for(size_t nodes)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const size_t most = cores > 1 ? MIN_OF((size_t)cores, (size_t)THREADS_MOST) : 1;
    return MAX_OF(MIN_OF(nodes, most), (size_t)1);
}

/* The caller is the first worker; a thread that cannot be started is done without. */
static int feed_nodes(struct work *x, struct err *e)
{
    struct worker w[THREADS_MOST] = {0};
    const size_t n = threads_for(x->n);
    int rc = 0;
    for (size_t i = 0; i < n; i++) {
        w[i].work = x;
        w[i].started = i > 0 && pthread_create(&w[i].thread, NULL, work_off, &w[i]) == 0;
    }
    work_off(&w[0]);
    for (size_t i = 0; i < n; i++) {
        if (w[i].started)
            pthread_join(w[i].thread, NULL);
        if (rc == 0 && w[i].rc) {
            rc = w[i].rc;
            *e = w[i].e;
        }
    }
    return rc;
}

static int judge(const struct feed *f, struct arena *a, struct checked *out, struct err *e)
{
    struct work x = {.feed = f, .run = &out->run, .nodes = out->nodes, .n = out->n_nodes};
    x.engines = xcalloc(x.n, sizeof(struct engine *));
    int rc = feed_nodes(&x, e);
    struct engine *all = engine_open(f->params);
    engine_window(all, out->run.loop_start, out->run.loop_end);
    for (size_t i = 0; i < x.n; i++) {
        if (rc == 0)
            engine_merge(all, x.engines[i]);
        engine_close(x.engines[i]);
    }
    if (rc == 0)
        engine_judge(all, &out->run, a, &out->verdicts);
    engine_close(all);
    free(x.engines);
    return rc;
}

int rules_check_run(struct run *r, const struct rule_params *p, struct arena *a,
                    struct checked *out, struct err *e)
{
    return rules_check_priced(r, p, &(struct pricing){0}, a, out, e);
}

int rules_check_priced(struct run *r, const struct rule_params *p, const struct pricing *pricing,
                       struct arena *a, struct checked *out, struct err *e)
{
    struct check_ask ask = {.params = p, .pricing = pricing};
    struct arena scratch = {0};
    struct rank_steps *ranks;
    int rc = steps_read(r, &scratch, &ranks, &ask.n_ranks, e);
    ask.ranks = ranks;
    if (rc == 0)
        rc = rules_check_steps(r, &ask, a, out, e);
    arena_free(&scratch);
    return rc;
}

int rules_check_steps(struct run *r, const struct check_ask *ask, struct arena *a,
                      struct checked *out, struct err *e)
{
    struct feed f = {.run = r, .params = ask->params, .ranks = ask->ranks, .n_ranks = ask->n_ranks};
    struct arena scratch = {0};
    struct run_process *processes;
    struct series_key *series;
    *out = (struct checked){0};
    find_nodes(run_get_info(r), ask->pricing, a, out);
    int rc = events_processes(r, &scratch, &processes, &f.n_processes, e);
    if (rc == 0)
        rc = series_list(r, &scratch, &series, &f.n_series, e);
    if (rc == 0) {
        f.processes = processes;
        f.series = series;
        rc = find_times(r, &f, &scratch, &out->run, e);
    }
    if (rc == 0)
        rc = judge(&f, a, out, e);
    if (rc == 0)
        rc = rules_correlate(&(struct correlate_ask){r, ask->ranks, ask->n_ranks, &out->run},
                             &out->verdicts, a, e);
    arena_free(&scratch);
    return rc;
}
