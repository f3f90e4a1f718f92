/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.c - see timeline.h.
 *
 *     drawing_open, then for each lane: drawing_lane, slices in order of their begin,
 *     drawing_lane_end; then drawing_close, which completes the timeline
 *
 * A lane of a track is drawn from its events, from an overview of the run, or from its blocks, by
 * what the budget allows. */
#include "query/timeline.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "base/mem.h"
#include "base/vec.h"
#include "query/event_flow.h"
#include "query/eventsum.h"
#include "query/trace.h"

/* ---- spans of a lane become slices in rows ----
 *
 * Spans of a lane come in order of their begin. A stack of ends gives each its row. In a row a
 * narrow span waits for its neighbours: those that lie in the same pixel become one with it. While
 * there is room each name waits for itself, so that alternating names stay distinct however many
 * there are to a pixel. */

enum {
    LANE_ROWS_MOST = 64,
    NAMES_EACH = 8, /* that wait in a row */
};

/* The span that a row shows next, and how many it represents. */
struct waiting {
    struct timeline_slice slice;
    int64_t end;     /* of the last that was joined */
    int64_t longest; /* of those that were joined; its name is shown */
    uint32_t n;      /* 0: none waits */
};

struct drawing {
    const struct timeline_ask *ask;
    struct arena *arena;
    struct timeline *out;
    size_t cap_lanes, cap_slices;
    struct op_names names;
    int64_t pixel_ns;
    uint64_t budget;
    bool by_name; /* there is room for it */
    /* of the lane being drawn */
    int64_t ends[LANE_ROWS_MOST];
    size_t open;
    struct waiting row[LANE_ROWS_MOST][NAMES_EACH];
    size_t first; /* slice */
    bool lane_by_name;
};

enum {
    SLICES_EACH = 1024,
    NAMES_FACTOR = 4,      /* so many limits of slices are collected before names are given up, */
    GATHER_MOST = 1 << 21, /* or so many slices */
};

/* ---- slices ---- */

static void put_slice(struct drawing *d, const struct timeline_slice *s)
{
    struct timeline *t = d->out;
    if (!d->by_name && t->n_slices >= d->ask->limit) {
        t->cut = true;
        return;
    }
    *VEC_ADD(t->slices, t->n_slices, d->cap_slices) = *s;
}

static void put_waiting(struct drawing *d, struct waiting *w)
{
    if (w->n == 0)
        return;
    if (w->n > 1)
        w->slice.merged = w->n;
    put_slice(d, &w->slice);
    w->n = 0;
}

/* Where a span of this row and name waits: with its own kind, else where no span waits, else in the
 * place of the one that has waited longest. */
static struct waiting *rows_place_for(struct drawing *d, const struct timeline_slice *s)
{
    struct waiting *v = d->row[s->row], *best = v;
    if (!d->lane_by_name)
        return v;
    for (size_t i = 0; i < NAMES_EACH; i++)
        if (v[i].slice.name == s->name && v[i].n)
            return &v[i];
    for (size_t i = 0; i < NAMES_EACH; i++)
        if (best->n && (!v[i].n || v[i].slice.start < best->slice.start))
            best = &v[i];
    return best;
}

static bool waiting_joins(const struct drawing *d, const struct waiting *w,
                          const struct timeline_slice *s)
{
    return w->n && s->dur_ns < d->pixel_ns && w->end - w->slice.start < d->pixel_ns &&
           s->start + s->dur_ns - w->slice.start < d->pixel_ns &&
           (!d->lane_by_name || w->slice.name == s->name);
}

static void rows_put_span(struct drawing *d, const struct timeline_slice *s)
{
    struct waiting *w = rows_place_for(d, s);
    const int64_t end = s->start + s->dur_ns;
    if (!waiting_joins(d, w, s)) {
        put_waiting(d, w);
        *w = (struct waiting){*s, end, s->dur_ns, MAX_OF(s->merged, 1u)};
        return;
    }
    w->slice.dur_ns += s->dur_ns;
    w->end = MAX_OF(w->end, end);
    w->n += MAX_OF(s->merged, 1u);
    if (s->dur_ns > w->longest) {
        w->longest = s->dur_ns;
        w->slice.name = s->name;
        w->slice.category = s->category;
    }
}

