/* SPDX-License-Identifier: Apache-2.0 */
/* import_scene.c - a made-up run (scene.h), passed on as a recorder would have done. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "import/importer.h"
#include "import/scene.h"
#include "record/group.h"

/* ROWS_BREATH: after each of so many rows or batches of events the caller may store them. */
enum {
    BATCH = 512,
    ROWS_BREATH = 4096,
    BATCHES_BREATH = 64,
    FIRST_PID = 1000,
    FIRST_WORKER = 100000
};

/* What stored percentages are rounded to: finer than a recorder, so that thresholds can be met. */
static const double PERCENT_STEP = 0.1;

struct scene_out {
    const struct import_ask *ask;
    struct import_result *result;
    const struct scene *scene;
    struct sink **sinks; /* by node */
    int64_t end;         /* of the scene */
    int rc;              /* the first failure; nothing is put after it */
    struct err *err;
};

static mono_ns scene_out_moment(const struct scene_out *t, int64_t ns)
{
    return (mono_ns){SCENE_START_NS + ns - t->ask->wall_minus_mono_ns};
}

/* The caller stores what it received when this requests more input, of which there is none.
 */
static void scene_out_pause(struct scene_out *t)
{
    char none;
    const int64_t n = t->rc == 0 ? t->ask->in->read(t->ask->in, &none, 1, t->err) : 0;
    if (n < 0)
        t->rc = (int)n;
}

/* ---- rows ---- */

static void scene_out_add_slots(const struct scene_out *t, struct group *g, size_t node, size_t *of)
{
    for (size_t i = 0; i < t->scene->n_series; i++) {
        const struct scene_series *x = &t->scene->series[i];
        if (x->node != node)
            continue;
        const struct metric *m = &metrics[x->metric];
        const bool fine = m->kind == KIND_RATE && m->unit == UNIT_PERCENT;
        const slot_id s = fine ? group_add_step(g, x->metric, x->entity, PERCENT_STEP)
                               : group_add(g, x->metric, x->entity);
        of[s] = i;
    }
}

static void scene_out_set_slot(struct group *g, slot_id s, const struct scene_series *x, double v)
{
    const struct metric *m = &metrics[x->metric];
    if (m->kind == KIND_RATE)
        group_rate(g, s, v * (double)g->period_ns / (double)NS_PER_S / m->count, g->period_ns);
    else
        group_gauge(g, s, v / m->count);
}

static void scene_put_rows(struct scene_out *t, size_t node)
{
    const struct scene *s = t->scene;
    struct group g;
    size_t *of = xcalloc(MAX_OF(s->n_series, 1), sizeof *of), rows = 0;
    group_open(&g, "scene", s->interval_ns);
    scene_out_add_slots(t, &g, node, of);
    for (int64_t at = 0; at < t->end && g.n && t->rc == 0; at += s->interval_ns) {
        for (slot_id k = 0; k < g.n; k++) {
            const double v = scene_value(s, &s->series[of[k]], at);
            if (isnan(v))
                continue;
            scene_out_set_slot(&g, k, &s->series[of[k]], v);
            t->result->count[IMPORTED_READINGS]++;
        }
        group_commit(&g, t->sinks[node], scene_out_moment(t, at));
        if (++rows % ROWS_BREATH == 0)
            scene_out_pause(t);
    }
    group_close(&g);
    free(of);
}

/* ---- events ---- */

/* The events of a track, handed over in batches. */
struct track_out {
    struct scene_out *t;
    struct sink *sink;
    struct track track;
    struct event v[BATCH];
    size_t n, batches;
    const struct scene_event **extras; /* by when they end */
    size_t n_extras, at;
};

static void scene_out_flush(struct track_out *o)
{
    if (o->n)
        o->sink->ops->events(o->sink, &o->track, o->v, o->n);
    o->t->result->count[IMPORTED_KEPT] += o->n;
    o->n = 0;
    if (++o->batches % BATCHES_BREATH == 0)
        scene_out_pause(o->t);
}

