/* SPDX-License-Identifier: Apache-2.0 */
/* series.c - see series.h.
 *
 * A layout defines which values of which blocks make which point. Series that were read together,
 * and all of them every time, have the same layout, so one is made for all of them. It does not
 * change once it is made: threads share it. Reducing makes the points of a series by a layout.
 *
 * A point is made of `per` units. A unit is one value, or a summary of the block when so many
 * values are in a point that the summaries are fine enough. Only the slices at the edges of the
 * window are cut from values then. */
#include "query/series.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "base/vec.h"
#include "query/block_cursor.h"
#include "query/reduce.h"
#include "record/record.h"

/* ---- series ---- */

bool series_metric_matches(const char *want, const char *metric)
{
    const size_t n = strlen(want);
    if (n && want[n - 1] == '.')
        return strncmp(want, metric, n) == 0;
    return strcmp(want, metric) == 0;
}

const char *series_title(const struct series_key *k)
{
    const enum metric_id m = metric_find(k->metric);
    return m < METRIC_N ? metrics[m].title : "";
}

bool series_matches(const struct series_ask *ask, const struct series_key *k)
{
    return (!ask->node || strcmp(ask->node, k->node) == 0) &&
           (!ask->metric || series_metric_matches(ask->metric, k->metric)) &&
           (!ask->entity || strcmp(ask->entity, k->entity) == 0);
}

int series_list(struct run *r, struct arena *a, struct series_key **out, size_t *n, struct err *e)
{
    (void)e;
    *out = arena_array(a, struct series_key, r->n_series);
    *n = r->n_series;
    for (size_t i = 0; i < r->n_series; i++)
        (*out)[i] = series_key_of(&r->series[i], a);
    return 0;
}

/* ---- layout ---- */

struct laid_slice {
    struct slice slice;   /* the column is that of the series it was made for */
    uint32_t unit;        /* values in a unit of its ranges: 1, or those of a summary bucket */
    struct unit_range *v; /* of points, in order; each slice begins where the one before ended */
    size_t n;
};

struct layout {
    const struct run_series *model; /* the series it was made for */
    enum level level;
    uint64_t per; /* units of the level in a point */
    struct laid_slice *slices;
    size_t n_slices;
    size_t n; /* points */
    wall_ns *t;
    double *count; /* values in each */
};

/* The column that a slice is cut from, of a series for which the layout is good. */
static const struct column *laid_column(const struct laid_slice *l, const struct run_series *m)
{
    const struct slice *s = &l->slice;
    assert(s->part < m->n_parts && s->ref < m->parts[s->part].series->n_refs);
    return &block_columns(s->block)[m->parts[s->part].series->refs[s->ref].column];
}

struct laying {
    struct layout *out;
    struct scan *scan;
    struct arena *arena;
    uint64_t have; /* units in the point being made; 0: the next value begins one */
};

static bool layout_from_summaries(const struct slice *s, enum level level)
{
    return level != LEVEL_VALUES && s->from == 0 && s->to == s->column->count &&
           s->column->count >= level_unit(s->block, level);
}

/* Takes what the point being made has room for, from value i on; returns how many values. */
static uint32_t layout_take(struct laying *l, const struct slice *s,
                            const struct value_clock *clock, uint32_t i)
{
    struct layout *out = l->out;
    const uint32_t unit = level_unit(s->block, out->level);
    const uint64_t room = (out->per - l->have) * unit;
    const uint32_t n = (uint32_t)MIN_OF(room, (uint64_t)(s->to - i));
    assert(l->have < out->per && i < s->to); /* so something is taken, and the caller ends */
    if (l->have == 0)
        out->t[out->n++] = store_wall(s->store, value_clock_us(clock, i));
    out->count[out->n - 1] += n;
    l->have += bucket_count(n, unit);
    if (l->have >= out->per)
        l->have = 0;
    return n;
}