static void put_all_waiting(struct drawing *d)
{
    for (size_t i = 0; i < LANE_ROWS_MOST; i++)
        for (size_t k = 0; k < NAMES_EACH; k++)
            put_waiting(d, &d->row[i][k]);
}

static int rows_by_start(const void *a, const void *b)
{
    const struct timeline_slice *x = a, *y = b;
    return COMPARE(x->start, y->start) ?: COMPARE(x->row, y->row);
}

/* Slices come out when they have waited long enough, not in order. */
static void sort_lane(struct drawing *d)
{
    struct timeline *t = d->out;
    SORT(t->slices + d->first, t->n_slices - d->first, rows_by_start);
    d->first = t->n_slices;
}

/* There are too many: those of other names join as well, from the first lane on. */
static void give_up_names(struct drawing *d)
{
    struct timeline *t = d->out;
    put_all_waiting(d);
    sort_lane(d);
    struct timeline_slice *old = t->slices;
    const size_t n = t->n_slices;
    t->slices = NULL;
    t->n_slices = d->cap_slices = d->first = 0;
    d->by_name = d->lane_by_name = false;
    for (size_t i = 0; i < n; i++) {
        if (i && old[i].lane != old[i - 1].lane) {
            put_all_waiting(d);
            sort_lane(d);
        }
        rows_put_span(d, &old[i]);
    }
    free(old);
}

/* The first row in which nothing runs any more, below all that still do. */
static uint32_t rows_row_for(struct drawing *d, int64_t start, int64_t end)
{
    while (d->open && d->ends[d->open - 1] <= start)
        d->open--;
    const size_t row = MIN_OF(d->open, (size_t)LANE_ROWS_MOST - 1);
    d->ends[row] = end;
    d->open = row + 1;
    return (uint32_t)row;
}

static bool is_seen(const struct drawing *d, const struct timeline_slice *s)
{
    return s->start < d->ask->to.ns && s->start + s->dur_ns >= d->ask->from.ns;
}

static void draw_seen(struct drawing *d, struct timeline_slice *s)
{
    struct timeline_lane *lane = &d->out->lanes[d->out->n_lanes - 1];
    s->lane = (uint32_t)(d->out->n_lanes - 1);
    lane->depth = MAX_OF(lane->depth, (size_t)s->row + 1);
    if (d->by_name && d->out->n_slices >= MIN_OF(NAMES_FACTOR * d->ask->limit, GATHER_MOST))
        give_up_names(d);
    rows_put_span(d, s);
}

static void drawing_slice(struct drawing *d, struct timeline_slice *s)
{
    if (is_seen(d, s))
        draw_seen(d, s);
}

/* A slice of the lane that was begun last, which is written into it: its row follows from what runs
 * already and is written too, or is known. */
static void drawing_span(struct drawing *d, struct timeline_slice *s)
{
    if (!is_seen(d, s))
        return;
    s->row = rows_row_for(d, s->start, s->start + s->dur_ns);
    draw_seen(d, s);
}

/* ---- lanes ---- */

static void drawing_lane(struct drawing *d, const struct timeline_lane *lane)
{
    struct timeline *t = d->out;
    *VEC_ADD(t->lanes, t->n_lanes, d->cap_lanes) = *lane;
    d->open = 0;
    d->lane_by_name = d->by_name;
}

static void drawing_lane_end(struct drawing *d)
{
    put_all_waiting(d);
    sort_lane(d);
    op_names_turn(&d->names);
}

/* ---- all of it ---- */