static struct event *scene_out_put(struct track_out *o, enum event_kind kind, const char *name,
                                   int64_t at, int64_t dur_ns)
{
    const enum event_id id = event_find(name);
    if (o->n == BATCH)
        scene_out_flush(o);
    struct event *v = &o->v[o->n++];
    *v = (struct event){.kind = kind,
                        .name = name,
                        .at = scene_out_moment(o->t, at),
                        .dur_ns = dur_ns,
                        .category = id == EV_N ? CAT_USER : event_words[id].category};
    return v;
}

static int64_t event_end(const struct scene_event *x)
{
    return x->kind == EVENT_SPAN ? x->to_ns : x->at_ns;
}

/* The separate events that end up to `until`. */
static void scene_out_put_extras(struct track_out *o, int64_t until)
{
    for (; o->at < o->n_extras && event_end(o->extras[o->at]) <= until; o->at++) {
        const struct scene_event *x = o->extras[o->at];
        const int64_t end = x->kind == EVENT_SPAN ? MIN_OF(x->to_ns, o->t->end) : x->at_ns;
        struct event *v = scene_out_put(o, x->kind, x->name, x->at_ns, MAX_OF(end - x->at_ns, 0));
        v->value = x->value;
        v->end = x->kind == EVENT_SPAN && x->to_ns == INT64_MAX ? END_CUT : END_KNOWN;
    }
}

static void scene_put_count(struct track_out *o, enum event_id id, int64_t value, int64_t at)
{
    scene_out_put(o, EVENT_COUNT, event_words[id].name, at, 0)->value = value;
}

static int64_t part_ns(const struct scene_doing *d, const struct scene_part *p)
{
    int64_t ns = isnan(p->share) ? p->dur_ns : (int64_t)((double)d->usual_ns * p->share + 0.5);
    if (d->odd && d->odd->in == p->id)
        ns += d->dur_ns - d->usual_ns;
    return ns;
}

/* Parts one after the other; what does not fit into the step is cut off. */
static void scene_out_put_parts(struct track_out *o, const struct scene_doing *d)
{
    int64_t at = d->start_ns;
    const int64_t end = d->start_ns + d->dur_ns;
    bool put = !d->odd || d->odd->in == EV_N;
    for (size_t i = 0; i < d->n_parts; i++) {
        const int64_t ns = MIN_OF(part_ns(d, &d->parts[i]), end - at);
        scene_out_put(o, EVENT_SPAN, event_words[d->parts[i].id].name, at, ns);
        at += ns;
        put = put || d->odd->in == d->parts[i].id;
        if (d->batch && d->parts[i].id == EV_DATA)
            scene_put_count(o, EV_BATCH_SIZE, d->batch, at);
    }
    if (!put)
        scene_out_put(o, EVENT_SPAN, event_words[d->odd->in].name, at,
                      MIN_OF(d->dur_ns - d->usual_ns, end - at));
}

static void scene_put_doing(struct track_out *o, const struct scene_doing *d)
{
    scene_out_put_extras(o, d->start_ns);
    if (!d->is_step) {
        scene_out_put(o, EVENT_SPAN, event_words[EV_CHECKPOINT].name, d->start_ns, d->dur_ns);
        return;
    }
    scene_out_put_parts(o, d);
    struct event *v = scene_out_put(o, EVENT_STEP, "", d->start_ns, d->dur_ns);
    v->value = d->number;
    v->mode = d->mode;
    v->category = CAT_OTHER;
}

static int by_end(const void *a, const void *b)
{
    const struct scene_event *x = *(const struct scene_event *const *)a,
                             *y = *(const struct scene_event *const *)b;
    /* Then in the order of the scene. */
    return COMPARE(event_end(x), event_end(y)) ?: COMPARE(x, y);
}

static void track_begin(struct track_out *o, struct scene_out *t, const struct scene_rank *r,
                        uint32_t pid, const char *process)
{
    *o = (struct track_out){.t = t, .sink = t->sinks[r->node]};
    o->track = (struct track){.kind = TRACK_THREAD, .pid = pid, .id = pid};
    snprintf(o->track.process, sizeof o->track.process, "%s", process);
    snprintf(o->track.name, sizeof o->track.name, "MainThread");
}

