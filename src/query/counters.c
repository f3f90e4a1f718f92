/* SPDX-License-Identifier: Apache-2.0 */
/* counters.c - see counters.h. */
#include "query/counters.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "query/event_flow.h"
#include "query/sync_places.h"
#include "record/event.h"

/* What the hooks report that is worth a curve; the rest are facts or parts of steps. */
static const enum event_id hook_curves[] = {EV_STEPS_TOTAL,        EV_LOADER_QUEUE,  EV_BATCH_SIZE,
                                            EV_CUDA_ALLOCATED,     EV_CUDA_RESERVED, EV_CUDA_PEAK,
                                            EV_CUDA_RESERVED_PEAK, EV_CUDA_RETRIES};

struct counters_making {
    const struct counters_ask *ask;
    struct arena *arena;
    struct counters *out;
    const char *entity; /* of the track */
    size_t first;       /* of the rows of the track */
    uint32_t *in_column[COUNTERS_MOST];
};

/* Whether the program reported it itself. What torch measures of DDP has no name of ours. */
static bool counter_is_own(const char *name)
{
    return event_find(name) == EV_N && strncmp(name, "ddp.avg_", strlen("ddp.avg_")) != 0;
}

static bool counter_is_curve(const struct event *v)
{
    if (v->kind != EVENT_MARK && v->kind != EVENT_COUNT && v->kind != EVENT_REAL)
        return false;
    const enum event_id id = event_find(v->name);
    if (id == EV_N)
        return !sync_is_total(v->name);
    return FIND_ANY(i, COUNT_OF(hook_curves), hook_curves[i] == id);
}

static const char *counter_unit(const struct event *v)
{
    if (v->kind == EVENT_MARK)
        return "marks";
    const enum event_id id = event_find(v->name);
    return id != EV_N && event_words[id].category == CAT_MEMORY && id != EV_CUDA_RETRIES ? "B" : "";
}

/* "rank 0"; of a thread that is not the first of its process "rank 0 loader". */
static const char *counter_entity(const struct run_track *t, bool first, struct arena *a)
{
    const struct run_process *p = t->process;
    const char *owner = p->rank >= 0 ? arena_printf(a, "rank %lld", (long long)p->rank)
                                     : arena_printf(a, "pid %u", (unsigned)p->pid);
    if (first)
        return owner;
    return *t->track.name
               ? arena_printf(a, "%s %s", owner, t->track.name)
               : arena_printf(a, "%s thread %llu", owner, (unsigned long long)t->track.id);
}

static struct counter_row *counter_add(struct counters_making *m, const struct run_track *t,
                                       const struct event *v)
{
    const size_t columns = m->out->axis.columns;
    float *room = arena_alloc_raw(m->arena, 3 * columns, sizeof *room);
    for (size_t i = 0; i < 3 * columns; i++)
        room[i] = NAN;
    m->in_column[m->out->n] = arena_array(m->arena, uint32_t, columns);
    struct counter_row *row = &m->out->v[m->out->n++];
    *row = (struct counter_row){.row = {.key = {t->process->node, arena_strdup(m->arena, v->name),
                                                m->entity, counter_unit(v)},
                                        .mean = room,
                                        .min = room + columns,
                                        .max = room + 2 * columns},
                                .last = NAN,
                                .own = counter_is_own(v->name)};
    if (m->ask->exact) {
        row->at_ns = arena_alloc_raw(m->arena, columns, sizeof *row->at_ns);
        row->exact = arena_alloc_raw(m->arena, columns, sizeof *row->exact);
    }
    return row;
}

/* NULL: there are too many. */
static struct counter_row *counter_find(struct counters_making *m, const struct run_track *t,
                                        const struct event *v)
{
    const char *unit = counter_unit(v);
    struct counters *out = m->out;
    for (size_t i = m->first; i < out->n; i++)
        if (strcmp(out->v[i].row.key.metric, v->name) == 0 &&
            strcmp(out->v[i].row.key.unit, unit) == 0)
            return &out->v[i];
    if (out->n < COUNTERS_MOST)
        return counter_add(m, t, v);
    out->cut = true;
    return NULL;
}

static void counter_put(struct counter_row *c, uint32_t *in_column, size_t column, double v)
{
    struct grid_row *row = &c->row;
    const float x = (float)v, n = (float)++in_column[column];
    row->mean[column] = n == 1 ? x : row->mean[column] + (x - row->mean[column]) / n;
    row->min[column] = fminf(row->min[column], x); /* of NAN and a number the number */
    row->max[column] = fmaxf(row->max[column], x);
    row->sum += v;
    row->count++;
}

static void counter_put_exact(struct counter_row *c, size_t columns, wall_ns at, double v)
{
    const size_t n = c->row.count;
    if (n == columns)
        c->at_ns = NULL;
    if (!c->at_ns)
        return;
    c->at_ns[n] = at.ns;
    c->exact[n] = v;
}

static void counter_take(struct counters_making *m, const struct run_track *t,
                         const struct run_event *x)
{
    const struct event *v = &x->event;
    const struct grid *axis = &m->out->axis;
    if (!counter_is_curve(v) || (m->ask->name && strcmp(m->ask->name, v->name) != 0))
        return;
    struct counter_row *c = counter_find(m, t, v);
    if (!c)
        return;
    double number = v->kind == EVENT_REAL ? event_real(v) : (double)v->value;
    if (v->kind == EVENT_MARK)
        number = isnan(c->last) ? 1 : c->last + 1;
    if (!isfinite(number))
        return;
    c->last = number;
    if (x->at.ns < axis->from.ns)
        return;
    counter_put_exact(c, axis->columns, x->at, number);
    counter_put(c, m->in_column[c - m->out->v],
                (size_t)((x->at.ns - axis->from.ns) / axis->step_ns), number);
}

/* From the start of the track: marks are counted from there. */
static int counters_read_track(struct counters_making *m, struct run *r, struct event_flow *flow,
                               const struct run_track *t, struct err *e)
{
    const struct flow_window window = {.to = m->ask->to};
    const struct run_event *v;
    TRY(event_flow_track(flow, r, t, &window, NULL, e));
    m->first = m->out->n;
    for (size_t n; (n = event_flow_next(flow, &v)) > 0;)
        for (size_t i = 0; i < n; i++)
            counter_take(m, t, &v[i]);
    return 0;
}

static bool counters_wants(const struct counters_ask *ask, const struct run_track *t)
{
    return t->track.kind == TRACK_THREAD && !t->detail &&
           (!ask->node || strcmp(ask->node, t->process->node) == 0);
}

int counters_read(struct run *r, const struct counters_ask *ask, struct arena *a,
                  struct counters *out, struct err *e)
{
    const struct grid_ask columns = {.from = ask->from, .to = ask->to, .columns = ask->columns};
    struct counters_making m = {.ask = ask, .arena = a, .out = out};
    struct run_track *tracks;
    size_t n;
    *out = (struct counters){.v = arena_array(a, struct counter_row, COUNTERS_MOST)};
    int rc = grid_read(r, &columns, a, &out->axis, e);
    if (rc == 0)
        rc = events_tracks(r, a, &tracks, &n, e);
    if (rc)
        return rc;
    struct event_flow *flow = event_flow_open(&(struct event_want){.value = true});
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (!counters_wants(ask, &tracks[i]))
            continue;
        m.entity = counter_entity(&tracks[i], !i || tracks[i - 1].process != tracks[i].process, a);
        rc = counters_read_track(&m, r, flow, &tracks[i], e);
    }
    event_flow_close(flow);
    return rc;
}
