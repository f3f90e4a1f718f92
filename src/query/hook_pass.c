/* SPDX-License-Identifier: Apache-2.0 */
/* hook_pass.c - see hook_pass.h. */
#include "query/hook_pass.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/crew.h"
#include "query/event_flow.h"
#include "record/event.h"

enum { PIECE_ROWS = 1 << 16 };

/* ---- the pieces ---- */

static bool may_step(const struct event_track *t)
{
    return t->track.process->worker < 0 && t->track.track.kind == TRACK_THREAD;
}

/* Whether phases are timed there. */
static bool has_gpu_times(const struct event_track *t)
{
    return t->track.process->worker < 0 && t->track.track.kind == TRACK_DEVICE;
}

static struct hook_piece *hook_pass_add_piece(struct hook_pass *p, const struct event_track *t,
                                              uint32_t first)
{
    if ((p->n & (p->n - 1)) == 0) /* room doubles */
        p->v = xrealloc(p->v, p->n ? 2 * p->n : 1, sizeof *p->v);
    p->v[p->n] = (struct hook_piece){
        .track = t, .first = first, .may_step = may_step(t), .gpu_times = has_gpu_times(t)};
    return &p->v[p->n++];
}

static void add_track(struct hook_pass *p, const struct event_track *t)
{
    struct hook_piece *piece = NULL;
    for (uint32_t i = 0; i < t->n_blocks; i++) {
        if (!piece || piece->rows >= PIECE_ROWS)
            piece = hook_pass_add_piece(p, t, i);
        piece->n++;
        piece->rows += t->store->events[t->blocks[i]].rows;
    }
}

void hook_pass_open(struct hook_pass *p, const struct event_index *x,
                    bool (*wanted)(enum event_id id))
{
    *p = (struct hook_pass){.index = x, .wanted = wanted};
    for (size_t i = 0; i < x->n_tracks; i++)
        if (!x->tracks[i].track.detail &&
            (wanted || may_step(&x->tracks[i]) || has_gpu_times(&x->tracks[i])))
            add_track(p, &x->tracks[i]);
}

/* Room for a point of every event. Most of it is used as a rule; what is not costs nothing. */
static void give_room(struct hook_pass *p, size_t begin, size_t end)
{
    size_t rows = 0;
    for (size_t i = begin; i < end; i++)
        rows += p->v[i].may_step ? p->v[i].rows : 0;
    if (rows > p->cap_room) {
        free(p->room);
        p->room = xmalloc(rows * sizeof *p->room);
        p->cap_room = rows;
    }
    rows = 0;
    for (size_t i = begin; i < end; i++)
        if (p->v[i].may_step) {
            p->v[i].points = (struct points){.v = p->room + rows, .cap = p->v[i].rows};
            rows += p->v[i].rows;
        }
}

static void gpu_spans_free(struct gpu_spans *g)
{
    free(g->v);
    *g = (struct gpu_spans){0};
}

void hook_pass_forget(const struct hook_pass *p, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        if (i == begin || p->v[i].track->store != p->v[i - 1].track->store)
            store_forget(p->v[i].track->store);
    for (size_t i = begin; i < end; i++)
        gpu_spans_free(&p->v[i].gpu);
}

void hook_pass_close(struct hook_pass *p)
{
    for (size_t i = 0; i < p->n; i++) {
        sorted_runs_free(&p->v[i].points.runs);
        gpu_spans_free(&p->v[i].gpu);
        named_list_free(&p->v[i].named);
    }
    free(p->room);
    free(p->v);
}

/* ---- reading ---- */

struct hook_reader {
    const struct hook_pass *pass;
    struct event_flow *flow;
    struct names_seen names;
    bool wanted[EV_N + 1]; /* by id; a name that is not in events.def is not */
};

