/* SPDX-License-Identifier: Apache-2.0 */
/* samples.c - see samples.h.
 *
 * Which values there are is known from the heads of blocks, so everything has its place before
 * anything is decoded. The times of a block are decoded once for all its columns.
 *
 * Why threads may fill at once without a lock:
 *
 * - A series is filled by one thread, into the places first..first + count of it alone. Places of
 *   different series do not overlap (samples_take_series).
 * - Each thread has its own struct scan for values and for the rows of columns with gaps.
 * - Times are those of samples->scan, which all threads share. samples_open decoded them for the
 *   block of every slice that it left in the list, so scan_times only finds them: it decodes and
 *   allocates nothing.
 * - Slices point into the stores of the run. These do not change: the run stays open, and no other
 *   code uses it meanwhile (samples.h).
 *
 * Why counts are right before values are decoded: a slice without whole checksums, times or rows is
 * dropped by samples_open. If its values do not decode all the same, they are NAN in their places,
 * so nothing that follows moves.
 *
 * Row by row, a block with its texts and cells is in memory for the calls of the sink about it,
 * and is freed before the next one is decoded. */
#include "query/samples.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "base/vec.h"
#include "query/block_cursor.h"
#include "record/group.h"
#include "store/column.h"

/* ---- row by row ---- */

double row_value(double step, int64_t cell)
{
    return scale_value(scale_of(step), (double)cell);
}

struct rows_walk {
    const struct series_ask *ask;
    const struct row_sink *sink;
    void *to;
    const struct node_info *node;
    const struct store *store;
    struct block_window window; /* on the clock of the store */
    struct scan scan;
};

/* A block with the columns that are wanted, decoded. */
struct rows_cells {
    struct arena arena;
    const struct rows_block *from;
    struct row_column *columns;
    int64_t *times; /* us */
    int64_t *cells; /* row by row */
    size_t n;       /* columns */
};

static const char *rows_text_of(struct arena *a, const struct text *t)
{
    return arena_strndup(a, t->p, t->n);
}

static bool rows_is_wanted(const struct rows_walk *w, const struct row_column *c)
{
    return series_matches(w->ask, &(struct series_key){w->node->id, c->metric, c->entity, c->unit});
}

/* Columns that are wanted, and the place of each in the block. */
static uint32_t *rows_choose_columns(const struct rows_walk *w, struct rows_cells *b)
{
    const uint32_t n = b->from->n_columns;
    uint32_t *which = arena_array(&b->arena, uint32_t, n);
    b->columns = arena_array(&b->arena, struct row_column, n);
    assert(b->n == 0);
    for (uint32_t i = 0; i < n; i++) {
        const struct column *c = &block_columns(b->from)[i];
        const struct row_column one = {rows_text_of(&b->arena, &c->metric),
                                       rows_text_of(&b->arena, &c->entity),
                                       rows_text_of(&b->arena, &c->unit), c->step};
        if (c->count == 0 || !rows_is_wanted(w, &one))
            continue;
        which[b->n] = i;
        b->columns[b->n++] = one;
    }
    return which;
}

static void rows_fill_column(struct rows_walk *w, struct rows_cells *b, size_t at,
                             const struct column *c)
{
    const uint32_t *rows = c->has_gaps ? scan_value_rows(&w->scan, c, b->from) : NULL;
    if ((c->has_gaps && !rows) || !blob_whole(&c->values) ||
        !codec_decode(w->scan.codec, c->values.p, c->values.len, c->count, w->scan.v64))
        return;
    for (uint32_t i = 0; i < c->count; i++) {
        const uint32_t row = rows ? rows[i] : c->first_row + i;
        if (row < b->from->rows)
            b->cells[row * b->n + at] = w->scan.v64[i];
    }
}

static bool rows_decode(struct rows_walk *w, struct rows_cells *b, const uint32_t *which)
{
    const size_t cells = b->from->rows * b->n;
    assert(b->n > 0 && b->n <= b->from->n_columns);
    b->times = arena_array(&b->arena, int64_t, b->from->rows);
    b->cells = arena_array(&b->arena, int64_t, cells);
    for (size_t i = 0; i < cells; i++)
        b->cells[i] = CELL_MISSING;
    for (size_t i = 0; i < b->n; i++)
        rows_fill_column(w, b, i, &block_columns(b->from)[which[i]]);
    return store_times(w->scan.codec, b->from, b->times);
}

static bool rows_has_any(const int64_t *cells, size_t n)
{
    return FIND_ANY(i, n, cells[i] != CELL_MISSING);
}

