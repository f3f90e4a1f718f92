/* SPDX-License-Identifier: Apache-2.0 */
/* health.c - see health.h.
 *
 * One cursor (health_read_rows) walks the tracks through event_flow and numbers the names; index,
 * curves and heat maps are made of its rows as they come. The number of values of a curve, or of
 * samples of a heat map, is not known in advance. Both begin with one value per point and one
 * sample per column; when there are twice as many as wanted, neighbors are merged, and points and
 * columns are twice as wide from then on. So memory does not grow with the length of the run. */
#include "query/health.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "query/event_flow.h"
#include "query/run_internal.h"
#include "record/event.h"
#include "store/format.h"

/* ---- names ---- */

struct health_names {
    struct arena *arena;
    const char **v;
    uint32_t n, cap;
    struct hash_index index;
    /* Of the block that is being read: its texts, which have separate addresses. */
    struct {
        const char *text;
        uint32_t name;
    } * of_text;
    size_t n_of;
};

/* Its number, made when it is new. */
static uint32_t health_names_add(struct health_names *n, const char *text)
{
    const uint32_t hash = format_sum32(text, strlen(text), 0);
    const uint32_t known = HASH_FIND(&n->index, hash, i, strcmp(n->v[i], text) == 0);
    if (known)
        return known - 1;
    *VEC_ADD(n->v, n->n, n->cap) = arena_strdup(n->arena, text);
    hash_add(&n->index, hash, n->n);
    return n->n - 1;
}

/* The same of text `k` of a block. */
static inline uint32_t health_names_of(struct health_names *n, const struct event_columns *c,
                                       size_t k)
{
    const char *text = c->texts[k];
    VEC_ZEROED(n->of_text, n->n_of, k + 1);
    if (n->of_text[k].text != text) {
        n->of_text[k].name = health_names_add(n, text);
        n->of_text[k].text = text;
    }
    return n->of_text[k].name;
}

static void health_names_free(struct health_names *n)
{
    free(n->v);
    free(n->of_text);
    hash_free(&n->index);
}

/* ---- ranks ---- */

static bool health_rank_taken(const struct health_rank *v, size_t n, int64_t rank)
{
    return FIND_ANY(i, n, v[i].rank == rank);
}

/* The processes of the tracks, in their order. */
static struct health_rank *health_list_ranks(const struct run_track *t, size_t n, struct arena *a,
                                             size_t *n_out)
{
    struct health_rank *v = arena_array(a, struct health_rank, n + 1);
    size_t ranks = 0;
    for (size_t i = 0; i < n; i++)
        if (ranks == 0 || v[ranks - 1].process != t[i].process)
            v[ranks++] = (struct health_rank){t[i].process, t[i].process->rank};
    for (size_t i = 0; i < ranks; i++)
        for (int64_t free = 0; v[i].rank < 0; free++)
            if (!health_rank_taken(v, ranks, free))
                v[i].rank = free;
    *n_out = ranks;
    return v;
}

struct health_tracks {
    struct run_track *v;
    size_t n;
    struct health_rank *ranks;
    size_t n_ranks;
};

static int health_find_tracks(struct run *r, struct arena *a, struct health_tracks *out,
                              struct err *e)
{
    TRY(events_health_tracks(r, a, &out->v, &out->n, e));
    out->ranks = health_list_ranks(out->v, out->n, a, &out->n_ranks);
    return 0;
}

static int64_t health_rank_of(const struct health_tracks *t, const struct run_process *p)
{
    const size_t i = FIND_FIRST(k, t->n_ranks, t->ranks[k].process == p);
    assert(i < t->n_ranks);
    return t->ranks[i].rank;
}

/* Statistics of a later version have numbers that this one does not know. */
static bool health_track_known(const struct run_track *t)
{
    return t->track.id < HEALTH_N;
}

/* ---- the cursor ---- */