static struct hook_reader *hook_reader_open(const struct hook_pass *p)
{
    struct hook_reader *rd = xcalloc(1, sizeof *rd);
    rd->pass = p;
    rd->flow = event_flow_open(&(struct event_want){.value = true});
    for (enum event_id id = 0; p->wanted && id < EV_N; id++)
        rd->wanted[id] = p->wanted(id);
    return rd;
}

static void hook_reader_close(struct hook_reader *rd)
{
    event_flow_close(rd->flow);
    free(rd);
}

static bool hook_names_wanted(void *ctx, const char *const *names, size_t n)
{
    const struct hook_reader *rd = ctx;
    for (size_t i = 0; i < n; i++)
        if (rd->wanted[event_find(names[i])])
            return true;
    return false;
}

static void hook_pass_take_named(struct hook_piece *to, const struct hook_pass *p,
                                 const struct event *v, enum event_id id)
{
    const struct named_event x = {
        .at = event_wall(to->track->store, v->at),
        .dur_ns = v->kind == EVENT_SPAN ? v->dur_ns : 0,
        .value = v->kind == EVENT_REAL ? (int64_t)event_real(v) : v->value,
        .process = (uint32_t)(to->track->track.process - p->index->processes),
        .id = id,
    };
    named_list_push(&to->named, &x);
}

static void take_gpu(struct gpu_spans *to, const struct event *v, enum event_id id)
{
    if (id == EV_N || v->kind != EVENT_SPAN || v->end != END_KNOWN || v->dur_ns < 0)
        return;
    if (to->n == to->cap) {
        to->cap = to->cap ? 2 * to->cap : 256;
        to->v = xrealloc(to->v, to->cap, sizeof *to->v);
    }
    to->v[to->n++] = (struct gpu_span){v->at.ns, v->dur_ns, id};
}

static void hook_pass_take(struct hook_reader *rd, struct hook_piece *to, const struct event *v)
{
    const struct point_name name = names_seen_find(&rd->names, v->name);
    if (to->may_step)
        points_add(&to->points, v, name);
    if (to->gpu_times)
        take_gpu(&to->gpu, v, name.id);
    if (rd->wanted[name.id] && v->kind != EVENT_STEP)
        hook_pass_take_named(to, rd->pass, v, name.id);
}

static void hook_read_piece(struct hook_reader *rd, struct hook_piece *to)
{
    const bool all = to->may_step || to->gpu_times;
    event_flow_blocks(rd->flow, to->track, to->first, to->n, all ? NULL : hook_names_wanted, rd);
    for (struct flow_rows rows; event_flow_rows(rd->flow, &rows);) {
        names_seen_forget(&rd->names); /* names are found by their address, which is the block's */
        for (uint32_t i = rows.from; i < rows.to; i++) {
            struct event v;
            event_columns_row(rows.columns, i, &v);
            hook_pass_take(rd, to, &v);
        }
    }
}

struct hook_reading {
    const struct hook_pass *pass;
    struct hook_piece *v;
};

static void hook_pass_work(struct crew *c, struct arena *results)
{
    const struct hook_reading *x = c->ctx;
    struct hook_reader *rd = hook_reader_open(x->pass);
    (void)results;
    for (size_t i; crew_next(c, &i);)
        hook_read_piece(rd, &x->v[i]);
    hook_reader_close(rd);
}

void hook_pass_read(struct hook_pass *p, size_t begin, size_t end)
{
    struct arena none = {0};
    give_room(p, begin, end);
    struct hook_reading x = {p, p->v + begin};
    struct crew crew = {.n = end - begin, .each = 1, .work = hook_pass_work, .ctx = &x};
    crew_run(&crew, &none);
}

const struct points *hook_pass_points(struct hook_piece *v, size_t n)
{
    struct points *all = &v[0].points;
    for (size_t i = 1; i < n; i++) {
        const struct points *more = &v[i].points;
        memmove(all->v + all->n, more->v, more->n * sizeof *more->v);
        sorted_runs_append(&all->runs, &more->runs, all->n);
        all->n += more->n;
        all->marked += more->marked;
    }
    points_sort(all);
    return all;
}