static struct drawing *drawing_open(const struct timeline_ask *ask, struct arena *a,
                                    struct timeline *out)
{
    struct drawing *d = xcalloc(1, sizeof *d);
    const int64_t span = ask->to.ns - ask->from.ns;
    *out = (struct timeline){0};
    d->ask = ask;
    d->arena = a;
    d->out = out;
    d->budget = ask->budget;
    d->by_name = true;
    d->pixel_ns = MAX_OF(span / (int64_t)MAX_OF(ask->px, (size_t)1), (int64_t)1);
    op_names_open(&d->names);
    return d;
}

/* Kernels have names of thousands of letters, or mangled ones. */
static const char *shown_name(const char *name, struct arena *a)
{
    char text[SHORT_NAME_LEN];
    if (strlen(name) <= SHORT_NAME_AIM && strncmp(name, "_Z", 2) != 0)
        return arena_strdup(a, name);
    return arena_strndup(a, text, name_shorten(name, text, sizeof text));
}

static void take_names(struct drawing *d)
{
    struct timeline *t = d->out;
    t->n_names = d->names.n;
    t->names = arena_array(d->arena, const char *, t->n_names + 1);
    for (size_t i = 0; i < t->n_names; i++)
        t->names[i] = shown_name(d->names.v[i].text, d->arena);
}

static void take_arrays(struct drawing *d)
{
    struct timeline *t = d->out;
    struct timeline_slice *slices = ARENA_COPY(d->arena, t->slices, t->n_slices);
    struct timeline_lane *lanes = ARENA_COPY(d->arena, t->lanes, t->n_lanes);
    free(t->slices);
    free(t->lanes);
    t->slices = slices;
    t->lanes = lanes;
}

static void drawing_close(struct drawing *d)
{
    if (d->by_name && d->out->n_slices > d->ask->limit)
        give_up_names(d);
    put_all_waiting(d);
    sort_lane(d);
    take_names(d);
    take_arrays(d);
    op_names_close(&d->names);
    free(d);
}

/* ---- a lane that is drawn from events ---- */

/* The first ones of a lane wait until it is known what kind of lane it is. */
enum { FIRST = 256 };

struct events {
    struct drawing *d;
    struct flow_window window;
    struct timeline_slice first[FIRST];
    size_t n, seen, operators;
    bool settled;
};

/* A trace that was imported has its operators among the other events. Operators have too many names
 * for each name to wait separately. */
static void timeline_events_settle(struct events *v)
{
    struct timeline_lane *lane = &v->d->out->lanes[v->d->out->n_lanes - 1];
    if (lane->kind == LANE_EVENTS && 2 * v->operators > v->seen)
        lane->kind = LANE_OPERATORS;
    v->d->lane_by_name = v->d->by_name && lane->kind == LANE_EVENTS;
    v->settled = true;
    for (size_t i = 0; i < v->n; i++)
        drawing_span(v->d, &v->first[i]);
}

static void hold_back(struct events *v, const struct timeline_slice *s, const struct event *e)
{
    v->operators += event_is_operator(e);
    v->first[v->n++] = *s;
    if (v->n == FIRST)
        timeline_events_settle(v);
}

/* All there is to see of the event, but its name. */
static struct event event_of(const struct event_columns *c, uint32_t row)
{
    struct event e = {.dur_ns = event_cell(c, COLUMN_DUR, row)};
    event_set_what(&e, event_columns_what(c, row));
    return e;
}

static void draw_row(struct events *v, const struct flow_rows *rows, uint32_t row)
{
    const struct event_columns *c = rows->columns;
    const int64_t start = flow_row_wall(rows, row);
    const struct event e = event_of(c, row);
    if (!flow_window_overlaps(&v->window, start, start + e.dur_ns))
        return;
    v->seen++;
    if (e.kind != EVENT_SPAN)
        return;
    struct timeline_slice s = {.start = start,
                               .dur_ns = MAX_OF(e.dur_ns, 0),
                               .name = op_names_id(&v->d->names, event_columns_name(c, row)),
                               .category = e.category};
    if (v->settled)
        drawing_span(v->d, &s);
    else
        hold_back(v, &s, &e);
}

