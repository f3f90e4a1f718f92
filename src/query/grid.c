/* SPDX-License-Identifier: Apache-2.0 */
/* grid.c - see grid.h.
 *
 * All columns of all series begin at the same moments, so their edges are turned into each file's
 * own clock once. Sums are made in the steps that the store counts in and become values at the
 * end. */
#include "query/grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/crew.h"
#include "query/grid_own.h"
#include "query/series_own.h"
#include "query/slices.h"

/* ---- where columns begin, on the clock of each file ---- */

struct stretches {
    enum level level;
    struct stretch *v; /* in order of time */
    size_t n;
};

struct edges {
    const struct store *store;
    int64_t *us; /* columns + 1 */
    /* By block, for series that have a value in every row: most of a group do, and then what is
     * found for one is good for all. NULL: none of them does. */
    struct stretches **plain;
};

/* What is the same for all series; once made, threads share it. */
struct plan {
    const struct grid_ask *ask;
    int64_t step_ns;
    size_t columns;
    struct scan scan; /* owns all below */
    struct edges *edges;
    size_t n_edges;
};

static const struct edges *edges_of(const struct plan *p, const struct store *store)
{
    for (size_t i = 0; i < p->n_edges; i++)
        if (p->edges[i].store == store)
            return &p->edges[i];
    return NULL;
}

static const struct edges *make_edges(struct plan *p, const struct store *store)
{
    const struct edges *known = edges_of(p, store);
    if (known)
        return known;
    int64_t *us = arena_array(&p->scan.arena, int64_t, p->columns + 1);
    for (size_t c = 0; c <= p->columns; c++)
        us[c] = store_mono_us(store, (wall_ns){p->ask->from.ns + (int64_t)c * p->step_ns});
    p->edges = xrealloc(p->edges, p->n_edges + 1, sizeof *p->edges);
    p->edges[p->n_edges] = (struct edges){
        store, us, arena_array(&p->scan.arena, struct stretches *, store->n_blocks + 1)};
    return &p->edges[p->n_edges++];
}

