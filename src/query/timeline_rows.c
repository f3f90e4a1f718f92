/* SPDX-License-Identifier: Apache-2.0 */
/* timeline_rows.c - spans of a lane become slices in rows.
 *
 * Spans of a lane come in order of their begin. A stack of ends gives each its row. In a row a
 * narrow span waits for its neighbours: those that lie in the same pixel become one with it. While
 * there is room each name waits for itself, so that what alternates can be told apart however many
 * there are to a pixel. */
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "base/mem.h"
#include "query/timeline_internal.h"

enum {
    SLICES_EACH = 1024,
    NAMES_FACTOR = 4,      /* so many limits of slices are gathered before names are given up, */
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
static struct waiting *timeline_rows_place_for(struct drawing *d, const struct timeline_slice *s)
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

static bool joins(const struct drawing *d, const struct waiting *w, const struct timeline_slice *s)
{
    return w->n && s->dur_ns < d->pixel_ns && w->end - w->slice.start < d->pixel_ns &&
           s->start + s->dur_ns - w->slice.start < d->pixel_ns &&
           (!d->lane_by_name || w->slice.name == s->name);
}

static void timeline_rows_put_span(struct drawing *d, const struct timeline_slice *s)
{
    struct waiting *w = timeline_rows_place_for(d, s);
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
    for (size_t i = 0; i < LANE_ROWS_MOST; i++)
        for (size_t k = 0; k < NAMES_EACH; k++)
            put_waiting(d, &d->row[i][k]);
}

static int timeline_rows_by_start(const void *a, const void *b)
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
        qsort(t->slices + d->first, t->n_slices - d->first, sizeof *t->slices,
              timeline_rows_by_start);
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
        timeline_rows_put_span(d, &old[i]);
    }
    free(old);
}

/* The first row in which nothing runs any more, below all that still do. */
static uint32_t timeline_rows_row_for(struct drawing *d, int64_t start, int64_t end)
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
    timeline_rows_put_span(d, s);
}

void drawing_slice(struct drawing *d, struct timeline_slice *s)
{
    if (is_seen(d, s))
        draw_seen(d, s);
}

void drawing_span(struct drawing *d, struct timeline_slice *s)
{
    if (!is_seen(d, s))
        return;
    s->row = timeline_rows_row_for(d, s->start, s->start + s->dur_ns);
    draw_seen(d, s);
}

/* ---- lanes ---- */

void drawing_lane(struct drawing *d, const struct timeline_lane *lane)
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

void drawing_lane_end(struct drawing *d)
{
    put_all_waiting(d);
    sort_lane(d);
    op_names_turn(&d->names);
}

/* ---- all of it ---- */

struct drawing *drawing_open(const struct timeline_ask *ask, struct arena *a, struct timeline *out)
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
    struct timeline_slice *slices = arena_alloc_raw(d->arena, t->n_slices + 1, sizeof *slices);
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

void drawing_close(struct drawing *d)
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