/* Draws the events of a track into the lane that was begun last, and ends it. */
static int timeline_draw_events(struct drawing *d, struct run *r, const struct run_track *t,
                                struct err *e)
{
    struct arena texts = {0}; /* names are found by their address, so they stay until the end */
    struct event_flow *flow = event_flow_borrow(r);
    struct events *v = xmalloc(sizeof *v);
    *v = (struct events){.d = d, .window = {d->ask->from, d->ask->to}};
    const int rc = event_flow_track(flow, r, t, &v->window, &texts, e);
    for (struct flow_rows rows; rc == 0 && event_flow_rows(flow, &rows);)
        for (uint32_t i = rows.from; i < rows.to; i++)
            draw_row(v, &rows, i);
    if (rc == 0 && !v->settled)
        timeline_events_settle(v);
    if (rc == 0)
        drawing_lane_end(d);
    event_flow_give_back(r, flow);
    free(v);
    arena_free(&texts);
    return rc;
}

/* ---- overviews ----
 *
 * The events of a run that is too long to decode, as slices that are made once: as fine as memory
 * allows, and coarser ones made of these, so that the cost of a window depends on its pixels and
 * not on its length. */

enum {
    OVERVIEW_SLICES = 7 << 17, /* of the finest level */
    OVERVIEW_NAMES = 8,        /* so many are expected to alternate in a track */
    OVERVIEW_EVENTS = 32,      /* of the largest track to a pixel, at least */
    OVERVIEW_COARSER = 4,      /* from level to level */
    OVERVIEW_LEAST = 1024,     /* pixels; none is coarser */
    FINER = 4,                 /* slices of a level are to be narrower than a pixel by so much */
    CHUNK = 256,               /* slices whose last end is known */
    /* What the fields of a slice have room for. */
    NAMES_MOST = 1 << 20,
    CATEGORIES = 1 << 6,
};
static_assert((int)LANE_ROWS_MOST <= 1 << 6 && (int)CAT_N <= (int)CATEGORIES,
              "rows and categories have six bits");

/* ---- drawing from it ---- */

/* The lane of a track; NULL: it has none. */
static const struct overview_lane *lane_in(const struct overview_level *o, uint32_t track)
{
    return FIND_ITEM(x, o->lanes, o->n_lanes, x->track == track);
}

/* Slices of a coarser level end where those of finer ones do, not where pixels do: those as wide as
 * a pixel would seldom join. */
static const struct overview_level *overview_for(const struct timeline_overview *o, uint32_t track,
                                                 int64_t pixel_ns)
{
    size_t i = 0;
    if (!o || o->n_levels == 0 || !lane_in(&o->levels[0], track))
        return NULL;
    while (i + 1 < o->n_levels && FINER * o->levels[i + 1].pixel_ns <= pixel_ns &&
           lane_in(&o->levels[i + 1], track))
        i++;
    return &o->levels[i];
}

static void draw_slice(struct drawing *d, const struct overview_level *o,
                       const struct overview_slice *s)
{
    drawing_slice(d, &(struct timeline_slice){.row = s->row,
                                              .start = s->start,
                                              .dur_ns = s->dur_ns,
                                              .name = op_names_id(&d->names, o->names[s->name]),
                                              .merged = s->merged,
                                              .category = (enum event_category)s->category});
}

static void overview_draw(struct drawing *d, const struct overview_level *o, uint32_t track)
{
    const struct overview_lane *lane = lane_in(o, track);
    for (size_t i = lane[0].first; i < lane[1].first && o->slices[i].start < d->ask->to.ns;) {
        if (o->ends[i / CHUNK] < d->ask->from.ns)
            i = (i / CHUNK + 1) * CHUNK;
        else
            draw_slice(d, o, &o->slices[i++]);
    }
    d->out->cut |= o->pixel_ns > d->pixel_ns;
}

/* ---- making it ---- */