static void health_read_rows(const struct flow_rows *rows, struct health_names *names,
                             struct health_value *v, health_fn *fn, void *ctx)
{
    const struct event_columns *c = rows->columns;
    for (uint32_t i = rows->from; i < rows->to; i++) {
        event_set_what(&v->event, event_columns_what(c, i));
        if (v->event.kind != EVENT_REAL && v->event.kind != EVENT_COUNT)
            continue;
        v->at.ns = flow_row_wall(rows, i);
        v->event.value = event_cell(c, COLUMN_VALUE, i);
        v->event.link = (uint64_t)event_cell(c, COLUMN_LINK, i);
        v->step = (int64_t)(v->event.link - 1);
        v->step = v->step < 0 ? HEALTH_NO_STEP : v->step;
        v->mode = v->event.mode;
        v->name_index = health_names_of(names, c, (size_t)event_cell(c, COLUMN_NAME, i));
        v->name = names->v[v->name_index];
        fn(ctx, v);
    }
}

static int health_read_track(struct run *r, const struct run_track *t, struct event_flow *flow,
                             const struct health_ask *ask, struct health_names *names,
                             struct health_value *v, health_fn *fn, void *ctx, struct err *e)
{
    const struct flow_window window = {ask->from, ask->to};
    struct arena texts = {0};
    struct flow_rows rows;
    const int rc = event_flow_track(flow, r, t, &window, &texts, e);
    while (rc == 0 && event_flow_rows(flow, &rows))
        health_read_rows(&rows, names, v, fn, ctx);
    if (names->n_of) /* their addresses may be used again */
        memset(names->of_text, 0, names->n_of * sizeof *names->of_text);
    arena_free(&texts);
    return rc;
}

static int health_read_tracks(struct run *r, const struct health_tracks *t,
                              const struct health_ask *ask, struct arena *a, health_fn *fn,
                              void *ctx, struct err *e)
{
    struct event_flow *flow = event_flow_open(&(struct event_want){.value = true, .link = true});
    struct health_names names = {.arena = a};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < t->n; i++) {
        struct health_value v = {.process = t->v[i].process,
                                 .rank = health_rank_of(t, t->v[i].process),
                                 .stat = (enum health_id)t->v[i].track.id};
        if (health_track_known(&t->v[i]) && (ask->rank < 0 || ask->rank == v.rank) &&
            (ask->stats >> v.stat & 1))
            rc = health_read_track(r, &t->v[i], flow, ask, &names, &v, fn, ctx, e);
    }
    health_names_free(&names);
    event_flow_close(flow);
    return rc;
}

int health_read(struct run *r, const struct health_ask *ask, struct arena *a, health_fn *fn,
                void *ctx, struct err *e)
{
    struct health_tracks t;
    TRY(health_find_tracks(r, a, &t, e));
    return health_read_tracks(r, &t, ask, a, fn, ctx, e);
}

/* ---- the index ---- */

enum { SCALARS_MOST = 10000 };

struct health_listing {
    struct arena *arena;
    struct health_index *out;
    size_t cap;
    uint32_t *of; /* by name and mode: 1 + the scalar of the rank; 0: none yet */
    size_t n_of;
    int64_t rank;
};

static uint32_t *health_listing_place(struct health_listing *l, const struct health_value *v)
{
    const size_t at = (size_t)v->name_index * MODE_N + v->mode;
    if (l->rank != v->rank && l->n_of)
        memset(l->of, 0, l->n_of * sizeof *l->of);
    l->rank = v->rank;
    VEC_ZEROED(l->of, l->n_of, at + 1);
    return &l->of[at];
}

/* NULL: there are too many. */
static struct health_scalar *health_listing_of(struct health_listing *l,
                                               const struct health_value *v)
{
    uint32_t *place = health_listing_place(l, v);
    struct health_index *x = l->out;
    if (*place)
        return &x->scalars[*place - 1];
    if (x->n_scalars == SCALARS_MOST)
        return NULL;
    struct health_scalar *s = ARENA_ADD(l->arena, x->scalars, x->n_scalars, l->cap);
    *place = (uint32_t)x->n_scalars;
    *s = (struct health_scalar){
        .name = v->name,
        .rank = v->rank,
        .mode = v->mode,
        .first_step = v->step,
        .first_at = v->at,
        .first = health_number(&v->event),
        .min = NAN,
        .max = NAN,
        .min_step = HEALTH_NO_STEP,
        .max_step = HEALTH_NO_STEP,
        .nonfinite_step = HEALTH_NO_STEP,
    };
    return s;
}

