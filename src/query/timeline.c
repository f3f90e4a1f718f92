/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.c - see timeline.h.
 *
 * Spans of a lane come in order of their begin. A stack of ends gives each its row. In a row a
 * narrow span waits for its neighbours: those that lie in the same pixel become one with it. While
 * there is room each name waits for itself, so that what alternates can be told apart however many
 * there are to a pixel. */
#include "query/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "base/mem.h"
#include "query/eventsum.h"
#include "query/ops_names.h"

const char *const timeline_kind_names[LANE_KINDS] = {
    [LANE_PHASES] = "phases",       [LANE_STEPS] = "steps", [LANE_EVENTS] = "events",
    [LANE_OPERATORS] = "operators", [LANE_GPU] = "gpu",
};

enum {
    ROWS_MOST = 64,
    NAMES_EACH = 8, /* that wait in a row */
    SLICES_EACH = 1024,
    NAMES_FACTOR = 4, /* so many limits of slices are gathered before names are given up */
};

/* The span that a row shows next, and how many it stands for. */
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
    int64_t ends[ROWS_MOST];
    size_t open;
    struct waiting row[ROWS_MOST][NAMES_EACH];
    size_t first; /* slice */
    bool lane_by_name;
};

/* ---- slices ---- */

static void put_slice(struct drawing *d, const struct timeline_slice *s)
{
    struct timeline *t = d->out;
    if (!d->by_name && t->n_slices >= d->ask->limit) {
        t->cut = true;
        return;
    }
    if (t->n_slices == d->cap_slices) {
        d->cap_slices = d->cap_slices ? 2 * d->cap_slices : SLICES_EACH;
        t->slices = xrealloc(t->slices, d->cap_slices, sizeof *t->slices);
    }
    t->slices[t->n_slices++] = *s;
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

/* Where a span of this row and name waits: with its own kind, else where nobody does, else in the
 * place of the one that has waited longest. */
static struct waiting *place_for(struct drawing *d, const struct timeline_slice *s)
{
    struct waiting *v = d->row[s->row], *best = v;
    for (size_t i = 0; d->lane_by_name && i < NAMES_EACH; i++) {
        if (v[i].n && v[i].slice.name == s->name)
            return &v[i];
        if (best->n && (!v[i].n || v[i].slice.start < best->slice.start))
            best = &v[i];
    }
    return best;
}

static bool joins(const struct drawing *d, const struct waiting *w, const struct timeline_slice *s)
{
    return w->n && s->dur_ns < d->pixel_ns && w->end - w->slice.start < d->pixel_ns &&
           s->start + s->dur_ns - w->slice.start < d->pixel_ns &&
           (!d->lane_by_name || w->slice.name == s->name);
}

static void put_span(struct drawing *d, const struct timeline_slice *s)
{
    struct waiting *w = place_for(d, s);
    const int64_t end = s->start + s->dur_ns;
    if (!joins(d, w, s)) {
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
    for (size_t i = 0; i < ROWS_MOST; i++)
        for (size_t k = 0; k < NAMES_EACH; k++)
            put_waiting(d, &d->row[i][k]);
}

static int by_start(const void *a, const void *b)
{
    const struct timeline_slice *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Slices come out when they have waited long enough, not in order. */
static void sort_lane(struct drawing *d)
{
    struct timeline *t = d->out;
    if (t->n_slices > d->first)
        qsort(t->slices + d->first, t->n_slices - d->first, sizeof *t->slices, by_start);
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
        put_span(d, &old[i]);
    }
    free(old);
}

/* The first row in which nothing runs any more, below all that still do. */
static uint32_t row_for(struct drawing *d, int64_t start, int64_t end)
{
    while (d->open && d->ends[d->open - 1] <= start)
        d->open--;
    const size_t row = MIN_OF(d->open, (size_t)ROWS_MOST - 1);
    d->ends[row] = end;
    d->open = row + 1;
    return (uint32_t)row;
}

static void draw(struct drawing *d, int64_t start, int64_t dur_ns, const char *name,
                 enum event_category category, uint32_t merged)
{
    struct timeline_lane *lane = &d->out->lanes[d->out->n_lanes - 1];
    struct timeline_slice s = {.lane = (uint32_t)(d->out->n_lanes - 1),
                               .start = start,
                               .dur_ns = dur_ns,
                               .merged = merged,
                               .category = category};
    if (start >= d->ask->to.ns || start + dur_ns < d->ask->from.ns)
        return;
    s.row = row_for(d, start, start + dur_ns);
    s.name = op_names_id(&d->names, name);
    lane->depth = MAX_OF(lane->depth, (size_t)s.row + 1);
    if (d->by_name && d->out->n_slices >= NAMES_FACTOR * d->ask->limit)
        give_up_names(d);
    put_span(d, &s);
}

/* ---- lanes ---- */

static void lane_begin(struct drawing *d, const struct timeline_lane *lane)
{
    struct timeline *t = d->out;
    if (t->n_lanes == d->cap_lanes) {
        d->cap_lanes = d->cap_lanes ? 2 * d->cap_lanes : 32;
        t->lanes = xrealloc(t->lanes, d->cap_lanes, sizeof *t->lanes);
    }
    t->lanes[t->n_lanes++] = *lane;
    d->open = 0;
    d->lane_by_name = d->by_name;
}

static void lane_end(struct drawing *d)
{
    put_all_waiting(d);
    sort_lane(d);
    op_names_turn(&d->names);
}

static bool wants(const struct timeline_ask *ask, const char *node, int64_t rank)
{
    return (!ask->node || strcmp(ask->node, node) == 0) && (ask->rank < 0 || ask->rank == rank);
}

static void draw_phases(struct drawing *d)
{
    const struct run_phases *p = d->ask->phases;
    if (!p || !p->has_steps)
        return;
    lane_begin(d, &(struct timeline_lane){.kind = LANE_PHASES, .rank = -1, .title = "phases"});
    for (size_t i = 0; i < p->n; i++)
        draw(d, p->phases[i].start.ns, p->phases[i].end.ns - p->phases[i].start.ns,
             phase_name(p->phases[i].kind), CAT_PHASE, 0);
    lane_end(d);
}

/* The first that ends after t; steps of a rank do not overlap. */
static size_t first_after(const struct rank_marks *r, int64_t t)
{
    size_t lo = 0, hi = r->n;
    while (lo < hi) {
        const size_t mid = (lo + hi) / 2;
        if (r->v[mid].start + r->v[mid].dur_ns <= t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Single steps are called by their number, many at once by their mode. */
static void draw_steps(struct drawing *d, const struct rank_marks *r)
{
    lane_begin(d, &(struct timeline_lane){
                      .kind = LANE_STEPS,
                      .node = r->node,
                      .rank = r->rank,
                      .pid = r->pid,
                      .title = arena_printf(d->arena, "rank %lld steps", (long long)r->rank)});
    for (size_t i = first_after(r, d->ask->from.ns); i < r->n && r->v[i].start < d->ask->to.ns;
         i++) {
        const struct step_mark *m = &r->v[i];
        const char *mode = event_mode_names[m->mode];
        draw(d, m->start, m->dur_ns,
             m->dur_ns < d->pixel_ns
                 ? mode
                 : arena_printf(d->arena, "%s %lld", mode, (long long)m->number),
             CAT_PHASE, 0);
    }
    lane_end(d);
}

static enum timeline_kind kind_of(const struct run_track *t)
{
    if (t->track.kind == TRACK_DEVICE)
        return LANE_GPU;
    return t->detail ? LANE_OPERATORS : LANE_EVENTS;
}

static const char *who(const struct run_process *p, struct arena *a)
{
    if (p->worker >= 0)
        return arena_printf(a, "worker %lld", (long long)p->worker);
    return p->rank >= 0 ? arena_printf(a, "rank %lld", (long long)p->rank)
                        : arena_printf(a, "pid %u", p->pid);
}

static struct timeline_lane lane_of(const struct run_track *t, struct arena *a)
{
    const struct run_process *p = t->process;
    const char *thread = *t->track.name ? t->track.name : NULL;
    const char *what = thread ? thread : t->track.kind == TRACK_DEVICE ? "gpu" : "main";
    return (struct timeline_lane){.kind = kind_of(t),
                                  .node = p->node,
                                  .rank = p->rank,
                                  .pid = p->pid,
                                  .thread = thread,
                                  .title = arena_printf(a, "%s %s", who(p, a), what)};
}

static bool is_span(const struct event *e)
{
    return e->kind == EVENT_SPAN;
}

static int draw_events(struct drawing *d, struct run *r, const struct run_track *t, struct err *e)
{
    struct arena scratch = {0};
    struct run_event *v;
    size_t n, operators = 0;
    const int rc = events_read(r, t, d->ask->from, d->ask->to, &scratch, &v, &n, e);
    for (size_t i = 0; rc == 0 && i < n; i++)
        operators += is_span(&v[i].event) && event_is_operator(&v[i].event);
    /* A trace that was imported has its operators among the other events. */
    struct timeline_lane *lane = &d->out->lanes[d->out->n_lanes - 1];
    if (lane->kind == LANE_EVENTS && rc == 0 && 2 * operators > n)
        lane->kind = LANE_OPERATORS;
    /* Operators have too many names for each to wait for its own. */
    d->lane_by_name = d->by_name && lane->kind == LANE_EVENTS;
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (is_span(&v[i].event))
            draw(d, v[i].at.ns, MAX_OF(v[i].event.dur_ns, 0), v[i].event.name, v[i].event.category,
                 0);
    lane_end(d);
    arena_free(&scratch);
    return rc;
}

static void draw_stretches(struct drawing *d, const struct run_stretch *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        draw(d, v[i].first.ns, v[i].last.ns - v[i].first.ns,
             arena_printf(d->arena, "%u events: zoom in", v[i].events), CAT_OTHER,
             MAX_OF(v[i].events, 2u));
    d->out->cut = true;
    lane_end(d);
}

static int draw_track(struct drawing *d, struct run *r, const struct run_track *t, struct err *e)
{
    struct run_stretch *v;
    size_t n;
    uint64_t events = 0;
    const int rc = events_stretches(r, t, d->ask->from, d->ask->to, d->arena, &v, &n, e);
    if (rc || n == 0)
        return rc;
    const struct timeline_lane lane = lane_of(t, d->arena);
    lane_begin(d, &lane);
    for (size_t i = 0; i < n; i++)
        events += v[i].events;
    if (events > d->budget) {
        draw_stretches(d, v, n);
        return 0;
    }
    d->budget -= events;
    return draw_events(d, r, t, e);
}

/* ---- all of it ---- */

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
    struct timeline_slice *slices = arena_array(d->arena, struct timeline_slice, t->n_slices + 1);
    struct timeline_lane *lanes = arena_array(d->arena, struct timeline_lane, t->n_lanes + 1);
    if (t->n_slices)
        memcpy(slices, t->slices, t->n_slices * sizeof *slices);
    if (t->n_lanes)
        memcpy(lanes, t->lanes, t->n_lanes * sizeof *lanes);
    free(t->slices);
    free(t->lanes);
    t->slices = slices;
    t->lanes = lanes;
}

int timeline_read(struct run *r, const struct timeline_ask *ask, struct arena *a,
                  struct timeline *out, struct err *e)
{
    struct run_track *tracks;
    size_t n;
    int rc = events_tracks(r, a, &tracks, &n, e);
    if (rc)
        return rc;
    struct drawing *d = xcalloc(1, sizeof *d);
    *out = (struct timeline){0};
    *d = (struct drawing){
        .ask = ask, .arena = a, .out = out, .budget = ask->budget, .by_name = true};
    d->pixel_ns =
        MAX_OF((ask->to.ns - ask->from.ns) / (int64_t)MAX_OF(ask->px, (size_t)1), (int64_t)1);
    op_names_open(&d->names);
    draw_phases(d);
    for (size_t i = 0; i < ask->n_ranks; i++)
        if (wants(ask, ask->ranks[i].node, ask->ranks[i].rank))
            draw_steps(d, &ask->ranks[i]);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (wants(ask, tracks[i].process->node, tracks[i].process->rank) &&
            (ask->detail || !tracks[i].detail))
            rc = draw_track(d, r, &tracks[i], e);
    if (d->by_name && out->n_slices > ask->limit)
        give_up_names(d);
    put_all_waiting(d);
    sort_lane(d);
    take_names(d);
    take_arrays(d);
    op_names_close(&d->names);
    free(d);
    return rc;
}