static void layout_add_slice(struct laying *l, const struct slice *s)
{
    struct layout *out = l->out;
    struct laid_slice *to = &out->slices[out->n_slices];
    const bool summaries = layout_from_summaries(s, out->level);
    const uint32_t level = level_unit(s->block, out->level), values = s->to - s->from;
    struct value_clock clock;
    if (!value_clock_open(l->scan, s, summaries && block_is_regular(s->block), &clock))
        return; /* damaged: the slice is left out */
    *to = (struct laid_slice){.slice = *s, .unit = summaries ? level : 1};
    to->v = arena_array(l->arena, struct unit_range, bucket_count(values, level) / out->per + 2);
    for (uint32_t i = s->from, n; i < s->to; i += n) {
        n = layout_take(l, s, &clock, i);
        to->v[to->n++] = (struct unit_range){(uint32_t)(out->n - 1), i / to->unit,
                                             bucket_count(i + n, to->unit)};
    }
    assert(to->n <= bucket_count(values, level) / out->per + 2); /* one may be cut at each end */
    out->n_slices++;
}

static uint64_t layout_count_units(const struct slice *slices, size_t n, enum level level)
{
    return SUM_OF(i, n,
                  bucket_count(slices[i].to - slices[i].from, level_unit(slices[i].block, level)));
}

/* `like` has the series, the level and how many units make a point. */
static struct layout *layout_lay_out(struct scan *s, const struct layout *like,
                                     const struct slice *slices, size_t n, struct arena *a,
                                     struct arena *times)
{
    struct layout *out = arena_new(a, struct layout);
    const size_t most =
        (size_t)((layout_count_units(slices, n, like->level) + like->per - 1) / like->per);
    *out = *like;
    out->n = out->n_slices = 0;
    out->slices = arena_array(a, struct laid_slice, n);
    out->count = arena_array(a, double, most);
    out->t = arena_array(times, wall_ns, most);
    struct laying l = {.out = out, .scan = s, .arena = a};
    for (size_t i = 0; i < n; i++)
        layout_add_slice(&l, &slices[i]);
    assert(out->n <= most && out->n_slices <= n);
    return out;
}

static enum level layout_choose_level(const struct slice *slices, size_t n, uint64_t values,
                                      size_t points)
{
    if (n == 0 || points == 0)
        return LEVEL_VALUES;
    const uint64_t per_point = values / points;
    const struct rows_block *b = slices[n / 2].block;
    return per_point >= b->l2 ? LEVEL_TWO : per_point >= b->l1 ? LEVEL_ONE : LEVEL_VALUES;
}

/* The points that `ask` selects from a series, as at most ask->points points (0: every value is
 * one). It is in `a`, its times in `times`. */
static struct layout *layout_make(struct scan *s, const struct run_series *m,
                                  const struct series_ask *ask, struct arena *a,
                                  struct arena *times)
{
    const struct slices slices = slices_of(s, m, ask->from, ask->to, &s->arena);
    const uint64_t points = ask->points;
    struct layout like = {.model = m, .per = 1};
    like.level = layout_choose_level(slices.v, slices.n, slices.values, ask->points);
    const uint64_t units = layout_count_units(slices.v, slices.n, like.level);
    if (points && units > points)
        like.per = (units + points - 1) / points;
    return layout_lay_out(s, &like, slices.v, slices.n, a, times);
}

/* The same without one of its slices, which is damaged. */
static struct layout *layout_without(struct scan *s, const struct layout *l, size_t slice,
                                     struct arena *a, struct arena *times)
{
    struct slice *rest = arena_array(a, struct slice, l->n_slices);
    size_t n = 0;
    for (size_t i = 0; i < l->n_slices; i++)
        if (i != slice)
            rest[n++] = l->slices[i].slice;
    return layout_lay_out(s, l, rest, n, a, times);
}

static bool layout_same_refs(const struct series_part *a, const struct series_part *b)
{
    if (a->store != b->store || a->series->n_refs != b->series->n_refs)
        return false;
    return !FIND_ANY(i, a->series->n_refs, a->series->refs[i].block != b->series->refs[i].block);
}