static void health_listing_take(void *ctx, const struct health_value *v)
{
    struct health_scalar *s = health_listing_of(ctx, v);
    const double x = health_number(&v->event);
    if (!s)
        return;
    s->count++;
    s->last = x;
    s->last_step = v->step;
    s->last_at = v->at;
    if (!isfinite(x)) {
        if (s->nonfinite++ == 0)
            s->nonfinite_step = v->step;
        return;
    }
    if (!(x >= s->min)) {
        s->min = x;
        s->min_step = v->step;
    }
    if (!(x <= s->max)) {
        s->max = x;
        s->max_step = v->step;
    }
}

/* Names of a track by the texts of its blocks: nothing is decoded. */
static int health_track_names(struct run *r, const struct run_track *t, struct health_names *names,
                              struct codec *codec, struct err *e)
{
    const struct event_track *track = run_event_track(r, t, e);
    if (!track)
        return e->code;
    for (uint32_t i = 0; i < track->n_blocks; i++) {
        const struct events_block *b = &track->store->events[track->blocks[i]];
        struct arena texts = {0};
        const char **v;
        if (store_event_names(codec, b, &texts, &v))
            for (size_t k = 0; k < b->n_names; k++)
                health_names_add(names, v[k]);
        arena_free(&texts);
    }
    return 0;
}

static int health_list_stats(struct run *r, const struct health_tracks *t, struct arena *a,
                             struct health_index *out, struct err *e)
{
    struct health_names all = {.arena = a};
    struct codec *codec = codec_open();
    int rc = 0;
    out->stats = arena_array(a, struct health_statistic, t->n + 1);
    for (size_t i = 0; rc == 0 && i < t->n; i++) {
        struct arena texts = {0};
        struct health_names own = {.arena = &texts};
        out->values += t->v[i].events;
        if (!health_track_known(&t->v[i]) || t->v[i].track.id == HEALTH_SCALAR ||
            t->v[i].track.id == HEALTH_SAVED_BYTES)
            continue;
        rc = health_track_names(r, &t->v[i], &own, codec, e);
        for (uint32_t k = 0; k < own.n; k++)
            health_names_add(&all, own.v[k]);
        out->stats[out->n_stats++] = (struct health_statistic){
            .stat = (enum health_id)t->v[i].track.id,
            .rank = health_rank_of(t, t->v[i].process),
            .values = t->v[i].events,
            .tensors = own.n,
            .first_at = t->v[i].first,
            .last_at = t->v[i].last,
        };
        health_names_free(&own);
        arena_free(&texts);
    }
    codec_close(codec);
    out->tensors = ARENA_COPY(a, all.v, all.n);
    out->n_tensors = all.n;
    health_names_free(&all);
    return rc;
}

bool health_is_internal(const struct health_scalar *s)
{
    return text_starts(s->name, "nonfinite.") || text_starts(s->name, "health.") ||
           strcmp(s->name, "batch.hash") == 0;
}

struct health_saved_list {
    struct arena *arena;
    struct health_saved *v;
    size_t n, cap;
};

static void health_saved_take(void *ctx, const struct health_value *v)
{
    struct health_saved_list *l = ctx;
    const double bytes = health_number(&v->event);
    *ARENA_ADD(l->arena, l->v, l->n, l->cap) =
        (struct health_saved){v->name, v->rank, v->step, bytes > 0 ? (uint64_t)bytes : 0};
}

static int health_list_saved(struct run *r, const struct health_tracks *t, struct arena *a,
                             struct health_index *out, struct err *e)
{
    const struct health_ask ask = {.rank = -1, .stats = HEALTH_STAT(HEALTH_SAVED_BYTES)};
    struct health_saved_list l = {.arena = a};
    TRY(health_read_tracks(r, t, &ask, a, health_saved_take, &l, e));
    out->saved = l.v;
    out->n_saved = l.n;
    return 0;
}

int health_index(struct run *r, struct arena *a, struct health_index *out, struct err *e)
{
    const struct health_ask scalars = {.rank = -1, .stats = HEALTH_STAT(HEALTH_SCALAR)};
    struct health_listing l = {.arena = a, .out = out, .rank = -1};
    struct health_tracks t;
    *out = (struct health_index){0};
    TRY(health_find_tracks(r, a, &t, e));
    out->ranks = t.ranks;
    out->n_ranks = t.n_ranks;
    int rc = health_list_stats(r, &t, a, out, e);
    if (rc == 0)
        rc = health_read_tracks(r, &t, &scalars, a, health_listing_take, &l, e);
    free(l.of);
    return rc ? rc : health_list_saved(r, &t, a, out, e);
}