/* As many pixels as there is room for, but no finer than its largest track needs. */
static size_t overview_px(size_t tracks, uint64_t largest)
{
    const uint64_t room = OVERVIEW_SLICES / (OVERVIEW_NAMES * tracks);
    return (size_t)MAX_OF(MIN_OF(room, largest / OVERVIEW_EVENTS), UINT64_C(1));
}

static void find_ends(struct overview_level *o, struct arena *a)
{
    o->ends = arena_array(a, int64_t, o->n_slices / CHUNK + 1);
    for (size_t i = 0; i < o->n_slices; i++) {
        const int64_t end = o->slices[i].start + o->slices[i].dur_ns;
        int64_t *last = &o->ends[i / CHUNK];
        *last = i % CHUNK ? MAX_OF(*last, end) : end;
    }
}

static void keep_lanes(struct overview_level *o, const struct timeline *t, struct arena *a)
{
    size_t at = 0;
    o->n_lanes = t->n_lanes;
    o->lanes = arena_array(a, struct overview_lane, t->n_lanes + 1);
    for (size_t i = 0; i <= t->n_lanes; i++) {
        while (at < t->n_slices && t->slices[at].lane < i)
            at++;
        o->lanes[i] = (struct overview_lane){i < t->n_lanes ? t->lanes[i].track : NO_TRACK, at};
    }
}

static void keep_slices(struct overview_level *o, const struct timeline *t, struct arena *a)
{
    o->n_slices = t->n_slices;
    o->slices = arena_alloc_raw(a, t->n_slices + 1, sizeof *o->slices);
    for (size_t i = 0; i < t->n_slices; i++) {
        const struct timeline_slice *s = &t->slices[i];
        o->slices[i] =
            (struct overview_slice){.start = s->start,
                                    .dur_ns = s->dur_ns,
                                    .merged = s->merged,
                                    .name = s->name & (NAMES_MOST - 1),
                                    .row = s->row & (LANE_ROWS_MOST - 1),
                                    .category = (unsigned)s->category & (CATEGORIES - 1)};
    }
}

static void keep_level(struct overview_level *o, const struct timeline *t, struct arena *a)
{
    keep_lanes(o, t, a);
    keep_slices(o, t, a);
    find_ends(o, a);
    o->names = arena_array(a, const char *, t->n_names + 1);
    for (size_t i = 0; i < t->n_names; i++)
        o->names[i] = arena_strdup(a, t->names[i]);
}

/* The finest level is made of the events, each other of the one before. Not `*fits`: something
 * would be missing, so there is no such level. */
static int read_level(struct run *r, const struct timeline_ask *ask, struct arena *a,
                      struct timeline_overview *out, bool *fits, struct err *e)
{
    struct overview_level *o = &out->levels[out->n_levels];
    struct arena scratch = {0};
    struct timeline t;
    const int rc = timeline_read(r, ask, &scratch, &t, e);
    *fits = rc == 0 && !t.cut && t.n_names <= NAMES_MOST;
    if (*fits) {
        keep_level(o, &t, a);
        o->pixel_ns = (ask->to.ns - ask->from.ns) / (int64_t)ask->px;
        out->n_slices += o->n_slices;
        out->n_levels++;
    }
    arena_free(&scratch);
    return rc;
}

static int read_levels(struct run *r, struct timeline_ask *ask, struct arena *a,
                       struct timeline_overview *out, struct err *e)
{
    bool fits = true;
    int rc = 0;
    while (rc == 0 && fits && out->n_levels < OVERVIEW_LEVELS &&
           (out->n_levels == 0 || ask->px >= OVERVIEW_LEAST)) {
        ask->overview = out->n_levels ? out : NULL;
        rc = read_level(r, ask, a, out, &fits, e);
        ask->px /= OVERVIEW_COARSER;
    }
    return rc;
}

static bool timeline_wants(const struct timeline_ask *ask, const char *node, int64_t rank)
{
    return (!ask->node || strcmp(ask->node, node) == 0) && (ask->rank < 0 || ask->rank == rank);
}

