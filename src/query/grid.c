/* SPDX-License-Identifier: Apache-2.0 */
/* grid.c - see grid.h.
 *
 * All columns of all series begin at the same moments, so their edges are turned into each file's
 * own clock once. Sums are made in the steps that the store counts in and become values at the
 * end. */
#include "query/grid.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "base/vec.h"
#include "query/block_cursor.h"
#include "store/column.h"

/* ---- how many columns ---- */

/* How wide a column has to be that summaries of a level can be read for it, in ns: the middle of at
 * least one has to lie in every column. Those of a regular block are further apart than their
 * samples by a period at most; others may have missed some. */
static int64_t grid_step_least(const struct rows_block *b, enum level level, bool regular)
{
    const int64_t unit = level_unit(b, level), apart = unit + 2, missed = (5 * unit + 3) / 4;
    return (regular || missed < apart ? apart : missed) * b->period_ns;
}

/* Fewer by a third at most. */
enum { LEAST_NUM = 2, LEAST_DEN = 3 };

/* Samples in the window, with the period of the block. */
static uint64_t grid_samples_in(const struct rows_block *b, int64_t span, size_t series)
{
    return b->period_ns > 0 ? (uint64_t)(span / b->period_ns) * series : 0;
}

/* As many columns as are requested, or by a third fewer at most, when summaries can then be read
 * instead of values, or coarser ones, of n series that are like `m`, which is one of them. */
static size_t grid_columns_for(const struct grid_ask *ask, const struct run_series *m, size_t n)
{
    struct block_cursor at = block_cursor_of(m, ask->from, ask->to);
    const int64_t span = ask->to.ns - ask->from.ns;
    struct slice first;
    if (!ask->fewer_from || !block_cursor_next(&at, &first))
        return ask->columns;
    const struct rows_block *b = first.block;
    if (grid_samples_in(b, span, n) < ask->fewer_from)
        return ask->columns;
    for (enum level level = LEVEL_TWO; level > LEVEL_VALUES; level--) {
        const size_t columns = (size_t)(span / grid_step_least(b, level, block_is_regular(b)));
        if (columns >= ask->columns)
            return ask->columns;
        if (columns > 0 && LEAST_DEN * columns >= LEAST_NUM * ask->columns)
            return columns;
    }
    return ask->columns;
}

/* ---- where columns begin, on the clock of each file ---- */

struct grid_ranges {
    enum level level;
    struct unit_range *v; /* in order of time */
    size_t n;
};

struct grid_edges {
    const struct store *store;
    int64_t *us; /* columns + 1 */
    /* By block, for series that have a value in every row: most of a group do, and then what is
     * found for one is good for all. NULL: none of them does. */
    struct grid_ranges **plain;
};

/* What is the same for all series; once made, threads share it. */
struct grid_plan {
    const struct grid_ask *ask;
    int64_t step_ns;
    size_t columns;
    struct scan scan; /* owns all below */
    struct grid_edges *edges;
    size_t n_edges, cap_edges;
};

static const struct grid_edges *grid_edges_of(const struct grid_plan *p, const struct store *store)
{
    return FIND_ITEM(x, p->edges, p->n_edges, x->store == store);
}

static const struct grid_edges *grid_make_edges(struct grid_plan *p, const struct store *store)
{
    const struct grid_edges *known = grid_edges_of(p, store);
    if (known)
        return known;
    int64_t *us = arena_array(&p->scan.arena, int64_t, p->columns + 1);
    for (size_t c = 0; c <= p->columns; c++)
        us[c] = store_mono_us(store, (wall_ns){p->ask->from.ns + (int64_t)c * p->step_ns});
    struct grid_edges *new = VEC_ADD(p->edges, p->n_edges, p->cap_edges);
    *new = (struct grid_edges){
        store, us, arena_array(&p->scan.arena, struct grid_ranges *, store->n_blocks + 1)};
    return new;
}