/* ---- steps of a request ---- */

static bool health_in_steps(int64_t step, int64_t from, int64_t to)
{
    return (from <= 0 || step >= from) && (to <= 0 || (step >= 0 && step < to));
}

/* ---- curves ---- */

struct health_drawing {
    const struct health_curve_ask *ask;
    struct health_curve *out;
    struct health_point *v; /* mean is the sum until the end */
    size_t n, cap;
    uint32_t width; /* values a point */
    uint32_t name;  /* the number of the name that is drawn */
    bool known;
};

static void health_point_merge(struct health_point *to, const struct health_point *from)
{
    to->last_step = from->last_step;
    to->last = from->last;
    to->mean += from->mean;
    to->min = fmin(to->min, from->min);
    to->max = fmax(to->max, from->max);
    to->count += from->count;
    to->nonfinite += from->nonfinite;
}

/* Two neighbours become one. */
static void health_drawing_halve(struct health_drawing *d)
{
    size_t n = 0;
    for (size_t i = 0; i < d->n; i += 2, n++) {
        d->v[n] = d->v[i];
        if (i + 1 < d->n)
            health_point_merge(&d->v[n], &d->v[i + 1]);
    }
    d->n = n;
    d->width *= 2;
}

static void health_drawing_add(struct health_drawing *d, const struct health_value *v, double x)
{
    const bool finite = isfinite(x);
    const struct health_point p = {
        .step = v->step,
        .last_step = v->step,
        .at = v->at,
        .mean = finite ? x : 0,
        .min = finite ? x : NAN,
        .max = finite ? x : NAN,
        .last = x,
        .count = 1,
        .nonfinite = !finite,
    };
    if (d->n && d->v[d->n - 1].count < d->width) {
        health_point_merge(&d->v[d->n - 1], &p);
        return;
    }
    if (d->ask->points && d->n == 2 * d->ask->points) {
        health_drawing_halve(d);
        health_drawing_add(d, v, x);
        return;
    }
    *VEC_ADD(d->v, d->n, d->cap) = p;
}

static void health_drawing_take(void *ctx, const struct health_value *v)
{
    struct health_drawing *d = ctx;
    const struct health_curve_ask *ask = d->ask;
    if (!d->known && strcmp(v->name, ask->name) == 0) {
        d->name = v->name_index;
        d->known = true;
    }
    if (!d->known || v->name_index != d->name || (ask->mode >= 0 && (int)v->mode != ask->mode) ||
        !health_in_steps(v->step, ask->from_step, ask->to_step))
        return;
    if (d->out->rank < 0)
        d->out->rank = v->rank;
    if (d->out->rank != v->rank)
        return;
    const double x = health_number(&v->event);
    d->out->values++;
    d->out->nonfinite += isfinite(x) ? 0 : 1;
    health_drawing_add(d, v, x);
}

static void health_drawing_end(struct health_drawing *d, struct arena *a)
{
    while (d->ask->points && d->n > d->ask->points)
        health_drawing_halve(d);
    for (size_t i = 0; i < d->n; i++) {
        struct health_point *p = &d->v[i];
        const uint32_t finite = p->count - p->nonfinite;
        /* Not out of their range by rounding: equal values must make a flat curve. */
        p->mean = finite ? fmin(fmax(p->mean / finite, p->min), p->max) : NAN;
    }
    d->out->v = ARENA_COPY(a, d->v, d->n);
    d->out->n = d->n;
    free(d->v);
}

int health_curve(struct run *r, const struct health_curve_ask *ask, struct arena *a,
                 struct health_curve *out, struct err *e)
{
    const struct health_ask what = {
        .rank = ask->rank, .stats = HEALTH_STAT(HEALTH_SCALAR), .from = ask->from, .to = ask->to};
    struct health_drawing d = {.ask = ask, .out = out, .width = 1};
    *out = (struct health_curve){.rank = -1};
    const int rc = health_read(r, &what, a, health_drawing_take, &d, e);
    health_drawing_end(&d, a);
    return rc;
}