/* Both have a column in each of the blocks of either: they may have the same layout. */
static bool layout_same_blocks(const struct run_series *a, const struct run_series *b)
{
    if (a->n_parts != b->n_parts)
        return false;
    return !FIND_ANY(i, a->n_parts, !layout_same_refs(&a->parts[i], &b->parts[i]));
}

/* The layout made for a series that is plain (slices_plain) is that of another one too. */
static bool layout_fits(const struct layout *l, const struct run_series *m)
{
    if (!layout_same_blocks(l->model, m))
        return false;
    return !FIND_ANY(i, l->n_slices,
                     !column_is_plain(laid_column(&l->slices[i], m), l->slices[i].slice.block));
}

/* ---- reducing ---- */

struct reducer {
    struct scan *scan;
    struct series *out;
    struct scale scale; /* of the slice being fed */
};

/* Points are made in order: the first one after the last is a new one. `v` is the sum. */
static void reduce_add(struct reducer *r, const struct unit_range *at, const struct extent *x,
                       size_t n)
{
    const struct scale scale = r->scale;
    double *v = r->out->v, *least = r->out->min, *most = r->out->max;
    size_t points = r->out->n;
    for (size_t i = 0; i < n; i++) {
        const size_t p = at[i].point;
        assert(p <= points);
        const double min = scale_value(scale, (double)x[i].lo),
                     max = scale_value(scale, (double)x[i].hi), sum = scale_value(scale, x[i].sum);
        if (p == points) {
            least[p] = min;
            most[p] = max;
            v[p] = sum;
            points++;
            continue;
        }
        least[p] = min < least[p] ? min : least[p];
        most[p] = max > most[p] ? max : most[p];
        v[p] += sum;
    }
    r->out->n = points;
}

/* Ranges of summaries become those of the values in them. */
static void reduce_to_values(const struct laid_slice *l, size_t from, size_t n,
                             struct unit_range *out)
{
    for (size_t i = 0; i < n; i++) {
        const struct unit_range *s = &l->v[from + i];
        const uint32_t end = MIN_OF(s->to * l->unit, l->slice.to);
        out[i] = (struct unit_range){s->point, s->from * l->unit, end};
        assert(out[i].from < end);
    }
}

/* `view` NULL: from summaries that are decoded. */
static void reduce_feed(struct reducer *r, const struct laid_slice *l,
                        const struct codec_view *view)
{
    struct extent x[EXTENTS_AT_ONCE];
    struct unit_range room[EXTENTS_AT_ONCE];
    for (size_t i = 0, n; i < l->n; i += n) {
        const struct unit_range *at = &l->v[i];
        n = MIN_OF(l->n - i, (size_t)EXTENTS_AT_ONCE);
        if (view && l->unit > 1) {
            reduce_to_values(l, i, n, room);
            at = room;
        }
        extents_of(r->scan, view, at, n, false, x);
        reduce_add(r, at, x, n);
    }
}

/* False: damaged. */
static bool reduce_slice(struct reducer *r, const struct layout *l, const struct laid_slice *laid,
                         const struct column *c)
{
    struct slice s = laid->slice;
    struct codec_view view;
    s.column = c;
    r->scale = scale_of(c->step);
    if (laid->unit > 1 && level_decode(r->scan, &s, l->level, false)) {
        reduce_feed(r, laid, NULL);
        return true;
    }
    if (!slice_values(r->scan, &s, &view))
        return false;
    reduce_feed(r, laid, &view);
    return true;
}

/* The points of a series by a layout that is good for it. The times are the layout's, the other
 * arrays of `out` have room for l->n. Returns the number of slices, or the first one that is
 * damaged: there are no points then. */