/* The last column that begins at or before t; edges[0] <= t. */
static size_t column_of(const int64_t *edges, size_t columns, int64_t t)
{
    size_t lo = 0, hi = columns;
    while (lo + 1 < hi) {
        const size_t mid = (lo + hi) / 2;
        if (edges[mid] <= t)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* ---- which part of a block lies in which column ---- */

struct piece {
    struct store *store;
    const struct rows_block *block;
    const struct column *column;
    const struct edges *edges;
    enum level level;
};

/* The pieces of a series that lie in the window, one after the other. */
struct pieces {
    const struct merged *series;
    size_t part;
    uint32_t ref;
};

static bool is_plain(const struct piece *p)
{
    return column_is_plain(p->column, p->block);
}

static bool level_fits(const struct plan *plan, const struct piece *p, enum level level)
{
    const bool regular = is_plain(p) && block_is_regular(p->block);
    return p->column->count >= level_unit(p->block, level) &&
           plan->step_ns >= level_step_least(p->block, level, regular);
}

static enum level level_for(const struct plan *plan, const struct piece *p)
{
    return level_fits(plan, p, LEVEL_TWO)   ? LEVEL_TWO
           : level_fits(plan, p, LEVEL_ONE) ? LEVEL_ONE
                                            : LEVEL_VALUES;
}

enum { AHEAD = 4 };

/* The columns of a series lie far apart in memory, a block each: what is needed of those to come is
 * fetched meanwhile. */
static void fetch_ahead(const struct store *store, const struct store_series *s, uint32_t ref)
{
    if (ref + 2 * AHEAD < s->n_refs) {
        const struct store_ref r = s->refs[ref + 2 * AHEAD];
        const struct column *c = &block_columns(&store->blocks[r.block])[r.column];
        __builtin_prefetch(&c->count);
        __builtin_prefetch(&c->has_gaps);
        __builtin_prefetch(c->level2);
        __builtin_prefetch(c->level2_len);
    }
    if (ref + AHEAD < s->n_refs) {
        const struct store_ref r = s->refs[ref + AHEAD];
        __builtin_prefetch(block_columns(&store->blocks[r.block])[r.column].level2[LEVEL_SUM]);
    }
}

/* False: there is no other. Its column is not looked at: the level is for the caller to choose. */
static bool next_piece(const struct plan *plan, struct pieces *at, struct piece *out)
{
    for (; at->part < at->series->n_parts; at->part++, at->ref = 0) {
        struct store *store = at->series->parts[at->part].store;
        const struct store_series *s = at->series->parts[at->part].series;
        const struct edges *edges = edges_of(plan, store);
        while (at->ref < s->n_refs) {
            const struct store_ref ref = s->refs[at->ref++];
            const struct rows_block *b = &store->blocks[ref.block];
            if (b->t_last_us < edges->us[0] || b->t_first_us >= edges->us[plan->columns])
                continue;
            *out = (struct piece){store, b, &block_columns(b)[ref.column], edges, LEVEL_VALUES};
            return true;
        }
    }
    return false;
}

/* When the rows of a block were read: all times, or the grid of a regular block. */
struct clocked {
    const struct rows_block *block;
    const int64_t *times; /* NULL: by the grid */
    const uint32_t *rows; /* of the values; NULL: no gaps */
    uint32_t first_row;
};

static int64_t value_time(const struct clocked *c, uint32_t value)
{
    const uint32_t row = c->rows ? c->rows[value] : c->first_row + value;
    return c->times ? c->times[row] : block_grid_time(c->block, row);
}

/* The first value from `i` on that is not read in [from, to), us. */
static uint32_t values_until(const struct clocked *c, uint32_t i, uint32_t n, int64_t from,
                             int64_t to)
{
    const int64_t *times = c->times + c->first_row;
    const uint64_t span = (uint64_t)to - (uint64_t)from;
    while (i < n && (uint64_t)times[i] - (uint64_t)from < span)
        i++;
    return i;
}

/* A summary counts for the column in which its middle lies. */
static struct stretches *find_stretches(const struct plan *plan, const struct piece *p,
                                        const struct clocked *clock, struct arena *a)
{
    const int64_t *edges = p->edges->us;
    const uint32_t unit = level_unit(p->block, p->level), count = p->column->count;
    const uint32_t n = bucket_count(count, unit);
    const bool many = unit == 1 && clock->times && !clock->rows;
    struct stretches *out = arena_new(a, struct stretches);
    out->level = p->level;
    out->v = arena_array(a, struct stretch, MIN_OF((size_t)n, plan->columns) + 1);
    size_t c = SIZE_MAX;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t values = MIN_OF(unit, count - i * unit);
        const int64_t t = value_time(clock, i * unit + values / 2);
        if (t < edges[0] || t >= edges[plan->columns])
            continue;
        if (c == SIZE_MAX)
            c = column_of(edges, plan->columns, t);
        while (edges[c + 1] <= t)
            c++;
        struct stretch *last = out->n ? &out->v[out->n - 1] : NULL;
        if (last && last->column == c)
            last->to = i + 1;
        else
            out->v[out->n++] = (struct stretch){(uint32_t)c, i, i + 1};
        if (many) {
            i = values_until(clock, i + 1, n, edges[0], edges[c + 1]) - 1;
            out->v[out->n - 1].to = i + 1;
        }
    }
    return out;
}

static bool by_grid(const struct piece *p)
{
    return p->level != LEVEL_VALUES && block_is_regular(p->block);
}

static struct stretches **plain_of(const struct piece *p)
{
    return &p->edges->plain[p->block - p->store->blocks];
}

/* Times are decoded for one block after the other, so none has to be kept. */
static void plan_piece(struct plan *plan, struct piece *p)
{
    struct clocked clock = {.block = p->block};
    if (*plain_of(p) || !is_plain(p))
        return;
    p->level = level_for(plan, p);
    if (!by_grid(p)) {
        clock.times = plan->scan.v64;
        if (!store_times(plan->scan.codec, p->block, plan->scan.v64))
            return;
    }
    *plain_of(p) = find_stretches(plan, p, &clock, &plan->scan.arena);
}

static void plan_series(struct plan *plan, const struct merged *m)
{
    struct pieces at = {.series = m};
    for (size_t i = 0; i < m->n_parts; i++)
        make_edges(plan, m->parts[i].store);
    for (struct piece p; next_piece(plan, &at, &p);)
        plan_piece(plan, &p);
}

/* ---- the row being made ---- */

/* The smallest and the largest of a column. */
struct ends {
    int64_t lo, hi;
};

/* One per thread. */
struct gridding {
    const struct plan *plan;
    struct scan scan;
    /* of the row being made, by column, in steps of the store */
    double *sum;
    struct ends *ends; /* NULL: means only */
    int32_t *count;    /* 0: what stands in the others is of no use */
    double step;
};

static void add_ends(struct gridding *g, const struct stretch *at, const struct extent *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const size_t c = at[i].column;
        struct ends *to = &g->ends[c];
        const bool first = g->count[c] == 0;
        to->lo = first || x[i].lo < to->lo ? x[i].lo : to->lo;
        to->hi = first || x[i].hi > to->hi ? x[i].hi : to->hi;
    }
}

