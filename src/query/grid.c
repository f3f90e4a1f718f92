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
#include "query/slices.h"

/* ---- where columns begin, on the clock of each file ---- */

/* Units (values or summary buckets) from..to of a block lie in a column. */
struct stretch {
    uint32_t column, from, to;
};

struct stretches {
    struct stretch *v; /* in order of time */
    size_t n;
};

enum level { LEVEL_VALUES, LEVEL_ONE, LEVEL_TWO, LEVELS };

struct edges {
    const struct store *store;
    int64_t *us; /* columns + 1 */
    /* By block and level, for series that have a value in every row: most of a group do, and then
     * what is found for one is good for all. NULL until needed. */
    struct stretches **plain;
};

struct gridding {
    const struct grid_ask *ask;
    int64_t step_ns;
    size_t columns;
    struct scan scan;
    struct edges *edges;
    size_t n_edges;
    /* of the row being made, by column, in steps of the store */
    int64_t *lo, *hi, *sum;
    uint32_t *count;
    double step;
};

static const struct edges *edges_of(struct gridding *g, const struct store *store)
{
    for (size_t i = 0; i < g->n_edges; i++)
        if (g->edges[i].store == store)
            return &g->edges[i];
    int64_t *us = arena_array(&g->scan.arena, int64_t, g->columns + 1);
    for (size_t c = 0; c <= g->columns; c++)
        us[c] = store_mono_us(store, (wall_ns){g->ask->from.ns + (int64_t)c * g->step_ns});
    g->edges = xrealloc(g->edges, g->n_edges + 1, sizeof *g->edges);
    g->edges[g->n_edges] = (struct edges){
        store, us, arena_array(&g->scan.arena, struct stretches *, store->n_blocks * LEVELS)};
    return &g->edges[g->n_edges++];
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

/* ---- the row being made ---- */

static void add(struct gridding *g, size_t c, int64_t lo, int64_t hi, int64_t sum, uint32_t n)
{
    if (g->count[c] == 0) {
        g->lo[c] = lo;
        g->hi[c] = hi;
        g->sum[c] = 0;
    }
    g->lo[c] = MIN_OF(g->lo[c], lo);
    g->hi[c] = MAX_OF(g->hi[c], hi);
    g->sum[c] = (int64_t)((uint64_t)g->sum[c] + (uint64_t)sum);
    g->count[c] += n;
}

/* What was added becomes values. A step that changes within a column, as when another version went
 * on with the run, leaves the column what was seen last. */
static void flush(struct gridding *g, struct grid_row *row)
{
    const struct scale s = scale_of(g->step);
    for (size_t c = 0; c < g->columns; c++) {
        if (g->count[c] == 0)
            continue;
        row->mean[c] = (float)(scale_value(s, (double)g->sum[c]) / (double)g->count[c]);
        row->min[c] = (float)scale_value(s, (double)g->lo[c]);
        row->max[c] = (float)scale_value(s, (double)g->hi[c]);
        g->count[c] = 0;
    }
}

/* ---- which part of a block lies in which column ---- */

struct piece {
    struct store *store;
    const struct rows_block *block;
    const struct column *column;
    const struct edges *edges;
    enum level level;
};

static uint32_t unit_of(const struct piece *p)
{
    return p->level == LEVEL_TWO ? p->block->l2 : p->level == LEVEL_ONE ? p->block->l1 : 1;
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

/* A bucket counts for the column in which its middle lies. */
static struct stretches *find_stretches(struct gridding *g, const struct piece *p,
                                        const struct clocked *clock)
{
    const int64_t *edges = p->edges->us;
    const uint32_t unit = unit_of(p), count = p->column->count, n = bucket_count(count, unit);
    struct stretches *out = arena_new(&g->scan.arena, struct stretches);
    out->v = arena_array(&g->scan.arena, struct stretch, MIN_OF((size_t)n, g->columns) + 1);
    size_t c = SIZE_MAX;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t values = MIN_OF(unit, count - i * unit);
        const int64_t t = value_time(clock, i * unit + values / 2);
        if (t < edges[0] || t >= edges[g->columns])
            continue;
        if (c == SIZE_MAX)
            c = column_of(edges, g->columns, t);
        while (edges[c + 1] <= t)
            c++;
        struct stretch *last = out->n ? &out->v[out->n - 1] : NULL;
        if (last && last->column == c)
            last->to = i + 1;
        else
            out->v[out->n++] = (struct stretch){(uint32_t)c, i, i + 1};
    }
    return out;
}

/* NULL: damaged. */
static const struct stretches *stretches_of(struct gridding *g, const struct piece *p)
{
    const struct column *c = p->column;
    const bool plain = !c->has_gaps && c->first_row == 0 && c->count == p->block->rows;
    struct stretches **kept =
        &p->edges->plain[(size_t)(p->block - p->store->blocks) * LEVELS + p->level];
    struct clocked clock = {.block = p->block, .first_row = c->first_row};
    if (plain && *kept)
        return *kept;
    if (p->level == LEVEL_VALUES || !block_is_regular(p->block)) {
        clock.times = block_times(&g->scan, p->store, p->block);
        if (!clock.times)
            return NULL;
    }
    if (c->has_gaps && !store_value_rows(g->scan.codec, c, p->block->rows, g->scan.rows))
        return NULL;
    clock.rows = c->has_gaps ? g->scan.rows : NULL;
    struct stretches *out = find_stretches(g, p, &clock);
    if (plain)
        *kept = out;
    return out;
}

/* ---- by summaries, by values ---- */

static bool decode_level(struct gridding *g, const struct piece *p)
{
    const struct column *c = p->column;
    const bool two = p->level == LEVEL_TWO;
    const uint32_t n = bucket_count(c->count, unit_of(p));
    for (int k = 0; k < 3; k++)
        if ((!two && !blob_whole(&c->level1[k])) ||
            !codec_decode(g->scan.codec, two ? c->level2[k] : c->level1[k].p,
                          two ? c->level2_len[k] : c->level1[k].len, n, g->scan.level[k]))
            return false;
    return true;
}

static void add_buckets(struct gridding *g, const struct stretch *s, uint32_t values)
{
    const int64_t *min = g->scan.level[LEVEL_MIN], *max = g->scan.level[LEVEL_MAX],
                  *sums = g->scan.level[LEVEL_SUM];
    int64_t lo = min[s->from], hi = max[s->from];
    uint64_t sum = 0;
    for (uint32_t i = s->from; i < s->to; i++) {
        lo = MIN_OF(lo, min[i]);
        hi = MAX_OF(hi, max[i]);
        sum += (uint64_t)sums[i];
    }
    add(g, s->column, lo, hi, (int64_t)sum, values);
}

static bool feed_buckets(struct gridding *g, const struct piece *p)
{
    const struct stretches *where = stretches_of(g, p);
    const uint32_t unit = unit_of(p);
    if (!where || !decode_level(g, p))
        return false;
    for (size_t i = 0; i < where->n; i++) {
        const struct stretch *s = &where->v[i];
        add_buckets(g, s, MIN_OF(s->to * unit, p->column->count) - s->from * unit);
    }
    return true;
}

static void add_narrow(struct gridding *g, size_t c, const uint8_t *v, uint32_t n, int64_t base)
{
    uint8_t lo = 255, hi = 0;
    uint32_t sum = 0; /* at most 65536 x 255 */
    for (uint32_t i = 0; i < n; i++) {
        lo = MIN_OF(lo, v[i]);
        hi = MAX_OF(hi, v[i]);
        sum += v[i];
    }
    const uint64_t b = (uint64_t)base;
    add(g, c, (int64_t)(b + lo), (int64_t)(b + hi), (int64_t)(b * n + sum), n);
}

static void add_wide(struct gridding *g, size_t c, const int64_t *v, uint32_t n)
{
    int64_t lo = v[0], hi = v[0];
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        lo = MIN_OF(lo, v[i]);
        hi = MAX_OF(hi, v[i]);
        sum += (uint64_t)v[i];
    }
    add(g, c, lo, hi, (int64_t)sum, n);
}