/* Which scalar a value belongs to is found as health_index does it, so numbers are the same. */
struct health_curves_reading {
    struct health_listing listing;
    struct health_drawing *v;
    size_t n;
};

static void health_curves_take(void *ctx, const struct health_value *v)
{
    struct health_curves_reading *c = ctx;
    const struct health_scalar *s = health_listing_of(&c->listing, v);
    const size_t i = s ? (size_t)(s - c->listing.out->scalars) : SIZE_MAX;
    if (i >= c->n)
        return;
    struct health_drawing *d = &c->v[i];
    const double x = health_number(&v->event);
    d->out->rank = v->rank;
    d->out->values++;
    d->out->nonfinite += isfinite(x) ? 0 : 1;
    health_drawing_add(d, v, x);
}

int health_curves(struct run *r, const struct health_index *index, size_t points, struct arena *a,
                  struct health_curve **out, struct err *e)
{
    const struct health_ask what = {.rank = -1, .stats = HEALTH_STAT(HEALTH_SCALAR)};
    const struct health_curve_ask ask = {.points = points};
    const size_t n = index->n_scalars;
    struct health_index seen = {0};
    struct health_curve *curves = arena_array(a, struct health_curve, n + 1);
    struct health_curves_reading c = {
        .listing = {.arena = a, .out = &seen, .rank = -1},
        .v = arena_array(a, struct health_drawing, n + 1),
        .n = n,
    };
    for (size_t i = 0; i < n; i++) {
        curves[i] = (struct health_curve){.rank = -1};
        c.v[i] = (struct health_drawing){.ask = &ask, .out = &curves[i], .width = 1};
    }
    const int rc = health_read(r, &what, a, health_curves_take, &c, e);
    free(c.listing.of);
    for (size_t i = 0; i < n; i++)
        health_drawing_end(&c.v[i], a);
    *out = curves;
    return rc;
}

/* ---- heat maps ---- */

struct health_cell {
    float v;
    uint32_t n; /* values in it; 0: not measured */
};

struct health_painting {
    const struct health_matrix_ask *ask;
    struct health_matrix *out;
    enum health_merge merge;
    regex_t pattern;
    size_t most;               /* columns, twice of what is wanted; 0: any number */
    struct health_cell *cells; /* [row * cap_columns + column] */
    size_t cap_rows, cap_columns;
    struct health_column *columns;
    size_t n_columns, cap_list;
    uint32_t width;   /* samples a column */
    uint32_t *row_of; /* by number of a name: 1 + its row; ROW_NOT_WANTED; 0: new */
    size_t n_row_of;
    const char **names;
    size_t n_rows, cap_names;
    int64_t sample_step, sample_at; /* of the newest sample */
    bool any;
    bool bins; /* rows are those of a histogram, of one tensor: row_of is by exponent */
    bool bin_known;
    uint32_t bin_name; /* the number of the tensor's name */
    struct arena *arena;
};

#define ROW_NOT_WANTED UINT32_MAX

static void health_cell_merge(struct health_cell *to, const struct health_cell *from,
                              enum health_merge how)
{
    if (from->n == 0)
        return;
    const float n = (float)to->n, m = (float)from->n;
    if (to->n == 0 || how == HEALTH_MERGE_LAST)
        to->v = isinf(to->v) && to->n ? to->v : from->v;
    else if (isinf(to->v) || isinf(from->v)) /* how values that are not finite are stored here */
        to->v = INFINITY;
    else if (how == HEALTH_MERGE_MEAN)
        to->v = (to->v * n + from->v * m) / (n + m);
    else
        to->v = how == HEALTH_MERGE_MIN ? fminf(to->v, from->v) : fmaxf(to->v, from->v);
    to->n += from->n;
}

static struct health_cell *health_painting_cell(const struct health_painting *p, size_t row,
                                                size_t column)
{
    assert(row < p->cap_rows && column < p->cap_columns);
    return &p->cells[row * p->cap_columns + column];
}

