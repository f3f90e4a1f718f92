/* SPDX-License-Identifier: Apache-2.0 */
/* scenekit.c - see scenekit.h. */
#include "scenekit.h"

#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "import/importer.h"
#include "query/steps.h"
#include "record/group.h"
#include "rules/verdict_json.h"
#include "test.h"

/* What a node is told by the importer. */
struct node_sink {
    struct sink sink; /* first: the sink is the node */
    struct catching *all;
    size_t node;
};

/* All events of one process. */
struct process {
    size_t node;
    struct track track;
    int64_t rank, device, worker;
    struct run_event *v;
    size_t n, cap;
};

struct catching {
    struct played *out;
    struct node_sink *sinks;
    struct process *processes;
    size_t n, cap;
};

static void *more(struct arena *a, void *list, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return list;
    *cap = *cap ? 2 * *cap : 64;
    void *bigger = arena_alloc(a, *cap, size);
    if (n)
        memcpy(bigger, list, n * size);
    return bigger;
}

/* ---- rows ---- */

enum which { WHICH_TOTAL, WHICH_ONLY, WHICH_PEAK };

static const struct {
    enum metric_id metric;
    enum which which;
} node_signals[NODE_SIGNAL_N] = {
#define NODE_SIGNAL(id, metric, which) [SIG_##id] = {M_##metric, WHICH_##which},
#include "rules/signals.def"
};

static const enum metric_id gpu_signals[GPU_SIGNAL_N] = {
#define GPU_SIGNAL(id, metric) [GPU_SIG_##id] = M_##metric,
#include "rules/signals.def"
};

static void set(struct played *p, struct played_node *d, float **column, float v, bool peak)
{
    if (!*column) {
        *column = arena_array(&p->arena, float, d->cap);
        for (size_t i = 0; i < d->cap; i++)
            (*column)[i] = NAN;
    }
    float *at = &(*column)[d->n];
    *at = peak && *at > v ? *at : v;
}

static size_t gpu_of(struct played *p, struct played_node *d, const char *entity)
{
    size_t i = 0;
    while (i < d->n_gpus && strcmp(d->entity[i], entity) != 0)
        i++;
    if (i == d->n_gpus)
        d->entity[d->n_gpus++] = arena_strdup(&p->arena, entity);
    return i;
}

static void take_slot(struct played *p, struct played_node *d, const struct slot *s, float v)
{
    const bool total = strcmp(s->entity, ENTITY_TOTAL) == 0;
    for (size_t k = 0; k < NODE_SIGNAL_N; k++)
        if (node_signals[k].metric == s->metric && total == (node_signals[k].which != WHICH_PEAK))
            set(p, d, &d->v[k], v, !total);
    for (size_t k = 0; k < GPU_SIGNAL_N; k++)
        if (gpu_signals[k] == s->metric)
            set(p, d, &d->gpu[gpu_of(p, d, s->entity)][k], v, false);
}

static void on_row(struct sink *s, struct group *g, mono_ns t)
{
    struct node_sink *n = (struct node_sink *)s;
    struct played *p = n->all->out;
    struct played_node *d = &p->nodes[n->node];
    if (d->n == 0)
        d->facts.first.ns = t.ns;
    d->at[d->n].ns = t.ns;
    for (slot_id i = 0; i < g->n; i++)
        if (g->cells[i] != CELL_MISSING)
            take_slot(p, d, &g->slots[i], (float)((double)g->cells[i] * g->slots[i].step));
    d->n++;
}

/* ---- events ---- */

static struct process *process_of(struct catching *c, size_t node, const struct track *t)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->processes[i].node == node && c->processes[i].track.pid == t->pid)
            return &c->processes[i];
    c->processes = more(&c->out->arena, c->processes, c->n, &c->cap, sizeof *c->processes);
    c->processes[c->n] =
        (struct process){.node = node, .track = *t, .rank = -1, .device = -1, .worker = -1};
    return &c->processes[c->n++];
}