static void feed_values(struct gridding *g, const struct piece *p)
{
    const struct slice whole = {p->store, p->block, p->column, 0, p->column->count};
    const struct stretches *where = stretches_of(g, p);
    struct codec_view view;
    if (!where || where->n == 0 || !slice_values(&g->scan, &whole, &view))
        return;
    for (size_t i = 0; i < where->n; i++) {
        const struct stretch *s = &where->v[i];
        if (view.narrow)
            add_narrow(g, s->column, view.v8 + s->from, s->to - s->from, view.base);
        else
            add_wide(g, s->column, view.v64 + s->from, s->to - s->from);
    }
}

/* ---- a series ---- */

/* Buckets are used as long as at least one begins in every column. */
static bool buckets_fit(const struct gridding *g, const struct piece *p, enum level level)
{
    const struct piece at = {.block = p->block, .level = level};
    const int64_t unit = unit_of(&at);
    return p->column->count >= unit && 4 * g->step_ns >= 5 * p->block->period_ns * unit;
}

static void feed_piece(struct gridding *g, struct piece *p)
{
    p->level = buckets_fit(g, p, LEVEL_TWO)   ? LEVEL_TWO
               : buckets_fit(g, p, LEVEL_ONE) ? LEVEL_ONE
                                              : LEVEL_VALUES;
    if (p->level != LEVEL_VALUES && feed_buckets(g, p))
        return;
    p->level = LEVEL_VALUES;
    feed_values(g, p);
}