static size_t reduce_series(struct scan *s, const struct layout *l, const struct run_series *m,
                            struct series *out)
{
    struct reducer r = {.scan = s, .out = out};
    out->n = 0;
    out->t = l->t;
    for (size_t i = 0; i < l->n_slices; i++)
        if (!reduce_slice(&r, l, &l->slices[i], laid_column(&l->slices[i], m)))
            return i;
    assert(out->n == l->n); /* every point has a range in some slice */
    for (size_t p = 0; p < out->n; p++)
        out->v[p] /= l->count[p];
    return l->n_slices;
}

/* ---- points ---- */

enum { SERIES_EACH = 16 };

/* Shared by the threads of one query. */
struct series_batch {
    const struct series_ask *ask;
    const struct run_series **list;
    const struct layout **layout; /* by series; NULL: it needs a separate one */
    struct series *out;
};

/* Takes room for n points; returns what follows it. */
static double *series_set_room(struct series *s, double *room, size_t n)
{
    s->v = room;
    s->min = room + n;
    s->max = room + 2 * n;
    return room + 3 * n;
}

/* Without what is damaged the other points lie elsewhere, but there are no more of them. */
static void series_read_one(const struct series_batch *b, size_t i, struct scan *scan,
                            struct arena *a)
{
    const struct run_series *m = b->list[i];
    struct series *out = &b->out[i];
    struct arena own = {0};
    const struct layout *l = b->layout[i];
    if (!l) {
        l = layout_make(scan, m, b->ask, &own, a);
        series_set_room(out, arena_alloc_raw(a, 3 * l->n, sizeof(double)), l->n);
    }
    out->key = series_key_of(m, a);
    for (size_t bad; (bad = reduce_series(scan, l, m, out)) < l->n_slices;)
        l = layout_without(scan, l, bad, &own, a);
    arena_free(&own);
}

static void series_work(struct parallel *c, struct arena *results)
{
    struct scan scan;
    scan_open(&scan);
    scan.once = c->n == 1;
    for (size_t i; parallel_next(c, &i);)
        series_read_one(c->ctx, i, &scan, results);
    scan_close(&scan);
}

/* Series of one group, which often have the same layout, are not always neighbours in the list. */
enum { LAYOUTS_TRIED = 8 };

/* The series i has its values where its neighbour has them. */
static bool series_is_like_next(const struct series_batch *b, size_t i, size_t n)
{
    return i + 1 < n && layout_same_blocks(b->list[i], b->list[i + 1]) &&
           slices_plain(b->list[i], b->ask->from, b->ask->to);
}

/* Those that are good for several series; the others are made where they are needed. */
static void series_share_layouts(struct series_batch *b, size_t n, struct arena *a,
                                 struct arena *times)
{
    const struct layout *made[LAYOUTS_TRIED] = {0};
    size_t next = 0;
    struct scan scan;
    scan_open(&scan);
    scan.once = true;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < LAYOUTS_TRIED && !b->layout[i]; k++)
            if (made[k] && layout_fits(made[k], b->list[i]))
                b->layout[i] = made[k];
        if (b->layout[i] || !series_is_like_next(b, i, n))
            continue;
        b->layout[i] = layout_make(&scan, b->list[i], b->ask, a, times);
        made[next++ % LAYOUTS_TRIED] = b->layout[i];
    }
    scan_close(&scan);
}

/* One array for all of them. */
static void series_room_of_shared(struct series_batch *b, size_t n, struct arena *a)
{
    const size_t points = SUM_OF(i, n, b->layout[i] ? b->layout[i]->n : 0);
    double *room = arena_alloc_raw(a, 3 * points, sizeof *room);
    for (size_t i = 0; i < n; i++)
        if (b->layout[i])
            room = series_set_room(&b->out[i], room, b->layout[i]->n);
}