/* Whether the track has a lane. */
static bool timeline_shows(const struct timeline_ask *ask, const struct run_track *t)
{
    return timeline_wants(ask, t->process->node, t->process->rank) && (ask->detail || !t->detail) &&
           t->events >= ask->least;
}

int timeline_overview_read(struct run *r, uint64_t least, struct arena *a,
                           struct timeline_overview *out, struct err *e)
{
    struct timeline_ask ask = {.from = {INT64_MAX},
                               .to = {INT64_MIN},
                               .rank = -1,
                               .limit = OVERVIEW_SLICES,
                               .budget = UINT64_MAX,
                               .least = least};
    struct run_track *tracks;
    size_t n, large = 0;
    uint64_t largest = 0;
    *out = (struct timeline_overview){0};
    const int rc = events_tracks(r, a, &tracks, &n, e);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (!timeline_shows(&ask, &tracks[i]))
            continue;
        ask.from.ns = MIN_OF(ask.from.ns, tracks[i].first.ns);
        ask.to.ns = MAX_OF(ask.to.ns, tracks[i].last.ns + 1);
        largest = MAX_OF(largest, tracks[i].events);
        large++;
    }
    if (rc || large == 0)
        return rc;
    ask.px = overview_px(large, largest);
    out->to = ask.to;
    return read_levels(r, &ask, a, out, e);
}

/* ---- the lanes of a timeline ---- */

const char *const timeline_kind_names[LANE_KINDS] = {
    [LANE_PHASES] = "phases",       [LANE_STEPS] = "steps", [LANE_EVENTS] = "events",
    [LANE_OPERATORS] = "operators", [LANE_GPU] = "gpu",
};

static void timeline_draw(struct drawing *d, int64_t start, int64_t dur_ns, const char *name,
                          enum event_category category, uint32_t merged)
{
    drawing_span(d, &(struct timeline_slice){.start = start,
                                             .dur_ns = dur_ns,
                                             .name = op_names_id(&d->names, name),
                                             .merged = merged,
                                             .category = category});
}

/* ---- lanes ---- */

static void draw_phases(struct drawing *d)
{
    const struct run_phases *p = d->ask->phases;
    if (!p || !p->has_steps)
        return;
    drawing_lane(d, &(struct timeline_lane){
                        .kind = LANE_PHASES, .rank = -1, .track = NO_TRACK, .title = "phases"});
    for (size_t i = 0; i < p->n; i++)
        timeline_draw(d, p->phases[i].start.ns, p->phases[i].end.ns - p->phases[i].start.ns,
                      phase_name(p->phases[i].kind), CAT_PHASE, 0);
    drawing_lane_end(d);
}

/* The first that ends after t; steps of a rank do not overlap. */
static size_t first_after(const struct rank_marks *r, int64_t t)
{
    return SEARCH_FIRST(i, 0, r->n, r->v[i].start + r->v[i].dur_ns <= t);
}

/* From step i on those that lie in one pixel and are of one mode: they will be drawn as one, so
 * they come as one. The name of a single step is its number, that of many at once their mode. */
static size_t draw_some_steps(struct drawing *d, const struct rank_marks *r, size_t i)
{
    const struct step_mark *m = &r->v[i];
    const char *mode = event_mode_names[m->mode];
    if (m->dur_ns >= d->pixel_ns) {
        timeline_draw(d, m->start, m->dur_ns,
                      arena_printf(d->arena, "%s %lld", mode, (long long)m->number), CAT_PHASE, 0);
        return i + 1;
    }
    const struct steps_sum s = steps_together(r, i, d->ask->to.ns, d->pixel_ns);
    timeline_draw(d, m->start, s.dur_ns, mode, CAT_PHASE, s.n > 1 ? (uint32_t)s.n : 0);
    return i + s.n;
}