static int rows_emit(struct rows_walk *w, const struct rows_cells *b, struct err *e)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < b->from->rows; i++) {
        const int64_t *cells = b->cells + i * b->n;
        if (b->times[i] >= w->window.from && b->times[i] < w->window.to &&
            rows_has_any(cells, b->n))
            rc = w->sink->row(w->to, store_wall(w->store, b->times[i]), cells, e);
    }
    return rc;
}

static int rows_emit_block(struct rows_walk *w, struct rows_cells *b, struct err *e)
{
    const uint32_t *which = rows_choose_columns(w, b);
    const struct row_group g = {
        .node = w->node->id,
        .name = rows_text_of(&b->arena, &b->from->group),
        .session = w->node->session,
        .period_ns = b->from->period_ns,
        .columns = b->columns,
        .n = b->n,
        .first = store_wall(w->store, b->from->t_first_us),
        .clock_ahead_ns = w->store->steps[0].wall.ns - w->store->steps[0].mono.ns,
    };
    if (b->n == 0)
        return 0;
    int rc = w->sink->group(w->to, &g, e);
    if (rc == 0 && w->sink->row && rows_decode(w, b, which))
        rc = rows_emit(w, b, e);
    return rc;
}

static int rows_walk_group(struct rows_walk *w, const struct block_group *g, struct err *e)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < g->n; i++) {
        struct rows_cells b = {.from = &w->store->blocks[g->blocks[i]]};
        if (block_window_meets(&w->window, b.from))
            rc = rows_emit_block(w, &b, e);
        arena_free(&b.arena);
    }
    return rc;
}

static int rows_walk_store(struct rows_walk *w, struct err *e)
{
    struct arena scratch = {0};
    struct block_group *groups;
    const size_t n = block_groups(w->store, NULL, &scratch, &groups);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = rows_walk_group(w, &groups[i], e);
    arena_free(&scratch);
    return rc;
}

int rows_read(struct run *r, const struct series_ask *ask, const struct row_sink *sink, void *to,
              struct err *e)
{
    struct rows_walk w = {.ask = ask, .sink = sink, .to = to};
    int rc = 0;
    scan_open(&w.scan);
    for (size_t i = 0; rc == 0 && i < r->info.n_nodes; i++) {
        w.node = &r->info.nodes[i];
        w.store = r->stores[i];
        if (!w.store || (ask->node && strcmp(ask->node, w.node->id) != 0))
            continue;
        w.window = block_window_of(w.store, ask->from, ask->to);
        rc = rows_walk_store(&w, e);
    }
    scan_close(&w.scan);
    return rc;
}

/* ---- all samples of many series ---- */

enum { BYTE_VALUES = 256 };

struct samples_of_series {
    struct series_key key;
    struct slice *slices;
    size_t n;
    uint64_t first, count;
};

struct samples {
    struct scan scan; /* owns the slices */
    struct samples_of_series *series;
    size_t n;
    uint64_t total;
};

/* ---- what there is ---- */

/* Whole values, and times for them. */
static bool samples_are_whole(struct samples *s, const struct slice *sl)
{
    const struct column *c = sl->column;
    return blob_whole(&c->values) && scan_times(&s->scan, sl->store, sl->block) &&
           (!c->has_gaps || scan_value_rows(&s->scan, c, sl->block));
}

static void samples_take_series(struct samples *s, const struct run_series *m,
                                const struct series_ask *ask)
{
    struct samples_of_series *o = &s->series[s->n++];
    o->key = series_key_of(m, &s->scan.arena);
    o->first = s->total;
    const struct slices all = slices_of(&s->scan, m, ask->from, ask->to, &s->scan.arena);
    o->slices = all.v;
    for (size_t i = 0; i < all.n; i++) {
        if (!samples_are_whole(s, &o->slices[i]))
            continue;
        o->count += o->slices[i].to - o->slices[i].from;
        o->slices[o->n++] = o->slices[i];
    }
    assert(o->n <= all.n && o->count <= all.values);
    s->total += o->count;
}

int samples_open(struct samples **out, struct run *r, const struct series_ask *ask, struct err *e)
{
    (void)e;
    const struct run_series **list;
    struct samples *s = xcalloc(1, sizeof *s);
    scan_open(&s->scan);
    const size_t n = series_select(r, ask, 1, &s->scan.arena, &list);
    s->series = xcalloc(n + 1, sizeof *s->series);
    for (size_t i = 0; i < n; i++)
        samples_take_series(s, list[i], ask);
    *out = s;
    return 0;
}