/* The last column that begins at or before t; edges[0] <= t < edges[columns]. */
static size_t grid_column_of(const int64_t *edges, size_t columns, int64_t t)
{
    assert(edges[0] <= t && t < edges[columns]);
    return SEARCH_FIRST(i, 0, columns, edges[i] <= t) - 1;
}

/* ---- which part of a block lies in which column ---- */

/* A block of a series, and what is read of it. */
struct grid_block {
    struct slice slice;
    const struct grid_edges *edges;
    enum level level;
};

static bool grid_is_plain(const struct grid_block *p)
{
    return column_is_plain(p->slice.column, p->slice.block);
}

static bool grid_level_fits(const struct grid_plan *plan, const struct grid_block *p,
                            enum level level)
{
    const bool regular = grid_is_plain(p) && block_is_regular(p->slice.block);
    return p->slice.column->count >= level_unit(p->slice.block, level) &&
           plan->step_ns >= grid_step_least(p->slice.block, level, regular);
}

static enum level grid_level_for(const struct grid_plan *plan, const struct grid_block *p)
{
    return grid_level_fits(plan, p, LEVEL_TWO)   ? LEVEL_TWO
           : grid_level_fits(plan, p, LEVEL_ONE) ? LEVEL_ONE
                                                 : LEVEL_VALUES;
}

/* The blocks of a series that meet the window. */
static struct block_cursor grid_cursor(const struct grid_plan *plan, const struct run_series *m)
{
    const wall_ns from = plan->ask->from;
    return block_cursor_of(m, from, (wall_ns){from.ns + (int64_t)plan->columns * plan->step_ns});
}

/* The level is for the caller to choose. */
static bool grid_next_block(const struct grid_plan *plan, struct block_cursor *at,
                            struct grid_block *out)
{
    if (!block_cursor_next(at, &out->slice))
        return false;
    out->edges = grid_edges_of(plan, out->slice.store);
    assert(out->edges); /* grid_plan_series made those of all parts */
    out->level = LEVEL_VALUES;
    return true;
}

/* The first value from `i` on that is not read in [from, to), us. */
static uint32_t grid_values_until(const struct value_clock *c, uint32_t i, uint32_t n, int64_t from,
                                  int64_t to)
{
    const int64_t *times = c->times + c->first_row;
    const uint64_t span = (uint64_t)to - (uint64_t)from;
    while (i < n && (uint64_t)times[i] - (uint64_t)from < span)
        i++;
    return i;
}

/* A summary counts for the column in which its middle lies. */
static struct grid_ranges *grid_find_ranges(const struct grid_plan *plan,
                                            const struct grid_block *p,
                                            const struct value_clock *clock, struct arena *a)
{
    const int64_t *edges = p->edges->us;
    const uint32_t unit = level_unit(p->slice.block, p->level), count = p->slice.column->count;
    const uint32_t n = bucket_count(count, unit);
    const bool many = unit == 1 && clock->times && !clock->rows;
    struct grid_ranges *out = arena_new(a, struct grid_ranges);
    out->level = p->level;
    out->v = arena_array(a, struct unit_range, MIN_OF((size_t)n, plan->columns) + 1);
    size_t c = SIZE_MAX;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t values = MIN_OF(unit, count - i * unit);
        const int64_t t = value_clock_us(clock, i * unit + values / 2);
        if (t < edges[0] || t >= edges[plan->columns])
            continue;
        if (c == SIZE_MAX)
            c = grid_column_of(edges, plan->columns, t);
        while (edges[c + 1] <= t)
            c++;
        struct unit_range *last = out->n ? &out->v[out->n - 1] : NULL;
        if (last && last->point == c)
            last->to = i + 1;
        else
            out->v[out->n++] = (struct unit_range){(uint32_t)c, i, i + 1};
        if (many) {
            i = grid_values_until(clock, i + 1, n, edges[0], edges[c + 1]) - 1;
            out->v[out->n - 1].to = i + 1;
        }
    }
    return out;
}