/* `values` of them, at most, are in the block: the last unit may be short. */
static void add(struct gridding *g, const struct stretch *at, const struct extent *x, size_t n,
                uint32_t unit, uint32_t values)
{
    if (g->ends)
        add_ends(g, at, x, n);
    for (size_t i = 0; i < n; i++) {
        const size_t c = at[i].column;
        g->sum[c] = g->count[c] == 0 ? x[i].sum : g->sum[c] + x[i].sum;
        g->count[c] += (int32_t)(MIN_OF(at[i].to * unit, values) - at[i].from * unit);
    }
}

static void flush_ends(const struct gridding *g, struct scale s, struct grid_row *row)
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

/* What was added becomes values. A step that changes within a column, as when another version went
 * on with the run, leaves the column what was seen last. */
static void flush(struct gridding *g, struct grid_row *row)
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
        flush_ends(g, s, row);
    memset(g->count, 0, columns * sizeof *g->count);
}

/* NULL: damaged. */
static const struct stretches *stretches_of(struct gridding *g, const struct piece *p)
{
    const struct column *c = p->column;
    const struct stretches *planned = is_plain(p) ? *plain_of(p) : NULL;
    struct clocked clock = {.block = p->block, .first_row = c->first_row};
    if (planned && planned->level == p->level)
        return planned;
    if (!by_grid(p)) {
        clock.times = block_times(&g->scan, p->store, p->block);
        if (!clock.times)
            return NULL;
    }
    clock.rows = c->has_gaps ? scan_value_rows(&g->scan, c, p->block) : NULL;
    if (c->has_gaps && !clock.rows)
        return NULL;
    return find_stretches(g->plan, p, &clock, &g->scan.arena);
}

/* `view` NULL: from summaries that have been decoded. */
static void feed(struct gridding *g, const struct piece *p, const struct stretches *where,
                 const struct codec_view *view)
{
    const uint32_t unit = view ? 1 : level_unit(p->block, p->level);
    const bool ends = g->ends != NULL;
    struct extent x[EXTENTS_AT_ONCE];
    for (size_t i = 0, n; i < where->n; i += n) {
        n = MIN_OF(where->n - i, (size_t)EXTENTS_AT_ONCE);
        if (view && ends)
            extents_of_values(view, where->v + i, n, x);
        else if (view)
            sums_of_values(view, where->v + i, n, x);
        else if (ends)
            extents_of_level(&g->scan, where->v + i, n, x);
        else
            sums_of_level(&g->scan, where->v + i, n, x);
        add(g, where->v + i, x, n, unit, p->column->count);
    }
}

static bool feed_summaries(struct gridding *g, const struct piece *p)
{
    const struct stretches *where = stretches_of(g, p);
    const bool read = g->ends ? level_decode(&g->scan, p->block, p->column, p->level)
                              : level_decode_sums(&g->scan, p->block, p->column, p->level);
    if (!where || !read)
        return false;
    feed(g, p, where, NULL);
    return true;
}

static void feed_values(struct gridding *g, const struct piece *p)
{
    const struct slice whole = {p->store, p->block, p->column, 0, p->column->count};
    const struct stretches *where = stretches_of(g, p);
    struct codec_view view;
    if (where && where->n && slice_values(&g->scan, &whole, &view))
        feed(g, p, where, &view);
}

static void read_row(struct gridding *g, const struct merged *m, struct grid_row *row)
{
    struct pieces at = {.series = m};
    g->step = 0;
    for (struct piece p; next_piece(g->plan, &at, &p);) {
        fetch_ahead(p.store, m->parts[at.part].series, at.ref);
        p.level = level_for(g->plan, &p);
        if (g->step != 0 && p.column->step != g->step)
            flush(g, row);
        g->step = p.column->step;
        if (p.level != LEVEL_VALUES && feed_summaries(g, &p))
            continue;
        p.level = LEVEL_VALUES;
        feed_values(g, &p);
    }
    flush(g, row);
}