void samples_close(struct samples *s)
{
    if (!s)
        return;
    scan_close(&s->scan);
    free(s->series);
    free(s);
}

size_t samples_series(const struct samples *s)
{
    return s->n;
}

const struct series_key *samples_key(const struct samples *s, size_t series)
{
    assert(series < s->n);
    return &s->series[series].key;
}

uint64_t samples_count(const struct samples *s, size_t series)
{
    return s->series[series].count;
}

uint64_t samples_total(const struct samples *s)
{
    return s->total;
}

/* ---- decoding ---- */

struct samples_filling {
    struct samples *samples;
    int64_t *t;
    double *v;
    samples_each *each;
    void *to;
};

static void samples_put_narrow(const struct codec_view *view, struct scale scale,
                               const struct slice *sl, double *out)
{
    double worth[BYTE_VALUES];
    for (int i = 0; i < BYTE_VALUES; i++)
        worth[i] = scale_value(scale, (double)(int64_t)((uint64_t)view->base + (uint64_t)i));
    for (uint32_t i = sl->from; i < sl->to; i++)
        *out++ = worth[view->v8[i]];
}

static void samples_put_values(struct scan *scan, const struct slice *sl, double *out)
{
    const struct scale scale = scale_of(sl->column->step);
    struct codec_view view;
    if (!slice_values(scan, sl, &view)) {
        for (uint32_t i = sl->from; i < sl->to; i++)
            *out++ = NAN;
        return;
    }
    if (view.narrow) {
        samples_put_narrow(&view, scale, sl, out);
        return;
    }
    for (uint32_t i = sl->from; i < sl->to; i++)
        *out++ = scale_value(scale, (double)view.v64[i]);
}

/* Wall time minus monotonic time of all rows of a block; false: it changes between them. Steps of
 * the clock only go forward, so what is equal at both ends is equal between them. */
static bool samples_clock_offset(const struct slice *sl, int64_t *offset)
{
    const struct rows_block *b = sl->block;
    *offset = store_wall(sl->store, b->t_first_us).ns - b->t_first_us * NS_PER_US;
    return *offset == store_wall(sl->store, b->t_last_us).ns - b->t_last_us * NS_PER_US;
}

static void samples_put_times(struct samples *s, struct scan *scan, const struct slice *sl,
                              int64_t *out)
{
    const int64_t *t = scan_times(&s->scan, sl->store, sl->block); /* decoded by samples_open */
    const struct column *c = sl->column;
    const uint32_t *rows = c->has_gaps ? scan_value_rows(scan, c, sl->block) : NULL;
    int64_t offset;
    assert(t && sl->to <= c->count);
    const bool steady = samples_clock_offset(sl, &offset);
    if (c->has_gaps && !rows)
        return; /* the file was changed since samples_open */
    for (uint32_t i = sl->from; i < sl->to; i++) {
        const int64_t us = t[rows ? rows[i] : c->first_row + i];
        *out++ = steady ? (int64_t)((uint64_t)(us * NS_PER_US) + (uint64_t)offset)
                        : store_wall(sl->store, us).ns;
    }
}

static void samples_fill_one(struct samples_filling *f, struct scan *scan, size_t i)
{
    const struct samples_of_series *o = &f->samples->series[i];
    uint64_t at = o->first;
    for (size_t k = 0; k < o->n; k++) {
        const struct slice *sl = &o->slices[k];
        assert(sl->from <= sl->to && at + (sl->to - sl->from) <= o->first + o->count);
        samples_put_times(f->samples, scan, sl, f->t + at);
        samples_put_values(scan, sl, f->v + at);
        at += sl->to - sl->from;
    }
    assert(at == o->first + o->count); /* the next series begins there */
    if (f->each)
        f->each(f->to, i, o->first, o->count);
}

static void samples_work(struct parallel *c, struct arena *results)
{
    struct scan scan;
    size_t i;
    (void)results;
    scan_open(&scan);
    while (parallel_next(c, &i))
        samples_fill_one(c->ctx, &scan, i);
    scan_close(&scan);
}

void samples_fill(struct samples *s, int64_t *t, double *v, samples_each *each, void *to)
{
    struct samples_filling f = {s, t, v, each, to};
    struct parallel job = {.n = s->n, .each = 1, .work = samples_work, .ctx = &f};
    parallel_run(&job, &s->scan.arena);
}