static void draw_steps(struct drawing *d, const struct rank_marks *r)
{
    drawing_lane(d, &(struct timeline_lane){
                        .kind = LANE_STEPS,
                        .track = NO_TRACK,
                        .node = r->node,
                        .rank = r->rank,
                        .pid = r->pid,
                        .title = arena_printf(d->arena, "rank %lld steps", (long long)r->rank)});
    for (size_t i = first_after(r, d->ask->from.ns); i < r->n && r->v[i].start < d->ask->to.ns;)
        i = draw_some_steps(d, r, i);
    drawing_lane_end(d);
}

static enum timeline_kind timeline_kind_of(const struct run_track *t)
{
    if (t->track.kind == TRACK_DEVICE)
        return LANE_GPU;
    return t->detail ? LANE_OPERATORS : LANE_EVENTS;
}

static const char *timeline_who(const struct run_process *p, struct arena *a)
{
    if (p->worker >= 0)
        return arena_printf(a, "worker %lld", (long long)p->worker);
    return p->rank >= 0 ? arena_printf(a, "rank %lld", (long long)p->rank)
                        : arena_printf(a, "pid %u", p->pid);
}

static struct timeline_lane timeline_lane_of(const struct run_track *t, struct arena *a)
{
    const struct run_process *p = t->process;
    const char *thread = *t->track.name ? t->track.name : NULL;
    const char *what = thread ? thread : t->track.kind == TRACK_DEVICE ? "gpu" : "main";
    return (struct timeline_lane){.kind = timeline_kind_of(t),
                                  .track = t->index,
                                  .node = p->node,
                                  .rank = p->rank,
                                  .pid = p->pid,
                                  .thread = thread,
                                  .title = arena_printf(a, "%s %s", timeline_who(p, a), what)};
}

/* ---- without its events ---- */

/* From what begins at `from` on. */
static void draw_blocks(struct drawing *d, const struct track_block *v, size_t n, int64_t from)
{
    for (size_t i = 0; i < n; i++) {
        if (v[i].first.ns < from)
            continue;
        timeline_draw(d, v[i].first.ns, v[i].last.ns - v[i].first.ns,
                      arena_printf(d->arena, "%u events: zoom in", v[i].events), CAT_OTHER,
                      MAX_OF(v[i].events, 2u));
        d->out->cut = true;
    }
    drawing_lane_end(d);
}

static int draw_track(struct drawing *d, struct run *r, const struct run_track *t, struct err *e)
{
    struct track_block *v;
    size_t n;
    uint64_t events = 0;
    const int rc = track_blocks(r, t, d->ask->from, d->ask->to, d->arena, &v, &n, e);
    if (rc || n == 0)
        return rc;
    const struct timeline_lane lane = timeline_lane_of(t, d->arena);
    const struct overview_level *over = overview_for(d->ask->overview, t->index, d->pixel_ns);
    drawing_lane(d, &lane);
    for (size_t i = 0; i < n; i++)
        events += v[i].events;
    if (over && (events > d->budget || over->pixel_ns <= d->pixel_ns)) {
        overview_draw(d, over, t->index);
        draw_blocks(d, v, n, d->ask->overview->to.ns);
        return 0;
    }
    if (events > d->budget) {
        draw_blocks(d, v, n, INT64_MIN);
        return 0;
    }
    d->budget -= events;
    return timeline_draw_events(d, r, t, e);
}

/* ---- all of it ---- */

int timeline_read(struct run *r, const struct timeline_ask *ask, struct arena *a,
                  struct timeline *out, struct err *e)
{
    struct run_track *tracks;
    size_t n;
    int rc = 0;
    TRY(events_tracks(r, a, &tracks, &n, e));
    struct drawing *d = drawing_open(ask, a, out);
    draw_phases(d);
    for (size_t i = 0; i < ask->n_ranks; i++)
        if (timeline_wants(ask, ask->ranks[i].node, ask->ranks[i].rank))
            draw_steps(d, &ask->ranks[i]);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (timeline_shows(ask, &tracks[i]))
            rc = draw_track(d, r, &tracks[i], e);
    drawing_close(d);
    return rc;
}