static void scene_out_put_rank(struct scene_out *t, const struct scene_rank *r, struct track_out *o)
{
    struct scene_walk w;
    struct scene_doing d;
    char process[TRACK_NAME_LEN];
    snprintf(process, sizeof process, "scene rank %lld", (long long)r->number);
    track_begin(o, t, r, (uint32_t)(FIRST_PID + r->number), process);
    o->extras = xcalloc(MAX_OF(r->n_events, 1), sizeof *o->extras);
    o->n_extras = r->n_events;
    for (size_t i = 0; i < r->n_events; i++)
        o->extras[i] = &r->events[i];
    SORT(o->extras, r->n_events, by_end);
    scene_out_put(o, EVENT_MARK, event_words[EV_HOOKED].name, t->scene->job_from_ns, 0);
    scene_put_count(o, EV_RANK, r->number, t->scene->job_from_ns);
    scene_put_count(o, EV_WORLD_SIZE, (int64_t)t->scene->n_ranks, t->scene->job_from_ns);
    if (r->device >= 0)
        scene_put_count(o, EV_DEVICE, r->device, t->scene->job_from_ns);
    scene_walk_begin(&w, t->scene, r);
    while (t->rc == 0 && scene_walk_next(&w, &d))
        scene_put_doing(o, &d);
    scene_out_put_extras(o, INT64_MAX);
    scene_out_flush(o);
    free(o->extras);
}

/* When the rank's steps begin and end. */
static void steps_span(const struct scene_out *t, const struct scene_rank *r, int64_t *from,
                       int64_t *to)
{
    struct scene_walk w;
    struct scene_doing d;
    scene_walk_begin(&w, t->scene, r);
    *from = w.at_ns;
    *to = 0;
    while (scene_walk_next(&w, &d))
        *to = d.start_ns + d.dur_ns;
}

static void scene_put_workers(struct scene_out *t, const struct scene_rank *r,
                              const struct scene_workers *x, struct track_out *o)
{
    char process[TRACK_NAME_LEN];
    int64_t from = x->from_ns, to = x->to_ns;
    if (to == 0)
        steps_span(t, r, &from, &to);
    for (size_t k = 0; k < x->count && t->rc == 0; k++) {
        snprintf(process, sizeof process, "scene rank %lld worker %zu", (long long)r->number, k);
        track_begin(o, t, r, (uint32_t)(FIRST_WORKER + r->number * SCENE_WORKERS_MOST + (int64_t)k),
                    process);
        scene_put_count(o, EV_WORKER_ID, (int64_t)k, from);
        /* They take turns, as workers do that are handed one batch after the other. */
        int64_t at = from + x->every_ns * (int64_t)k / (int64_t)x->count;
        for (; at + x->fetch_ns <= to && t->rc == 0; at += x->every_ns)
            scene_out_put(o, EVENT_SPAN, event_words[EV_FETCH].name, at, x->fetch_ns);
        scene_out_flush(o);
    }
}

/* ---- nodes ---- */

static void scene_out_put_mark(struct scene_out *t, size_t node, enum mark_id id, int64_t at,
                               int64_t number, const char *text)
{
    struct mark m = {.id = id, .at = scene_out_moment(t, at), .number = number};
    snprintf(m.text, sizeof m.text, "%s", text);
    if (t->sinks[node]->ops->mark)
        t->sinks[node]->ops->mark(t->sinks[node], &m);
}