int series_read(struct run *r, const struct series_ask *ask, struct arena *a, struct series **out,
                size_t *n, struct err *e)
{
    (void)e;
    struct arena scratch = {0};
    struct series_batch b = {.ask = ask};
    *n = series_select(r, ask, 1, &scratch, &b.list);
    b.layout = arena_array(&scratch, const struct layout *, *n);
    b.out = *out = arena_array(a, struct series, *n);
    if (*n > 1) {
        series_share_layouts(&b, *n, &scratch, a);
        series_room_of_shared(&b, *n, a);
    }
    struct parallel job = {.n = *n, .each = SERIES_EACH, .work = series_work, .ctx = &b};
    parallel_run(&job, a);
    arena_free(&scratch);
    return 0;
}

/* ---- statistics ---- */

/* With `pooled` neighbours of one node and metric are counted together. */
static void series_read_stats(struct run *r, const struct series_ask *ask, bool pooled,
                              struct arena *a, struct series_stats **out, size_t *n)
{
    struct scan scan;
    const struct run_series **list;
    struct tally *t = xmalloc(sizeof *t);
    scan_open(&scan);
    const size_t n_list = series_select(r, ask, 1, &scan.arena, &list);
    *out = arena_array(a, struct series_stats, n_list);
    *n = 0;
    for (size_t i = 0; i < n_list;) {
        struct series_stats *one = &(*out)[(*n)++];
        const struct run_series *first = list[i];
        one->key = series_key_of(first, a);
        tally_open(t);
        do
            tally_series(t, &scan, list[i++], ask->from, ask->to);
        while (pooled && i < n_list && strcmp(list[i]->node, first->node) == 0 &&
               strcmp(list[i]->metric, first->metric) == 0);
        if (pooled)
            one->key.entity = "";
        tally_finish(t, one);
        tally_free(t);
    }
    scan_close(&scan);
    free(t);
}

int series_stats_read(struct run *r, const struct series_ask *ask, struct arena *a,
                      struct series_stats **out, size_t *n, struct err *e)
{
    (void)e;
    series_read_stats(r, ask, false, a, out, n);
    return 0;
}

int series_stats_pooled(struct run *r, const struct series_ask *ask, struct arena *a,
                        struct series_stats **out, size_t *n, struct err *e)
{
    (void)e;
    series_read_stats(r, ask, true, a, out, n);
    return 0;
}

/* ---- histograms of percentages ---- */

static void devhist_count_value(void *to, double v, uint64_t count)
{
    struct devhist *h = to;
    const double top = DEVHIST_BINS - 1;
    h->bins[(size_t)(v < 0 ? 0 : v > top ? top : v)] += count;
    h->count += count;
}

/* Shared by the threads of one query. */
struct devhist_batch {
    const struct series_ask *ask;
    const struct run_series **list;
    struct devhist *out;
};

static void devhist_work(struct parallel *c, struct arena *results)
{
    const struct devhist_batch *b = c->ctx;
    struct scan scan;
    struct tally *t = xmalloc(sizeof *t);
    scan_open(&scan);
    tally_open(t);
    /* From the last on: that of the whole machine, which has no histograms in its blocks and takes
     * longest, is among them. */
    for (size_t k; parallel_next(c, &k);) {
        const size_t i = c->n - 1 - k;
        b->out[i].key = series_key_of(b->list[i], results);
        tally_series(t, &scan, b->list[i], b->ask->from, b->ask->to);
        tally_each(t, devhist_count_value, &b->out[i]);
    }
    tally_free(t);
    free(t);
    scan_close(&scan);
}

int devhist_read(struct run *r, const struct series_ask *ask, struct arena *a, struct devhist **out,
                 size_t *n, struct err *e)
{
    (void)e;
    struct arena scratch = {0};
    struct devhist_batch b = {.ask = ask};
    *n = series_select(r, ask, 1, &scratch, &b.list);
    b.out = *out = arena_array(a, struct devhist, *n + 1);
    struct parallel job = {.n = *n, .each = SERIES_EACH, .work = devhist_work, .ctx = &b};
    parallel_run(&job, a);
    arena_free(&scratch);
    return 0;
}