static void on_events(struct sink *s, const struct track *t, const struct event *v, size_t n)
{
    struct node_sink *own = (struct node_sink *)s;
    struct arena *a = &own->all->out->arena;
    struct process *p = process_of(own->all, own->node, t);
    for (size_t i = 0; i < n; i++) {
        const enum event_id id = event_find(v[i].name);
        p->rank = id == EV_RANK ? v[i].value : p->rank;
        p->device = id == EV_DEVICE ? v[i].value : p->device;
        p->worker = id == EV_WORKER_ID ? v[i].value : p->worker;
        p->v = more(a, p->v, p->n, &p->cap, sizeof *p->v);
        p->v[p->n] = (struct run_event){{v[i].at.ns}, v[i]};
        p->v[p->n++].event.name = arena_strdup(a, v[i].name);
    }
}

static int by_begin(const void *a, const void *b)
{
    const struct run_event *x = a, *y = b;
    if (x->at.ns != y->at.ns)
        return x->at.ns < y->at.ns ? -1 : 1;
    return (x->event.dur_ns < y->event.dur_ns) - (x->event.dur_ns > y->event.dur_ns);
}

/* As feed_run.c does it for the steps of a stored run, window by window. */
static void set_pace(struct step *v, size_t n)
{
    for (size_t i = 0, to; i < n; i = to) {
        struct step_pace p = {0};
        to = pace_window_end(i, n);
        step_pace_see(&p, v + i, to - i);
        step_pace_done(&p);
        step_pace_give(&p, 0, v + i, to - i);
        step_pace_free(&p);
    }
}

static void take_process(struct played *p, struct process *x)
{
    struct played_node *d = &p->nodes[x->node];
    struct played_rank *r = &p->ranks[p->n_ranks];
    qsort(x->v, x->n, sizeof *x->v, by_begin);
    *r = (struct played_rank){.node = x->node, .id = {x->rank, x->device, x->track.pid}};
    if (x->worker < 0)
        steps_derive(x->v, x->n, &p->arena, &r->steps, &r->n);
    if (d->facts.n_gpus)
        set_pace(r->steps, r->n);
    p->n_ranks += r->n > 0;
    for (size_t i = 0; i < x->n; i++) {
        const enum event_id id = event_find(x->v[i].event.name);
        if (id == EV_N || !rules_want_event(id))
            continue;
        d->events = more(&p->arena, d->events, d->n_events, &d->cap_events, sizeof *d->events);
        d->events[d->n_events++] = (struct rule_event){.id = id,
                                                       .at = x->v[i].at,
                                                       .dur_ns = x->v[i].event.dur_ns,
                                                       .value = x->v[i].event.value,
                                                       .rank = x->rank,
                                                       .worker = x->worker,
                                                       .pid = x->track.pid};
    }
}

static int by_time(const void *a, const void *b)
{
    const struct rule_event *x = a, *y = b;
    return (x->at.ns > y->at.ns) - (x->at.ns < y->at.ns);
}

/* ---- the run ---- */

static struct sink *sink_of_node(void *ctx, const char *node)
{
    struct catching *c = ctx;
    for (size_t i = 0; i < c->out->n_nodes; i++)
        if (strcmp(c->out->nodes[i].facts.id, node) == 0)
            return &c->sinks[i].sink;
    return NULL;
}