static void scene_out_put_node(struct scene_out *t, size_t node)
{
    const struct scene *s = t->scene;
    const struct scene_node *d = &s->nodes[node];
    const int64_t job_end = s->job_to_ns ? s->job_to_ns : t->end;
    if (t->ask->machine)
        t->ask->machine(t->ask->ctx, &(struct import_machine){.node = d->id,
                                                              .cores = d->cores,
                                                              .gpus = d->gpus,
                                                              .memory_bytes = d->memory_bytes,
                                                              .interval_ns = s->interval_ns,
                                                              .first = scene_out_moment(t, 0),
                                                              .last = scene_out_moment(t, t->end),
                                                              .has_exit = !s->no_job,
                                                              .exit_status = s->job_exit});
    if (!s->no_job)
        scene_out_put_mark(t, node, MARK_JOB_START, s->job_from_ns, FIRST_PID, "scene");
    for (size_t i = 0; i < s->n_marks; i++)
        if (s->marks[i].node == node)
            scene_out_put_mark(t, node, s->marks[i].id, s->marks[i].at_ns, s->marks[i].number,
                               s->marks[i].text);
    if (!s->no_job) {
        scene_out_put_mark(t, node, MARK_JOB_EXIT, job_end, s->job_exit, "scene");
        scene_out_put_mark(t, node, MARK_JOB_END, job_end, 0, "");
    }
    scene_put_rows(t, node);
}

static int scene_find_sinks(struct scene_out *t, struct err *e)
{
    const struct import_ask *ask = t->ask;
    for (size_t i = 0; i < t->scene->n_nodes; i++) {
        const char *id = t->scene->nodes[i].id;
        t->sinks[i] = ask->sink_of_node ? ask->sink_of_node(ask->ctx, id) : ask->sink;
        if (!t->sinks[i])
            return err_set(e, ERR_LIMIT, "cannot create node '%s'", id);
    }
    return 0;
}

static int scene_out_emit(struct scene_out *t)
{
    const struct scene *s = t->scene;
    struct track_out *o = xcalloc(1, sizeof *o);
    for (size_t i = 0; i < s->n_nodes && t->rc == 0; i++)
        scene_out_put_node(t, i);
    for (size_t i = 0; i < s->n_ranks && t->rc == 0; i++) {
        scene_out_put_rank(t, &s->ranks[i], o);
        for (size_t k = 0; k < s->ranks[i].n_workers && t->rc == 0; k++)
            scene_put_workers(t, &s->ranks[i], &s->ranks[i].workers[k], o);
    }
    free(o);
    t->result->first = scene_out_moment(t, 0);
    t->result->last = scene_out_moment(t, t->end);
    t->result->elsewhere = t->ask->sink_of_node != NULL;
    return t->rc;
}

/* ---- the importer ---- */

static int scene_out_read_text(struct bytes_in *in, char *to, size_t *len, struct err *e)
{
    int64_t n = 1;
    while (n > 0 && *len < SCENE_BYTES_MOST) {
        n = in->read(in, to + *len, SCENE_BYTES_MOST - *len, e);
        if (n < 0)
            return (int)n;
        *len += (size_t)n;
    }
    return n == 0 ? 0 : err_set(e, ERR_LIMIT, "larger than %d MiB", SCENE_BYTES_MOST >> 20);
}

static int scene_out_run(const struct import_ask *ask, struct import_result *out, struct err *e)
{
    struct arena a = {0};
    struct scene s;
    char *text = xmalloc(SCENE_BYTES_MOST);
    size_t len = 0;
    *out = (struct import_result){.rank = -1, .world_size = -1};
    int rc = scene_out_read_text(ask->in, text, &len, e);
    out->bytes = len;
    if (rc == 0)
        rc = scene_parse(text, len, &a, &s, e);
    if (rc == 0) {
        struct scene_out t = {
            .ask = ask, .result = out, .scene = &s, .end = scene_end(&s), .err = e};
        t.sinks = arena_array(&a, struct sink *, s.n_nodes);
        rc = scene_find_sinks(&t, e);
        if (rc == 0)
            rc = scene_out_emit(&t);
    }
    arena_free(&a);
    free(text);
    return rc;
}

const struct importer importer_scene = {
    .name = "scene",
    .help = "scene: a synthetic run written as text",
    .sniff = scene_sniff,
    .run = scene_out_run,
};