static void health_painting_halve(struct health_painting *p)
{
    const size_t n = (p->n_columns + 1) / 2;
    for (size_t row = 0; row < p->n_rows; row++) {
        struct health_cell *c = health_painting_cell(p, row, 0);
        for (size_t i = 0; i < n; i++) {
            const struct health_cell two =
                2 * i + 1 < p->n_columns ? c[2 * i + 1] : (struct health_cell){0};
            c[i] = c[2 * i];
            health_cell_merge(&c[i], &two, p->merge);
        }
        memset(c + n, 0, (p->cap_columns - n) * sizeof *c);
    }
    for (size_t i = 0; i < n; i++) {
        const struct health_column *two = 2 * i + 1 < p->n_columns ? &p->columns[2 * i + 1] : NULL;
        struct health_column one = p->columns[2 * i];
        one.last_step = two ? two->last_step : one.last_step;
        one.samples += two ? two->samples : 0;
        p->columns[i] = one;
    }
    p->n_columns = n;
    p->width *= 2;
}

/* Room for one more row and one more column. */
static void health_painting_room(struct health_painting *p)
{
    if (p->n_rows < p->cap_rows && p->n_columns < p->cap_columns)
        return;
    const size_t rows = p->n_rows < p->cap_rows ? p->cap_rows : MAX_OF(2 * p->cap_rows, 64);
    const size_t columns =
        p->n_columns < p->cap_columns ? p->cap_columns : MAX_OF(2 * p->cap_columns, 64);
    struct health_cell *cells = xcalloc(rows * columns, sizeof *cells);
    for (size_t i = 0; p->cells && i < p->n_rows; i++)
        memcpy(cells + i * columns, p->cells + i * p->cap_columns, p->n_columns * sizeof *cells);
    free(p->cells);
    p->cells = cells;
    p->cap_rows = rows;
    p->cap_columns = columns;
}

/* The row of a name; SIZE_MAX: it is not wanted, or there are too many. */
static size_t health_painting_row(struct health_painting *p, const struct health_value *v)
{
    VEC_ZEROED(p->row_of, p->n_row_of, (size_t)v->name_index + 1);
    uint32_t *row = &p->row_of[v->name_index];
    if (*row == 0) {
        const size_t most = p->ask->rows ? p->ask->rows : HEALTH_ROWS_MOST;
        const bool wanted = !p->ask->pattern || regexec(&p->pattern, v->name, 0, NULL, 0) == 0;
        p->out->more_rows += wanted && p->n_rows == most;
        *row = ROW_NOT_WANTED;
        if (wanted && p->n_rows < most) {
            health_painting_room(p);
            *VEC_ADD(p->names, p->n_rows, p->cap_names) = v->name;
            *row = (uint32_t)p->n_rows;
        }
    }
    return *row == ROW_NOT_WANTED ? SIZE_MAX : *row - 1;
}

/* The row of an exponent, of the first tensor that is wanted; SIZE_MAX: it is of another. */
static size_t health_painting_bin(struct health_painting *p, const struct health_value *v)
{
    const unsigned exponent = health_bin_exponent(v->event.value);
    if (!p->bin_known && p->ask->pattern && regexec(&p->pattern, v->name, 0, NULL, 0) != 0)
        return SIZE_MAX;
    if (!p->bin_known) {
        p->bin_name = v->name_index;
        p->bin_known = true;
    }
    if (p->bin_name != v->name_index)
        return SIZE_MAX;
    uint32_t *row = &p->row_of[exponent];
    if (*row == 0) {
        health_painting_room(p);
        *VEC_ADD(p->names, p->n_rows, p->cap_names) =
            exponent == 0                    ? "0"
            : exponent == HEALTH_BIN_SPECIAL ? "not finite"
                                             : arena_printf(p->arena, "2^%d", (int)exponent - 127);
        *row = (uint32_t)p->n_rows;
    }
    return *row - 1;
}

/* The number of columns whose cells fit, whatever the request wants. */
static size_t health_painting_limit(const struct health_painting *p)
{
    const size_t fits = HEALTH_CELLS_MOST / MAX_OF(p->n_rows, 1);
    return MAX_OF(p->most ? MIN_OF(p->most, fits) : fits, 2);
}

/* The column of a sample: the last one while it has room, else a new one. Values come in order of
 * time, and all of a sample have the same time. */