/* ---- all of them ---- */

static size_t row_room(size_t columns, bool ends)
{
    return columns * (ends ? 3 : 1);
}

/* An empty row; `room` is for row_room columns. */
static struct grid_row new_row(const struct series_key *k, size_t columns, bool ends, float *room)
{
    for (size_t i = 0; i < row_room(columns, ends); i++)
        room[i] = NAN;
    return (struct grid_row){
        .key = *k,
        .mean = room,
        .min = ends ? room + columns : NULL,
        .max = ends ? room + 2 * columns : NULL,
    };
}

static int64_t step_of(const struct grid_ask *ask, size_t columns)
{
    const int64_t span = ask->to.ns - ask->from.ns, n = (int64_t)columns;
    return MAX_OF(span / n + (span % n > 0), (int64_t)1);
}

enum { ROWS_EACH = 16 };

/* Shared by the threads of one query. */
struct batch {
    const struct plan *plan;
    const struct merged **list;
    struct grid_row *out;
    float *room; /* of all rows, one after the other */
};

static void work(struct crew *c, struct arena *results)
{
    const struct batch *b = c->ctx;
    const size_t columns = b->plan->columns;
    const bool ends = !b->plan->ask->means_only;
    struct gridding g = {.plan = b->plan};
    scan_open(&g.scan);
    g.sum = arena_array(&g.scan.arena, double, columns);
    g.ends = ends ? arena_array(&g.scan.arena, struct ends, columns) : NULL;
    g.count = arena_array(&g.scan.arena, int32_t, columns);
    for (size_t i; crew_next(c, &i);) {
        const struct series_key key = series_key_of(b->list[i], results);
        b->out[i] = new_row(&key, columns, ends, b->room + i * row_room(columns, ends));
        read_row(&g, b->list[i], &b->out[i]);
    }
    scan_close(&g.scan);
}

int grid_read(struct run *r, const struct grid_ask *ask, struct arena *a, struct grid *out,
              struct err *e)
{
    if (ask->columns == 0 || ask->columns > GRID_COLUMNS_MOST || ask->to.ns <= ask->from.ns)
        return err_set(e, ERR_USAGE, "a time window in 1 to %d columns is required",
                       GRID_COLUMNS_MOST);
    struct plan plan = {.ask = ask};
    struct batch b = {.plan = &plan};
    const size_t n = series_select(r, ask->which, ask->n_which, a, &b.list);
    plan.columns = n ? grid_columns_for(ask, b.list[0], n) : ask->columns;
    plan.step_ns = step_of(ask, plan.columns);
    *out = (struct grid){ask->from, ask->to, plan.step_ns, plan.columns, NULL, n};
    b.out = out->rows = arena_array(a, struct grid_row, n + 1);
    if (n == 0)
        return 0;
    b.room = arena_alloc_raw(a, n * row_room(plan.columns, !ask->means_only), sizeof *b.room);
    scan_open(&plan.scan);
    for (size_t i = 0; i < n; i++)
        plan_series(&plan, b.list[i]);
    struct crew crew = {.n = n, .each = ROWS_EACH, .work = work, .ctx = &b};
    crew_run(&crew, a);
    scan_close(&plan.scan);
    free(plan.edges);
    return 0;
}

/* ---- means ---- */

double grid_row_mean(const struct grid_row *row)
{
    return row->count ? row->sum / (double)row->count : NAN;
}

static bool same_metric(const struct grid_row *a, const struct grid_row *b)
{
    return strcmp(a->key.node, b->key.node) == 0 && strcmp(a->key.metric, b->key.metric) == 0;
}

static void mean_column(const struct grid_row *rows, size_t n, size_t c, struct grid_row *out)
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
    for (; first + n < g->n && same_metric(rows, &rows[n]); n++)
        if (strcmp(rows[n].key.entity, ENTITY_TOTAL) == 0)
            return rows[n];
    struct grid_row out =
        new_row(&rows->key, g->columns, true, arena_array(a, float, row_room(g->columns, true)));
    for (size_t c = 0; c < g->columns; c++)
        mean_column(rows, n, c, &out);
    for (size_t i = 0; i < n; i++) {
        out.sum += rows[i].sum;
        out.count += rows[i].count;
    }
    return out;
}