static bool grid_by_grid(const struct grid_block *p)
{
    return p->level != LEVEL_VALUES && block_is_regular(p->slice.block);
}

static struct grid_ranges **grid_plain_of(const struct grid_block *p)
{
    return &p->edges->plain[p->slice.block - p->slice.store->blocks];
}

/* Times are decoded for one block after the other, so none is cached: plan->scan.once. */
static void grid_plan_block(struct grid_plan *plan, struct grid_block *p)
{
    struct value_clock clock;
    if (*grid_plain_of(p) || !grid_is_plain(p))
        return;
    p->level = grid_level_for(plan, p);
    if (value_clock_open(&plan->scan, &p->slice, grid_by_grid(p), &clock))
        *grid_plain_of(p) = grid_find_ranges(plan, p, &clock, &plan->scan.arena);
}

static void grid_plan_series(struct grid_plan *plan, const struct run_series *m)
{
    struct block_cursor at = grid_cursor(plan, m);
    for (size_t i = 0; i < m->n_parts; i++)
        grid_make_edges(plan, m->parts[i].store);
    for (struct grid_block p; grid_next_block(plan, &at, &p);)
        grid_plan_block(plan, &p);
}

/* ---- the row being made ---- */

/* The smallest and the largest of a column. */
struct grid_ends {
    int64_t lo, hi;
};

/* One per thread. */
struct gridding {
    const struct grid_plan *plan;
    struct scan scan;
    /* of the row being made, by column, in steps of the store */
    double *sum;
    struct grid_ends *ends; /* NULL: means only */
    int32_t *count;         /* 0: the others are not set */
    double step;
};

static void grid_add_ends(struct gridding *g, const struct unit_range *at, const struct extent *x,
                          size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const size_t c = at[i].point;
        struct grid_ends *to = &g->ends[c];
        const bool first = g->count[c] == 0;
        to->lo = first || x[i].lo < to->lo ? x[i].lo : to->lo;
        to->hi = first || x[i].hi > to->hi ? x[i].hi : to->hi;
    }
}

/* `values` of them, at most, are in the block: the last unit may be short. */
static void grid_add(struct gridding *g, const struct unit_range *at, const struct extent *x,
                     size_t n, uint32_t unit, uint32_t values)
{
    if (g->ends)
        grid_add_ends(g, at, x, n);
    for (size_t i = 0; i < n; i++) {
        const size_t c = at[i].point;
        assert(c < g->plan->columns && at[i].from * unit < values);
        g->sum[c] = g->count[c] == 0 ? x[i].sum : g->sum[c] + x[i].sum;
        g->count[c] += (int32_t)(MIN_OF(at[i].to * unit, values) - at[i].from * unit);
    }
}

static void grid_flush_ends(const struct gridding *g, struct scale s, struct grid_row *row)
{
    for (size_t c = 0; c < g->plan->columns; c++) {
        if (g->count[c] == 0)
            continue;
        row->min[c] = (float)scale_value(s, (double)g->ends[c].lo);
        row->max[c] = (float)scale_value(s, (double)g->ends[c].hi);
        row->sum += scale_value(s, g->sum[c]);
        row->count += (uint64_t)g->count[c];
    }
}

/* What was added becomes values. A step that changes within a column, as when another version
 * continued the run, leaves the column what was seen last. */
static void grid_flush(struct gridding *g, struct grid_row *row)
{
    const struct scale s = scale_of(g->step);
    const size_t columns = g->plan->columns;
    const double *restrict sum = g->sum;
    const int32_t *restrict count = g->count;
    float *restrict mean = row->mean;
    for (size_t c = 0; c < columns; c++) {
        const float v = (float)(scale_value(s, sum[c]) / (double)count[c]);
        mean[c] = count[c] ? v : mean[c];
    }
    if (g->ends)
        grid_flush_ends(g, s, row);
    memset(g->count, 0, columns * sizeof *g->count);
}

