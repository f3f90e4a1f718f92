/* SPDX-License-Identifier: Apache-2.0 */
/* feed_run.c - see feed_run.h. What is known of the run as a whole comes first, since it decides
 * which sweeps count; then every node is read into a separate engine. */
#include "rules/feed_run.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/thread.h"
#include "base/vec.h"
#include "query/columns.h"
#include "query/health_book.h"
#include "query/steps.h"
#include "rules/engine_internal.h"

/* What is read once for all nodes. */
struct feed {
    struct run *run;
    const struct rule_params *params;
    const struct series_key *series; /* of all nodes */
    size_t n_series;
    const struct run_process *processes;
    size_t n_processes;
    const struct run_steps *steps; /* of all nodes, with the events that rules want */
    bool alone;                    /* there is one node: its samples are decoded ahead */
    wall_ns loop_end;              /* 0: there are no steps */
};

/* Of a rank: what of it is cached. */
struct fed_rank {
    int64_t rank, device;
    uint32_t pid;
    unsigned session;
    size_t fed;    /* steps that the engine has seen */
    size_t looked; /* steps whose times left out are known */
};

/* A process that events came from, as it was when they were fed. */
struct fed_process {
    int64_t rank, worker;
    uint32_t pid;
    unsigned session;
};

/* Of a node: what is cached, see below. */
struct fed_before {
    char id[ENTITY_LEN];
    struct engine *engine; /* NULL: nothing is cached */
    struct columns_place *place;
    wall_ns until; /* all of its sweeps are before */
    struct fed_rank *ranks;
    size_t n_ranks, cap_ranks;
    struct fed_process *processes;
    size_t n_processes, cap_processes;
    struct time_range *left_out; /* of final steps and events */
    size_t n_left_out, cap_left_out;
    struct health_memory *health;
    bool stale; /* it does not fit: the run must be evaluated anew */
};

struct evaluation {
    struct fed_before *nodes;
    size_t n, cap;
    struct steps_memory *steps;
    uint64_t age; /* of `steps` */
};

/* ---- the sweeps of a node ---- */

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
    return FIND_ANY(i, GPU_SIGNAL_N, strcmp(k->metric, metrics[gpu_signals[i]].name) == 0);
}

static bool is_listed(const char *const *v, size_t n, const char *entity)
{
    return FIND_ANY(i, n, strcmp(v[i], entity) == 0);
}

static int feed_node_by_name(const void *a, const void *b)
{
    return name_compare(*(const char *const *)a, *(const char *const *)b);
}

/* The GPUs of the node that anything was read of; at most RULE_GPUS_MOST. */
static size_t feed_node_find_gpus(const struct feed *f, const char *node, const char **out)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n_series && n < RULE_GPUS_MOST; i++) {
        const struct series_key *k = &f->series[i];
        if (strcmp(k->node, node) == 0 && is_gpu_series(k) && !is_listed(out, n, k->entity))
            out[n++] = k->entity;
    }
    SORT(out, n, feed_node_by_name);
    return n;
}