static size_t health_painting_column(struct health_painting *p, const struct health_value *v)
{
    if (p->any && p->sample_step == v->step && p->sample_at == v->at.ns)
        return p->n_columns - 1;
    p->any = true;
    p->sample_step = v->step;
    p->sample_at = v->at.ns;
    p->out->samples++;
    while (p->n_columns >= health_painting_limit(p))
        health_painting_halve(p);
    struct health_column *last = p->n_columns ? &p->columns[p->n_columns - 1] : NULL;
    if (last && last->samples < p->width) {
        last->samples++;
        last->last_step = v->step;
        return p->n_columns - 1;
    }
    health_painting_room(p);
    *VEC_ADD(p->columns, p->n_columns, p->cap_list) =
        (struct health_column){.step = v->step, .last_step = v->step, .at = v->at, .samples = 1};
    return p->n_columns - 1;
}

static void health_painting_take(void *ctx, const struct health_value *v)
{
    struct health_painting *p = ctx;
    if (!health_in_steps(v->step, p->ask->from_step, p->ask->to_step) ||
        (p->out->rank >= 0 && p->out->rank != v->rank))
        return;
    const size_t row = p->bins ? health_painting_bin(p, v) : health_painting_row(p, v);
    if (row == SIZE_MAX)
        return;
    p->out->rank = v->rank;
    const double x = p->bins ? (double)health_bin_count(v->event.value) : health_number(&v->event);
    const bool finite = isfinite(x);
    const struct health_cell one = {finite ? (float)x : INFINITY, 1};
    p->out->values++;
    p->out->nonfinite += !finite;
    health_cell_merge(health_painting_cell(p, row, health_painting_column(p, v)), &one, p->merge);
}

static void health_painting_end(struct health_painting *p, struct arena *a)
{
    struct health_matrix *m = p->out;
    while (p->most && p->n_columns > p->most / 2)
        health_painting_halve(p);
    m->n_rows = p->n_rows;
    m->n_columns = p->n_columns;
    m->names = ARENA_COPY(a, p->names, p->n_rows);
    m->columns = ARENA_COPY(a, p->columns, p->n_columns);
    m->cells = arena_alloc_raw(a, p->n_rows * p->n_columns + 1, sizeof *m->cells);
    for (size_t i = 0; i < p->n_rows; i++)
        for (size_t k = 0; k < p->n_columns; k++) {
            const struct health_cell *c = health_painting_cell(p, i, k);
            m->cells[i * m->n_columns + k] = c->n ? c->v : NAN;
        }
    free(p->cells);
    free(p->columns);
    free(p->row_of);
    free(p->names);
}

/* Counts in braces and back-references can take forever, and no name needs them. */
static int health_compile(regex_t *out, const char *pattern, struct err *e)
{
    char why[128];
    const size_t len = strlen(pattern);
    if (len > HEALTH_PATTERN_MOST)
        return err_set(e, ERR_USAGE, "the pattern is longer than %d bytes", HEALTH_PATTERN_MOST);
    for (size_t i = 0; i < len; i++)
        if (pattern[i] == '{' || (pattern[i] == '\\' && isdigit((unsigned char)pattern[i + 1])))
            return err_set(e, ERR_USAGE,
                           "pattern '%s': braces and back-references are not supported", pattern);
    const int rc = regcomp(out, pattern, REG_EXTENDED | REG_NOSUB);
    if (rc == 0)
        return 0;
    regerror(rc, out, why, sizeof why);
    return err_set(e, ERR_USAGE, "pattern '%s': %s", pattern, why);
}

int health_matrix(struct run *r, const struct health_matrix_ask *ask, struct arena *a,
                  struct health_matrix *out, struct err *e)
{
    const struct health_ask what = {.rank = ask->rank, .stats = HEALTH_STAT(ask->stat)};
    struct health_painting p = {.ask = ask,
                                .out = out,
                                .merge = health_words[ask->stat].merge,
                                .most = 2 * ask->columns,
                                .width = 1,
                                .bins = text_ends(health_words[ask->stat].name, ".exponents"),
                                .arena = a};
    if (ask->pattern)
        TRY(health_compile(&p.pattern, ask->pattern, e));
    *out = (struct health_matrix){.rank = -1};
    if (p.bins) {
        p.merge = HEALTH_MERGE_MAX;
        p.n_row_of = HEALTH_BINS;
        p.row_of = xcalloc(HEALTH_BINS, sizeof *p.row_of);
    }
    const int rc = health_read(r, &what, a, health_painting_take, &p, e);
    health_painting_end(&p, a);
    if (ask->pattern)
        regfree(&p.pattern);
    return rc;
}