/* NULL: damaged. */
static const struct grid_ranges *grid_ranges_of(struct gridding *g, const struct grid_block *p)
{
    const struct grid_ranges *planned = grid_is_plain(p) ? *grid_plain_of(p) : NULL;
    struct value_clock clock;
    if (planned && planned->level == p->level)
        return planned;
    if (!value_clock_open(&g->scan, &p->slice, grid_by_grid(p), &clock))
        return NULL;
    return grid_find_ranges(g->plan, p, &clock, &g->scan.arena);
}

/* `view` NULL: from summaries that have been decoded. */
static void grid_feed(struct gridding *g, const struct grid_block *p,
                      const struct grid_ranges *where, const struct codec_view *view)
{
    const uint32_t unit = view ? 1 : level_unit(p->slice.block, p->level);
    assert(where->level == p->level && (!view || p->level == LEVEL_VALUES));
    struct extent x[EXTENTS_AT_ONCE];
    for (size_t i = 0, n; i < where->n; i += n) {
        n = MIN_OF(where->n - i, (size_t)EXTENTS_AT_ONCE);
        extents_of(&g->scan, view, where->v + i, n, !g->ends, x);
        grid_add(g, where->v + i, x, n, unit, p->slice.column->count);
    }
}

static bool grid_feed_summaries(struct gridding *g, const struct grid_block *p)
{
    const struct grid_ranges *where = grid_ranges_of(g, p);
    if (!where || !level_decode(&g->scan, &p->slice, p->level, !g->ends))
        return false;
    grid_feed(g, p, where, NULL);
    return true;
}

static void grid_feed_values(struct gridding *g, const struct grid_block *p)
{
    const struct grid_ranges *where = grid_ranges_of(g, p);
    struct codec_view view;
    if (where && where->n && slice_values(&g->scan, &p->slice, &view))
        grid_feed(g, p, where, &view);
}

static void grid_read_row(struct gridding *g, const struct run_series *m, struct grid_row *row)
{
    struct block_cursor at = grid_cursor(g->plan, m);
    g->step = 0;
    for (struct grid_block p; grid_next_block(g->plan, &at, &p);) {
        p.level = grid_level_for(g->plan, &p);
        if (g->step != 0 && p.slice.column->step != g->step)
            grid_flush(g, row);
        g->step = p.slice.column->step;
        if (p.level != LEVEL_VALUES && grid_feed_summaries(g, &p))
            continue;
        p.level = LEVEL_VALUES;
        grid_feed_values(g, &p);
    }
    grid_flush(g, row);
}

/* ---- all of them ---- */

static size_t grid_row_room(size_t columns, bool ends)
{
    return columns * (ends ? 3 : 1);
}

/* An empty row; `room` is for row_room columns. */
static struct grid_row grid_new_row(const struct series_key *k, size_t columns, bool ends,
                                    float *room)
{
    for (size_t i = 0; i < grid_row_room(columns, ends); i++)
        room[i] = NAN;
    return (struct grid_row){
        .key = *k,
        .mean = room,
        .min = ends ? room + columns : NULL,
        .max = ends ? room + 2 * columns : NULL,
    };
}

static int64_t grid_step_of(const struct grid_ask *ask, size_t columns)
{
    const int64_t span = ask->to.ns - ask->from.ns, n = (int64_t)columns;
    return MAX_OF(span / n + (span % n > 0), (int64_t)1);
}

enum { ROWS_EACH = 16 };

/* Shared by the threads of one query. */
struct grid_batch {
    const struct grid_plan *plan;
    const struct run_series **list;
    struct grid_row *out;
    float *room; /* of all rows, one after the other */
};