static void make_nodes(struct played *p, struct catching *c)
{
    static const struct sink_ops ops = {.row = on_row, .events = on_events};
    const struct scene *s = &p->scene;
    p->n_nodes = s->n_nodes;
    p->nodes = arena_array(&p->arena, struct played_node, s->n_nodes);
    c->sinks = arena_array(&p->arena, struct node_sink, s->n_nodes);
    for (size_t i = 0; i < s->n_nodes; i++) {
        struct played_node *d = &p->nodes[i];
        d->facts = (struct node_facts){.id = s->nodes[i].id,
                                       .cores = s->nodes[i].cores,
                                       .n_gpus = s->nodes[i].gpus,
                                       .memory_bytes = s->nodes[i].memory_bytes,
                                       .price_per_hour = NAN,
                                       .machine = "",
                                       .first = {SCENE_START_NS},
                                       .period_ns = s->interval_ns};
        d->cap = (size_t)(scene_end(s) / s->interval_ns) + 1;
        d->at = arena_array(&p->arena, wall_ns, d->cap);
        c->sinks[i] = (struct node_sink){{&ops}, c, i};
    }
}

static void find_times(struct played *p)
{
    struct run_facts *f = &p->run;
    int64_t first = INT64_MAX, train = INT64_MAX, last = 0;
    int64_t steady = INT64_MAX, steady_train = INT64_MAX;
    for (size_t i = 0; i < p->n_ranks; i++)
        for (size_t k = 0; k < p->ranks[i].n; k++) {
            const struct step *s = &p->ranks[i].steps[k];
            first = MIN_OF(first, s->start.ns);
            train = s->mode == MODE_TRAIN ? MIN_OF(train, s->start.ns) : train;
            last = MAX_OF(last, s->start.ns + s->dur_ns);
            if (s->warmup)
                continue;
            if (s->mode == MODE_TRAIN)
                steady_train = MIN_OF(steady_train, s->start.ns);
            else
                steady = MIN_OF(steady, s->start.ns);
        }
    f->ended = true;
    f->ending = run_ending_by_status(p->scene.no_job ? -1 : p->scene.job_exit);
    f->has_steps = p->n_ranks > 0;
    f->job_start.ns = SCENE_START_NS + p->scene.job_from_ns;
    f->job_end.ns =
        SCENE_START_NS + (p->scene.job_to_ns ? p->scene.job_to_ns : scene_end(&p->scene));
    if (f->has_steps) {
        f->loop_start.ns = train == INT64_MAX ? first : train;
        f->loop_end.ns = last;
        f->steady_start.ns = MIN_OF(train == INT64_MAX ? steady : steady_train, last);
    }
}

static void set_params(struct played *p)
{
    struct err e;
    rule_params_init(&p->params, &p->arena);
    for (size_t i = 0; i < p->scene.n_notes; i++)
        if (strcmp(p->scene.notes[i].kind, "set") == 0)
            OK(rule_params_set(&p->params, p->scene.notes[i].text, &e));
}

void play(struct played *p, const char *path)
{
    struct catching c = {.out = p};
    struct bytes_memory in;
    struct import_result r;
    struct err e;
    char *text;
    size_t len;
    *p = (struct played){0};
    OK(file_read(path, SCENE_BYTES_MOST, &p->arena, &text, &len, &e));
    OK(scene_parse(text, len, &p->arena, &p->scene, &e));
    make_nodes(p, &c);
    bytes_memory_init(&in, text, len, 0);
    const struct import_ask ask = {
        .in = &in.in, .sink_of_node = sink_of_node, .ctx = &c, .wall_minus_mono_ns = 0};
    OK(importer_scene.run(&ask, &r, &e));
    p->ranks = arena_array(&p->arena, struct played_rank, c.n + 1);
    for (size_t i = 0; i < c.n; i++)
        take_process(p, &c.processes[i]);
    for (size_t i = 0; i < p->n_nodes; i++)
        if (p->nodes[i].n_events)
            qsort(p->nodes[i].events, p->nodes[i].n_events, sizeof *p->nodes[i].events, by_time);
    find_times(p);
    set_params(p);
}

void play_free(struct played *p)
{
    arena_free(&p->arena);
}

/* ---- feeding ---- */

