/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - see rows.h. */
#include "query/rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/block_cursor.h"
#include "record/group.h"
#include "store/column.h"

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
    for (size_t i = 0; i < n; i++)
        if (cells[i] != CELL_MISSING)
            return true;
    return false;
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

static bool rows_group_is_known(const struct store *s, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (block_same_group(&s->blocks[k], &s->blocks[i]))
            return true;
    return false;
}

/* All blocks of the group that block `first` is the first of. */
static int rows_walk_group(struct rows_walk *w, uint32_t first, struct err *e)
{
    int rc = 0;
    for (uint32_t i = first; rc == 0 && i < w->store->n_blocks; i++) {
        struct rows_cells b = {.from = &w->store->blocks[i]};
        if (block_same_group(&w->store->blocks[first], b.from) &&
            block_window_meets(&w->window, b.from))
            rc = rows_emit_block(w, &b, e);
        arena_free(&b.arena);
    }
    return rc;
}

static int rows_walk_store(struct rows_walk *w, struct err *e)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < w->store->n_blocks; i++)
        if (!rows_group_is_known(w->store, i))
            rc = rows_walk_group(w, i, e);
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