static void read_row(struct gridding *g, const struct merged *m, struct grid_row *row)
{
    g->step = 0;
    for (size_t i = 0; i < m->n_parts; i++) {
        struct store *store = m->parts[i].store;
        const struct edges *edges = edges_of(g, store);
        for (uint32_t k = 0; k < m->parts[i].series->n_refs; k++) {
            const struct store_ref ref = m->parts[i].series->refs[k];
            const struct rows_block *b = &store->blocks[ref.block];
            if (b->t_last_us < edges->us[0] || b->t_first_us >= edges->us[g->columns])
                continue;
            struct piece p = {store, b, &b->columns[ref.column], edges, LEVEL_VALUES};
            if (p.column->step != g->step)
                flush(g, row);
            g->step = p.column->step;
            feed_piece(g, &p);
        }
    }
    flush(g, row);
}

/* ---- all of them ---- */

static bool wanted(const struct grid_ask *ask, const struct merged *m)
{
    const struct series_key k = {m->node, m->metric, m->entity, m->unit};
    for (size_t i = 0; i < ask->n_which; i++)
        if (series_matches(&ask->which[i], &k))
            return true;
    return false;
}

static float *empty_columns(size_t n, struct arena *a)
{
    float *v = arena_array(a, float, n);
    for (size_t i = 0; i < n; i++)
        v[i] = NAN;
    return v;
}

static struct grid_row new_row(const struct series_key *k, size_t columns, struct arena *a)
{
    return (struct grid_row){
        .key = {arena_strdup(a, k->node), arena_strdup(a, k->metric), arena_strdup(a, k->entity),
                arena_strdup(a, k->unit)},
        .mean = empty_columns(columns, a),
        .min = empty_columns(columns, a),
        .max = empty_columns(columns, a),
    };
}

static int64_t step_of(const struct grid_ask *ask)
{
    const int64_t span = ask->to.ns - ask->from.ns, n = (int64_t)ask->columns;
    return MAX_OF(span / n + (span % n > 0), (int64_t)1);
}

static void gridding_open(struct gridding *g, const struct grid_ask *ask)
{
    *g = (struct gridding){.ask = ask, .columns = ask->columns, .step_ns = step_of(ask)};
    scan_open(&g->scan);
    g->lo = arena_array(&g->scan.arena, int64_t, g->columns);
    g->hi = arena_array(&g->scan.arena, int64_t, g->columns);
    g->sum = arena_array(&g->scan.arena, int64_t, g->columns);
    g->count = arena_array(&g->scan.arena, uint32_t, g->columns);
}

enum { ROWS_EACH = 16 };

/* Shared by the threads of one query. */
struct batch {
    const struct grid_ask *ask;
    const struct merged **list;
    struct grid_row *out;
};

static void work(struct crew *c, struct arena *results)
{
    const struct batch *b = c->ctx;
    struct gridding g;
    gridding_open(&g, b->ask);
    for (size_t i; crew_next(c, &i);) {
        const struct merged *m = b->list[i];
        b->out[i] = new_row(&(struct series_key){m->node, m->metric, m->entity, m->unit},
                            b->ask->columns, results);
        read_row(&g, m, &b->out[i]);
    }
    free(g.edges);
    scan_close(&g.scan);
}

int grid_read(struct run *r, const struct grid_ask *ask, struct arena *a, struct grid *out,
              struct err *e)
{
    if (ask->columns == 0 || ask->columns > GRID_COLUMNS_MOST || ask->to.ns <= ask->from.ns)
        return err_set(e, ERR_USAGE, "a window of time in 1 to %d columns is needed",
                       GRID_COLUMNS_MOST);
    *out = (struct grid){ask->from, ask->to, step_of(ask), ask->columns, NULL, 0};
    const struct merged **list = arena_array(a, const struct merged *, r->n_series + 1);
    for (size_t i = 0; i < r->n_series; i++)
        if (wanted(ask, &r->series[i]))
            list[out->n++] = &r->series[i];
    out->rows = arena_array(a, struct grid_row, out->n + 1);
    struct batch b = {ask, list, out->rows};
    struct crew crew = {.n = out->n, .each = ROWS_EACH, .work = work, .ctx = &b};
    if (out->n)
        crew_run(&crew, a);
    return 0;
}

/* ---- means ---- */

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
    struct grid_row out = new_row(&rows->key, g->columns, a);
    for (size_t c = 0; c < g->columns; c++)
        mean_column(rows, n, c, &out);
    return out;
}