static void grid_work(struct parallel *c, struct arena *results)
{
    const struct grid_batch *b = c->ctx;
    const size_t columns = b->plan->columns;
    const bool ends = !b->plan->ask->means_only;
    struct gridding g = {.plan = b->plan};
    scan_open(&g.scan);
    g.sum = arena_array(&g.scan.arena, double, columns);
    g.ends = ends ? arena_array(&g.scan.arena, struct grid_ends, columns) : NULL;
    g.count = arena_array(&g.scan.arena, int32_t, columns);
    for (size_t i; parallel_next(c, &i);) {
        const struct series_key key = series_key_of(b->list[i], results);
        b->out[i] = grid_new_row(&key, columns, ends, b->room + i * grid_row_room(columns, ends));
        grid_read_row(&g, b->list[i], &b->out[i]);
    }
    scan_close(&g.scan);
}

int grid_read(struct run *r, const struct grid_ask *ask, struct arena *a, struct grid *out,
              struct err *e)
{
    if (ask->columns == 0 || ask->columns > GRID_COLUMNS_MOST || ask->to.ns <= ask->from.ns)
        return err_set(e, ERR_USAGE, "a time window in 1 to %d columns is required",
                       GRID_COLUMNS_MOST);
    struct grid_plan plan = {.ask = ask};
    struct grid_batch b = {.plan = &plan};
    const size_t n = series_select(r, ask->which, ask->n_which, a, &b.list);
    plan.columns = n ? grid_columns_for(ask, b.list[0], n) : ask->columns;
    plan.step_ns = grid_step_of(ask, plan.columns);
    *out = (struct grid){ask->from, ask->to, plan.step_ns, plan.columns, NULL, n};
    b.out = out->rows = arena_array(a, struct grid_row, n + 1);
    if (n == 0)
        return 0;
    b.room = arena_alloc_raw(a, n * grid_row_room(plan.columns, !ask->means_only), sizeof *b.room);
    scan_open(&plan.scan);
    plan.scan.once = true;
    for (size_t i = 0; i < n; i++)
        grid_plan_series(&plan, b.list[i]);
    struct parallel job = {.n = n, .each = ROWS_EACH, .work = grid_work, .ctx = &b};
    parallel_run(&job, a);
    scan_close(&plan.scan);
    free(plan.edges);
    return 0;
}

/* ---- means ---- */

double grid_row_mean(const struct grid_row *row)
{
    return row->count ? row->sum / (double)row->count : NAN;
}

static bool grid_same_metric(const struct grid_row *a, const struct grid_row *b)
{
    return strcmp(a->key.node, b->key.node) == 0 && strcmp(a->key.metric, b->key.metric) == 0;
}

static void grid_mean_column(const struct grid_row *rows, size_t n, size_t c, struct grid_row *out)
{
    double sum = 0;
    size_t some = 0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(rows[i].mean[c]))
            continue;
        sum += (double)rows[i].mean[c];
        some++;
        out->min[c] = fminf(out->min[c], rows[i].min[c]);
        out->max[c] = fmaxf(out->max[c], rows[i].max[c]);
    }
    if (some)
        out->mean[c] = (float)(sum / (double)some);
}

struct grid_row grid_mean(const struct grid *g, size_t first, struct arena *a)
{
    const struct grid_row *rows = &g->rows[first];
    size_t n = 0;
    for (; first + n < g->n && grid_same_metric(rows, &rows[n]); n++)
        if (strcmp(rows[n].key.entity, ENTITY_TOTAL) == 0)
            return rows[n];
    struct grid_row out = grid_new_row(&rows->key, g->columns, true,
                                       arena_array(a, float, grid_row_room(g->columns, true)));
    for (size_t c = 0; c < g->columns; c++)
        grid_mean_column(rows, n, c, &out);
    for (size_t i = 0; i < n; i++) {
        out.sum += rows[i].sum;
        out.count += rows[i].count;
    }
    return out;
}