static void feed_sweeps(const struct played_node *d, struct engine *g, size_t node, int64_t from,
                        int64_t to)
{
    struct gpu_sweeps gpus[RULE_GPUS_MOST];
    size_t a = 0;
    while (a < d->n && d->at[a].ns < from)
        a++;
    struct sweeps s = {
        .at = d->at + a, .period_ns = d->facts.period_ns, .gpus = gpus, .n_gpus = d->n_gpus};
    while (a + s.n < d->n && d->at[a + s.n].ns < to)
        s.n++;
    for (size_t k = 0; k < NODE_SIGNAL_N; k++)
        s.v[k] = d->v[k] ? d->v[k] + a : NULL;
    for (size_t i = 0; i < d->n_gpus; i++) {
        gpus[i].entity = d->entity[i];
        for (size_t k = 0; k < GPU_SIGNAL_N; k++)
            gpus[i].v[k] = d->gpu[i][k] ? d->gpu[i][k] + a : NULL;
    }
    engine_sweeps(g, node, &s);
}

static void feed_steps(const struct played_rank *r, struct engine *g, size_t node, int64_t from,
                       int64_t to)
{
    size_t a = 0, n = 0;
    while (a < r->n && r->steps[a].start.ns < from)
        a++;
    while (a + n < r->n && r->steps[a + n].start.ns < to)
        n++;
    engine_steps(g, node, &r->id, r->steps + a, n);
}

static void feed_events(const struct played_node *d, struct engine *g, size_t node, int64_t from,
                        int64_t to)
{
    size_t a = 0, n = 0;
    while (a < d->n_events && d->events[a].at.ns < from)
        a++;
    while (a + n < d->n_events && d->events[a + n].at.ns < to)
        n++;
    if (n)
        engine_events(g, node, d->events + a, n);
}

static void leave_out_steps(const struct played_rank *r, struct engine *g, size_t node)
{
    for (size_t i = 0; i < r->n; i++) {
        const struct time_range when = step_time(&r->steps[i]);
        if (r->steps[i].disturbed)
            engine_leave_out(g, node, &when, 1);
    }
}

void play_leave_out(const struct played *p, struct engine *g)
{
    for (size_t i = 0; i < p->n_nodes; i++) {
        const struct played_node *d = &p->nodes[i];
        const size_t node = engine_node(g, &d->facts);
        for (size_t k = 0; k < p->n_ranks; k++)
            if (p->ranks[k].node == i)
                leave_out_steps(&p->ranks[k], g, node);
        for (size_t k = 0; k < d->n_events; k++) {
            const struct rule_event *x = &d->events[k];
            const struct time_range when = {x->at, {x->at.ns + x->dur_ns}};
            if (x->id == EV_DETAIL)
                engine_leave_out(g, node, &when, 1);
        }
    }
}

void play_feed(const struct played *p, struct engine *g, int64_t from_ns, int64_t to_ns)
{
    for (size_t i = 0; i < p->n_nodes; i++) {
        const struct played_node *d = &p->nodes[i];
        const size_t node = engine_node(g, &d->facts);
        feed_sweeps(d, g, node, from_ns, to_ns);
        for (size_t k = 0; k < p->n_ranks; k++)
            if (p->ranks[k].node == i)
                feed_steps(&p->ranks[k], g, node, from_ns, to_ns);
        feed_events(d, g, node, from_ns, to_ns);
    }
}

const char *play_json(struct played *p, struct engine *g)
{
    struct verdicts *v = arena_new(&p->arena, struct verdicts);
    struct buf out = {0};
    struct jw j = {.out = &out, .indent = 1};
    engine_judge(g, &p->run, &p->arena, v);
    jw_array(&j, NULL);
    for (size_t k = 0; k < RULE_N; k++)
        verdict_json(&j, NULL, &v->v[k], p->params.v[k]);
    jw_end(&j);
    const char *text = arena_strndup(&p->arena, (const char *)out.p, out.len);
    buf_free(&out);
    return text;
}