/* The asks: first those of the node, then those of each GPU. */
struct asks {
    const char *gpus[RULE_GPUS_MOST];
    size_t n_gpus, n;
    struct column_ask v[NODE_SIGNAL_N + RULE_GPUS_MOST * GPU_SIGNAL_N];
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

/* Fills in the first sweep, its period and how many GPUs were seen. */
static int feed_facts(const struct feed *f, struct node_facts *facts, struct err *e)
{
    struct asks *a = xmalloc(sizeof *a);
    struct columns *c = NULL;
    struct column_batch b;
    const int rc = open_columns(f, facts->id, a, &c, e);
    facts->n_gpus = MAX_OF(facts->n_gpus, a->n_gpus);
    if (rc == 0 && columns_first(c, &b)) {
        facts->first = b.at[0];
        facts->period_ns = b.period_ns;
    }
    columns_close(c);
    free(a);
    run_forget(f->run, facts->id);
    return rc;
}

/* ---- times that do not count ---- */

/* Adds it for this evaluation, and for those to come when it is final. */
static void leave_out_range(struct engine *g, struct fed_before *m, struct time_range x, bool final)
{
    engine_leave_out(g, 0, &x, 1);
    if (!m || !final)
        return;
    struct time_range *last = m->n_left_out ? &m->left_out[m->n_left_out - 1] : NULL;
    if (last && x.start.ns >= last->start.ns && x.start.ns <= last->end.ns)
        last->end.ns = MAX_OF(last->end.ns, x.end.ns);
    else
        *VEC_ADD(m->left_out, m->n_left_out, m->cap_left_out) = x;
}

/* Some steps of a rank from `i`, a multiple of PACKED_ROWS; returns how many. */
static size_t feed_read_steps(const struct rank_steps *r, size_t i, struct step *out)
{
    const size_t n = MIN_OF(r->n - i, (size_t)PACKED_ROWS);
    if (!r->steps)
        return rank_steps_read(r, i, out);
    memcpy(out, r->steps + i, n * sizeof *out);
    return n;
}

/* What is cached of the rank; it is added when it is new. */
static struct fed_rank *fed_rank_of(struct fed_before *m, const struct rank_steps *r)
{
    const struct fed_rank one = {
        r->rank, r->process->device, r->process->pid, r->process->session, 0, 0};
    for (size_t i = 0; i < m->n_ranks; i++)
        if (m->ranks[i].pid == one.pid && m->ranks[i].session == one.session) {
            m->stale |= m->ranks[i].rank != one.rank || m->ranks[i].device != one.device;
            return &m->ranks[i];
        }
    struct fed_rank *new = VEC_ADD(m->ranks, m->n_ranks, m->cap_ranks);
    *new = one;
    return new;
}

static void leave_out_steps(struct engine *g, struct fed_before *m, const struct rank_steps *r)
{
    struct step some[PACKED_ROWS];
    struct fed_rank *known = m ? fed_rank_of(m, r) : NULL;
    for (size_t i = known ? known->looked : 0, n; i < r->n; i += n) {
        n = feed_read_steps(r, i, some);
        for (size_t k = 0; k < n; k++)
            if (some[k].disturbed)
                leave_out_range(g, m, step_time(&some[k]), i + k < r->final);
    }
    if (known)
        known->looked = r->final;
}

static void feed_node_leave_out_windows(struct engine *g, struct fed_before *m,
                                        const struct node_events *x)
{
    struct named_event some[PACKED_ROWS];
    for (size_t i = 0, n; i < x->n; i += n) {
        n = node_events_read(x, i, some);
        for (size_t k = 0; k < n; k++)
            if (some[k].id == EV_DETAIL)
                leave_out_range(g, m,
                                (struct time_range){some[k].at, {some[k].at.ns + some[k].dur_ns}},
                                some[k].at.ns < x->final.ns);
    }
}

/* Our own detail windows, and the steps that they slow down. */
static void leave_out(struct engine *g, const struct feed *f, struct fed_before *m, const char *id)
{
    if (m)
        engine_leave_out(g, 0, m->left_out, m->n_left_out);
    for (size_t i = 0; i < f->steps->n_ranks; i++)
        if (strcmp(f->steps->ranks[i].node, id) == 0)
            leave_out_steps(g, m, &f->steps->ranks[i]);
    for (size_t i = 0; i < f->steps->n_named; i++)
        if (strcmp(f->steps->named[i].node, id) == 0)
            feed_node_leave_out_windows(g, m, &f->steps->named[i]);
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

/* ---- sweeps, from where they were not final before ----
 *
 * An evaluation caches for every node an engine that was fed all final sweeps (columns.h), and
 * the place after them. When the run is evaluated again, the engine is fed those that have become
 * final, and a copy of its states is fed the rest, all steps and all events. So the result is that
 * of an evaluation that caches nothing:
 *
 * - A state depends on what was fed and not on how it was cut (rule.h), and columns_next returns
 *   the same sweeps whether it begins at the place or at the begin of the run.
 * - Whether and how a sweep counts depends on the window, the facts and the times left out. When
 *   one of these is not what it was for the sweeps that were fed (engine_agrees), or when the files
 *   do not fit the place (columns_follow), what is cached is dropped and all is read again. */

static void fed_before_drop(struct fed_before *m)
{
    engine_close(m->engine);
    free(m->place);
    m->engine = NULL;
    m->place = NULL;
    m->until = (wall_ns){0};
    m->n_ranks = m->n_processes = m->n_left_out = 0;
    m->stale = false;
}

/* Of a node that is evaluated now; it may not be cached yet. The list may move. */
static struct fed_before *fed_before_of(struct evaluation *v, const char *id)
{
    for (size_t i = 0; i < v->n; i++)
        if (strcmp(v->nodes[i].id, id) == 0)
            return &v->nodes[i];
    struct fed_before *m = VEC_ADD(v->nodes, v->n, v->cap);
    *m = (struct fed_before){0};
    snprintf(m->id, sizeof m->id, "%s", id);
    return m;
}

struct evaluation *evaluation_open(void)
{
    struct evaluation *v = xcalloc(1, sizeof *v);
    v->steps = steps_memory_open();
    return v;
}

static void evaluation_drop(struct evaluation *v)
{
    for (size_t i = 0; i < v->n; i++)
        fed_before_drop(&v->nodes[i]);
}

/* Whether anything that is cached does not fit. Of a node of which no sweep is final nothing is
 * cached, so its steps and events must come again. */
static bool evaluation_is_stale(const struct evaluation *v)
{
    return FIND_ANY(i, v->n, v->nodes[i].stale);
}

void evaluation_close(struct evaluation *v)
{
    if (!v)
        return;
    evaluation_drop(v);
    for (size_t i = 0; i < v->n; i++) {
        free(v->nodes[i].ranks);
        free(v->nodes[i].processes);
        free(v->nodes[i].left_out);
        health_memory_close(v->nodes[i].health);
    }
    steps_memory_close(v->steps);
    free(v->nodes);
    free(v);
}

/* The sweeps from where `c` is on. `m` NULL: nothing is cached. */
static void feed_batches(struct engine *g, struct fed_before *m, const struct asks *a,
                         struct columns *c, bool ahead_pays)
{
    struct gpu_sweeps gpus[RULE_GPUS_MOST];
    struct feed_batches b = {.columns = c};
    struct engine *to = m ? m->engine : g;
    /* Of a single node a thread decodes ahead, which saves a fifth of the time of `check`. Several
     * nodes have a thread each. */
    struct ahead *ahead = ahead_open(feed_make_batch, &b, COUNT_OF(b.v), ahead_pays);
    for (size_t slot; ahead_next(ahead, &slot);) {
        const struct column_batch *batch = &b.v[slot];
        const struct sweeps s = sweeps_of(a, batch, gpus);
        if (to != g && !batch->final) {
            engine_copy_states(g, to);
            to = g;
        }
        engine_sweeps(to, 0, &s);
        if (to != g)
            m->until = (wall_ns){batch->at[batch->n - 1].ns + 1};
    }
    ahead_close(ahead);
    if (to != g)
        engine_copy_states(g, to);
}

/* False: what is cached does not fit. */
static bool feed_node_go_on(struct engine *g, struct fed_before *m, struct columns *c,
                            wall_ns loop_end)
{
    if (m->engine && !engine_agrees(m->engine, g, m->until))
        return false;
    return columns_follow(c, m->place, loop_end);
}

static void feed_node_remember(struct fed_before *m, const struct columns *c)
{
    free(m->place);
    m->place = columns_place(c);
    if (!m->place || !m->until.ns)
        fed_before_drop(m);
}

/* ---- its steps and events ---- */

/* Of a rank that works on a GPU: how long its iterations take, evened out. */
static void find_pace(struct step_pace *p, const struct rank_steps *r, size_t from, size_t to)
{
    struct step some[PACKED_ROWS];
    for (size_t i = from, n; i < to; i += n) {
        n = feed_read_steps(r, i, some);
        step_pace_see(p, some, n);
    }
    step_pace_done(p);
}

/* Steps from..to are a window of the rank. */
static void feed_window(struct engine *g, const struct rank_steps *r, size_t from, size_t to,
                        bool on_gpu)
{
    const struct rule_rank rank = {r->rank, r->process->device, r->process->pid, &r->gpu};
    struct step some[PACKED_ROWS];
    struct step_pace pace = {0};
    assert(from % PACKED_ROWS == 0 && (to % PACKED_ROWS == 0 || to == r->n));
    if (on_gpu)
        find_pace(&pace, r, from, to);
    for (size_t i = from, n; i < to; i += n) {
        n = feed_read_steps(r, i, some);
        for (size_t k = 0; k < n; k++)
            some[k].paced_ns = 0;
        if (on_gpu)
            step_pace_give(&pace, i - from, some, n);
        engine_steps(g, 0, &rank, some, n);
    }
    step_pace_free(&pace);
}

/* Steps that will stay as they are, in windows that will, go to the cached engine
 * (`final`); all others to that of this evaluation. */
static void feed_node_steps(struct engine *to, const struct feed *f, struct fed_before *m,
                            const struct node_facts *facts, bool final)
{
    for (size_t i = 0; i < f->steps->n_ranks; i++) {
        const struct rank_steps *r = &f->steps->ranks[i];
        if (strcmp(r->node, facts->id) != 0)
            continue;
        struct fed_rank *known = m ? fed_rank_of(m, r) : NULL;
        size_t from = known ? known->fed : 0;
        for (size_t end; from < r->n; from = end) {
            end = pace_window_end(from, r->n);
            if (final && r->final < from + 2 * PACE_STEPS)
                break;
            feed_window(to, r, from, end, facts->n_gpus > 0);
        }
        if (final)
            known->fed = from;
    }
}

/* A process that has steps has a rank even if it did not report one. */
static int64_t feed_node_rank_of(const struct feed *f, const struct run_process *p)
{
    for (size_t i = 0; i < f->steps->n_ranks; i++) {
        const struct run_process *q = f->steps->ranks[i].process;
        if (q->pid == p->pid && q->session == p->session && strcmp(q->node, p->node) == 0)
            return f->steps->ranks[i].rank;
    }
    return p->rank;
}

static struct rule_event rule_event_of(const struct feed *f, const struct named_event *v,
                                       const int64_t *ranks)
{
    const struct run_process *p = &f->processes[v->process];
    return (struct rule_event){
        .id = v->id,
        .at = v->at,
        .dur_ns = v->dur_ns,
        .value = v->value,
        .rank = ranks[v->process],
        .worker = p->worker,
        .pid = p->pid,
    };
}

/* Those before x->final, or those from there on. */
static void feed_node_facts(struct engine *g, const struct feed *f, const int64_t *ranks,
                            const struct node_events *x, bool final)
{
    struct named_event some[PACKED_ROWS];
    struct rule_event events[PACKED_ROWS];
    for (size_t i = 0, n; i < x->n; i += n) {
        size_t m = 0;
        n = node_events_read(x, i, some);
        for (size_t k = 0; k < n; k++)
            if (final == (some[k].at.ns < x->final.ns))
                events[m++] = rule_event_of(f, &some[k], ranks);
        engine_events(g, 0, events, m);
    }
}

/* The rank of every process; the caller's to free. */
static int64_t *feed_ranks(const struct feed *f)
{
    int64_t *ranks = xcalloc(f->n_processes + 1, sizeof *ranks);
    for (size_t i = 0; i < f->n_processes; i++)
        ranks[i] = feed_node_rank_of(f, &f->processes[i]);
    return ranks;
}

/* What was cached of it depends on its own blocks alone, so it need not be dropped with the
 * rest. */
static int feed_node_health(struct engine *g, const struct feed *f, struct fed_before *m,
                            const char *id, struct err *e)
{
    struct health_book *book = NULL;
    int64_t *ranks = feed_ranks(f);
    if (m && !m->health)
        m->health = health_memory_open();
    const int rc = health_book_read(f->run, id, ranks, m ? m->health : NULL, &book, e);
    engine_health(g, 0, book);
    free(ranks);
    return rc;
}

static void feed_node_events(struct engine *g, const struct feed *f, const char *id, bool final)
{
    int64_t *ranks = feed_ranks(f);
    for (size_t i = 0; i < f->steps->n_named; i++)
        if (strcmp(f->steps->named[i].node, id) == 0)
            feed_node_facts(g, f, ranks, &f->steps->named[i], final);
    free(ranks);
}

/* ---- nodes, by as many threads as pay ---- */

struct fed_node {
    struct engine *engine;
    struct fed_before *before; /* NULL: nothing is cached */
    int rc;
    struct err e;
};

struct fed {
    const struct feed *feed;
    const struct checked *checked;
    struct fed_node *nodes;
};

/* Processes whose events were fed must be what they were; new ones are added. */
static void feed_node_processes(struct fed_before *m, const struct feed *f, const char *id)
{
    for (size_t i = 0; i < f->n_processes; i++) {
        const struct run_process *p = &f->processes[i];
        const struct fed_process one = {feed_node_rank_of(f, p), p->worker, p->pid, p->session};
        size_t k = 0;
        if (strcmp(p->node, id) != 0)
            continue;
        while (k < m->n_processes &&
               (m->processes[k].pid != one.pid || m->processes[k].session != one.session))
            k++;
        if (k == m->n_processes)
            *VEC_ADD(m->processes, m->n_processes, m->cap_processes) = one;
        m->stale |= m->processes[k].rank != one.rank || m->processes[k].worker != one.worker;
    }
}

/* The cached engine gets what has become final, `g` a copy of its states and the rest.
 * What does not fit sets m->stale, and nothing is fed. */
static int feed_node_all(struct engine *g, const struct feed *f, struct fed_before *m,
                         const struct node_facts *facts, struct err *e)
{
    struct asks *a = xmalloc(sizeof *a);
    struct columns *c = NULL;
    int rc = open_columns(f, facts->id, a, &c, e);
    if (rc == 0)
        rc = feed_node_health(g, f, m, facts->id, e);
    if (rc == 0 && m) {
        m->stale |= !feed_node_go_on(g, m, c, f->loop_end);
        feed_node_processes(m, f, facts->id);
        m->engine = m->engine ? m->engine : engine_open(f->params);
        engine_align(m->engine, g);
        feed_node_steps(m->engine, f, m, facts, true);
        feed_node_events(m->engine, f, facts->id, true);
    }
    if (rc == 0 && !(m && m->stale)) {
        feed_batches(g, m, a, c, f->alone && !(m && m->place));
        feed_node_steps(g, f, m, facts, false);
        feed_node_events(g, f, facts->id, false);
        if (m)
            feed_node_remember(m, c);
    }
    columns_close(c);
    free(a);
    run_forget(f->run, facts->id);
    return rc;
}

static int feed_node(struct engine *g, const struct feed *f, struct fed_before *m,
                     struct node_facts *facts, struct err *e)
{
    const int rc = feed_facts(f, facts, e);
    if (rc)
        return rc;
    engine_node(g, facts);
    leave_out(g, f, m, facts->id);
    return feed_node_all(g, f, m, facts, e);
}

static void feed_run_work(struct parallel *c, struct arena *results)
{
    const struct fed *x = c->ctx;
    const struct run_facts *run = &x->checked->run;
    (void)results;
    for (size_t i; parallel_next(c, &i);) {
        struct fed_node *p = &x->nodes[i];
        p->engine = engine_open(x->feed->params);
        engine_window(p->engine, run->steady_start, run->loop_end);
        p->rc = feed_node(p->engine, x->feed, p->before, &x->checked->nodes[i], &p->e);
    }
}

/* All nodes into one engine. Returns the error of the first that has one. */
static int feed_run_join(struct engine *all, struct fed_node *v, size_t n, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; i < n; i++) {
        if (rc == 0 && v[i].rc != 0) {
            *e = v[i].e;
            rc = v[i].rc;
        }
        engine_merge(all, v[i].engine);
        engine_close(v[i].engine);
    }
    return rc;
}

static void feed_run_find_before(struct evaluation *v, const struct checked *c, struct fed_node *to)
{
    for (size_t i = 0; i < c->n_nodes; i++)
        fed_before_of(v, c->nodes[i].id);
    for (size_t i = 0; i < c->n_nodes; i++) /* the list does not move any more */
        to[i].before = fed_before_of(v, c->nodes[i].id);
}

static int feed_run_judge(const struct feed *f, struct evaluation *before, struct arena *a,
                          struct checked *out, struct err *e)
{
    struct fed x = {f, out, xcalloc(out->n_nodes + 1, sizeof(struct fed_node))};
    struct parallel job = {.n = out->n_nodes, .each = 1, .work = feed_run_work, .ctx = &x};
    struct engine *all = engine_open(f->params);
    engine_window(all, out->run.steady_start, out->run.loop_end);
    if (before)
        feed_run_find_before(before, out, x.nodes);
    parallel_run(&job, a);
    const int rc = feed_run_join(all, x.nodes, out->n_nodes, e);
    if (rc == 0)
        engine_judge(all, &out->run, a, &out->verdicts);
    engine_close(all);
    free(x.nodes);
    return rc;
}

int rules_read_steps(struct run *r, struct arena *a, struct run_steps *out, struct err *e)
{
    return steps_read_named(r, &(struct steps_want){.wanted = rules_want_event}, a, out, e);
}

int rules_check_run(struct run *r, const struct rule_params *p, struct arena *a,
                    struct checked *out, struct err *e)
{
    return evaluation_run(
        NULL, r, &(struct check_ask){.params = p, .pricing = &(struct pricing){0}}, a, out, e);
}

int rules_check_priced(struct run *r, const struct rule_params *p, const struct pricing *pricing,
                       struct arena *a, struct checked *out, struct err *e)
{
    return evaluation_run(NULL, r, &(struct check_ask){.params = p, .pricing = pricing}, a, out, e);
}

static int evaluation_try(struct evaluation *v, struct run *r, const struct check_ask *ask,
                          struct arena *a, struct checked *out, struct err *e)
{
    struct run_steps steps;
    struct arena scratch = {0};
    const struct steps_want read = {
        .wanted = rules_want_event, .packed = true, .memory = v ? v->steps : NULL};
    int rc = steps_read_named(r, &read, &scratch, &steps, e);
    if (rc == 0 && v && v->age != steps_memory_age(v->steps))
        evaluation_drop(v); /* all steps and events come again */
    if (v)
        v->age = steps_memory_age(v->steps);
    if (rc == 0)
        rc = rules_check_steps(r, &(struct check_ask){ask->params, ask->pricing, &steps, v}, a, out,
                               e);
    arena_free(&scratch);
    return rc;
}

/* Events that were final are not read again. So when nothing is cached of a node, or it does
 * not fit, nothing may be cached of any. */
static void evaluation_reset(struct evaluation *v)
{
    evaluation_drop(v);
    steps_memory_reset(v->steps);
}

static bool evaluation_is_whole(const struct evaluation *v)
{
    return !FIND_ANY(i, v->n, !v->nodes[i].engine);
}

int evaluation_run(struct evaluation *v, struct run *r, const struct check_ask *ask,
                   struct arena *a, struct checked *out, struct err *e)
{
    int rc = evaluation_try(v, r, ask, a, out, e);
    if (v && rc == 0 && evaluation_is_stale(v)) {
        evaluation_reset(v);
        rc = evaluation_try(v, r, ask, a, out, e);
        assert(!evaluation_is_stale(v));
    }
    if (v && (rc != 0 || !evaluation_is_whole(v)))
        evaluation_reset(v);
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
    feed_find_nodes(run_get_info(r), ask->pricing, a, out);
    int rc = events_processes(r, &scratch, &processes, &f.n_processes, e);
    if (rc == 0)
        rc = series_list(r, &scratch, &series, &f.n_series, e);
    if (rc == 0) {
        f.alone = out->n_nodes == 1;
        f.processes = processes;
        f.series = series;
        rc = feed_find_others(r, series, f.n_series, a, out, e);
    }
    if (rc == 0) {
        rc = feed_find_times(r, f.steps, &scratch, &out->run, e);
        f.loop_end = out->run.has_steps ? out->run.loop_end : (wall_ns){0};
    }
    if (rc == 0)
        rc = feed_run_judge(&f, ask->evaluation, a, out, e);
    if (rc == 0 && !(ask->evaluation && evaluation_is_stale(ask->evaluation)))
        rc = rules_correlate(
            &(struct correlate_ask){r, ask->steps->ranks, ask->steps->n_ranks, &out->run},
            &out->verdicts, a, e);
    arena_free(&scratch);
    return rc;
}
