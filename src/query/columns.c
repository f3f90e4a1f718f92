/* SPDX-License-Identifier: Apache-2.0 */
/* columns.c - see columns.h.
 *
 *     blocks of a store --block_groups--> one lane per group --fold--> floats of the current block
 *     rows of all lanes in order of time --sweepgrid--> sweeps of a batch
 *
 * A lane is one group of one recorder: its blocks one after the other, the current one decoded to
 * floats. Rows of all lanes are taken in order of time. The sweep that each row belongs to is
 * noted, and ranges of rows are copied when a block or a batch ends.
 *
 * Why every row is copied once, into the right sweep:
 *
 * - lane->row only grows, and a row gets its number in the batch (lane->to) in the same call.
 * - Rows [first, row) of a lane are numbered and not copied. A block is replaced, and a batch is
 *   handed out, only after they were copied. So numbers of a batch never outlive it.
 * - Numbers of a lane only grow within a batch, because rows are taken in order of time. */
#include "query/columns.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/block_cursor.h"
#include "query/sweepgrid.h"
#include "record/record.h"
#include "store/column.h"

/* ---- folding: several columns of a block become one of floats ----
 *
 * The busiest of 96 cores over a day is a maximum over 80 million values, so whole columns of small
 * numbers are folded by loops that the compiler vectorizes; columns with gaps or of wide numbers go
 * the slow way. */

enum fold { FOLD_NONE, FOLD_MAX, FOLD_MEAN, FOLD_SUM };

/* Buffers for decoding, one per thread, each for ROWS_MOST rows. */
struct fold_room {
    struct scan scan;
    int16_t *small; /* of whole columns of small numbers */
    uint32_t *sums;
    double *wide; /* of all others */
    uint32_t *counts;
};

/* Columns of a block that become one. */
struct fold_parts {
    const struct rows_block *block;
    const struct column *const *v;
    size_t n;
    enum fold fold;
};

enum { BYTE_VALUES = 256, SMALL_MOST = INT16_MAX };

static void fold_room_open(struct fold_room *m)
{
    scan_open(&m->scan);
    m->small = xmalloc(ROWS_MOST * sizeof *m->small);
    m->sums = xmalloc(ROWS_MOST * sizeof *m->sums);
    m->wide = xmalloc(ROWS_MOST * sizeof *m->wide);
    m->counts = xmalloc(ROWS_MOST * sizeof *m->counts);
}

static void fold_room_close(struct fold_room *m)
{
    scan_close(&m->scan);
    free(m->small);
    free(m->sums);
    free(m->wide);
    free(m->counts);
}

static bool fold_decode(struct fold_room *m, const struct column *c, struct codec_view *view)
{
    return slice_values(&m->scan, &(struct slice){.column = c}, view);
}

static double fold_value_at(const struct codec_view *v, uint32_t i)
{
    return v->narrow ? (double)v->base + v->v8[i] : (double)v->v64[i];
}

static void fold_fill(float *out, uint32_t n, float v)
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = v;
}

static void fold_fill_nan(float *out, uint32_t n)
{
    fold_fill(out, n, NAN);
}

/* All rows have one value, which is in its summary. */
static bool fold_is_constant(const struct rows_block *b, const struct column *c)
{
    return c->min == c->max && !c->has_gaps && c->count == b->rows && blob_whole(&c->values);
}

/* ---- one column ---- */

static uint8_t fold_highest_byte(const uint8_t *v, uint32_t n)
{
    uint8_t most = 0;
    for (uint32_t i = 0; i < n; i++)
        most = v[i] > most ? v[i] : most;
    return most;
}

static void fold_put_narrow(const struct codec_view *v, struct scale scale, uint32_t n, float *out)
{
    float worth[BYTE_VALUES];
    const uint8_t most = fold_highest_byte(v->v8, n);
    for (int i = 0; i <= most; i++)
        worth[i] = (float)scale_value(scale, (double)v->base + i);
    for (uint32_t i = 0; i < n; i++)
        out[i] = worth[v->v8[i]];
}

static void fold_put_wide(const struct codec_view *v, struct scale scale, uint32_t n, float *out)
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = (float)scale_value(scale, (double)v->v64[i]);
}

static void fold_put_one(struct fold_room *m, const struct rows_block *b, const struct column *c,
                         float *out)
{
    const struct scale scale = scale_of(c->step);
    struct codec_view v;
    if (fold_is_constant(b, c)) {
        fold_fill(out, b->rows, (float)scale_value(scale, (double)c->min));
        return;
    }
    if (c->has_gaps || c->count < b->rows)
        fold_fill_nan(out, b->rows);
    const uint32_t *rows = c->has_gaps ? scan_value_rows(&m->scan, c, b) : NULL;
    if ((c->has_gaps && !rows) || !fold_decode(m, c, &v)) {
        fold_fill_nan(out, b->rows);
        return;
    }
    if (!c->has_gaps && v.narrow)
        fold_put_narrow(&v, scale, c->count, out + c->first_row);
    else if (!c->has_gaps)
        fold_put_wide(&v, scale, c->count, out + c->first_row);
    for (uint32_t i = 0; c->has_gaps && i < c->count; i++)
        out[rows[i]] = (float)scale_value(scale, fold_value_at(&v, i));
}

/* ---- whole columns of small numbers ---- */

/* Small by its head. Values that contradict the head wrap: wrong numbers, nothing worse. */
static bool fold_is_small(const struct rows_block *b, const struct column *c, double step)
{
    return !c->has_gaps && c->first_row == 0 && c->count == b->rows && c->step == step &&
           c->min >= 0 && c->max <= SMALL_MOST;
}

static void fold_max_bytes(int16_t *restrict acc, const uint8_t *restrict v, uint32_t n,
                           int16_t base)
{
    for (uint32_t i = 0; i < n; i++) {
        const int16_t x = (int16_t)(base + v[i]);
        acc[i] = acc[i] > x ? acc[i] : x;
    }
}

static void fold_max_words(int16_t *restrict acc, const int64_t *restrict v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const int16_t x = (int16_t)v[i];
        acc[i] = acc[i] > x ? acc[i] : x;
    }
}

static void fold_sum_bytes(uint32_t *restrict acc, const uint8_t *restrict v, uint32_t n,
                           uint32_t base)
{
    for (uint32_t i = 0; i < n; i++)
        acc[i] += base + v[i];
}

static void fold_sum_words(uint32_t *restrict acc, const int64_t *restrict v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        acc[i] += (uint32_t)v[i];
}

static void fold_gather_small(struct fold_room *m, uint32_t rows, const struct codec_view *v,
                              enum fold fold)
{
    if (fold == FOLD_MAX && v->narrow)
        fold_max_bytes(m->small, v->v8, rows, (int16_t)v->base);
    else if (fold == FOLD_MAX)
        fold_max_words(m->small, v->v64, rows);
    else if (v->narrow)
        fold_sum_bytes(m->sums, v->v8, rows, (uint32_t)v->base);
    else
        fold_sum_words(m->sums, v->v64, rows);
}

static bool fold_all_small(const struct fold_parts *p)
{
    for (size_t k = 0; k < p->n; k++)
        if (!fold_is_small(p->block, p->v[k], p->v[0]->step))
            return false;
    return true;
}

static void fold_put_small(const struct fold_room *m, const struct fold_parts *p, float *out)
{
    const struct scale scale = scale_of(p->v[0]->step);
    const double parts = p->fold == FOLD_MEAN ? (double)p->n : 1;
    const uint32_t rows = p->block->rows;
    for (uint32_t i = 0; p->fold == FOLD_MAX && i < rows; i++)
        out[i] = (float)scale_value(scale, m->small[i]);
    for (uint32_t i = 0; p->fold != FOLD_MAX && i < rows; i++)
        out[i] = (float)(scale_value(scale, m->sums[i]) / parts);
}

/* False: there is one that cannot be taken so. */
static bool fold_small(struct fold_room *m, const struct fold_parts *p, float *out)
{
    if (!fold_all_small(p))
        return false;
    memset(m->small, 0, p->block->rows * sizeof *m->small);
    memset(m->sums, 0, p->block->rows * sizeof *m->sums);
    for (size_t k = 0; k < p->n; k++) {
        struct codec_view v;
        if (!fold_decode(m, p->v[k], &v))
            return false;
        fold_gather_small(m, p->block->rows, &v, p->fold);
    }
    fold_put_small(m, p, out);
    return true;
}

/* ---- any columns ---- */

static void fold_add_wide(struct fold_room *m, const struct rows_block *b, const struct column *c,
                          enum fold fold)
{
    const struct scale scale = scale_of(c->step);
    struct codec_view v;
    const uint32_t *rows = scan_value_rows(&m->scan, c, b);
    if (!rows || !fold_decode(m, c, &v))
        return;
    for (uint32_t i = 0; i < c->count; i++) {
        const uint32_t row = rows[i];
        const double x = scale_value(scale, fold_value_at(&v, i));
        if (fold == FOLD_MAX)
            m->wide[row] = m->counts[row] ? fmax(m->wide[row], x) : x;
        else
            m->wide[row] += x;
        m->counts[row]++;
    }
}

static void fold_wide(struct fold_room *m, const struct fold_parts *p, float *out)
{
    const struct rows_block *b = p->block;
    memset(m->wide, 0, b->rows * sizeof *m->wide);
    memset(m->counts, 0, b->rows * sizeof *m->counts);
    for (size_t k = 0; k < p->n; k++)
        fold_add_wide(m, b, p->v[k], p->fold);
    for (uint32_t i = 0; i < b->rows; i++) {
        const double parts = p->fold == FOLD_MEAN ? m->counts[i] : 1;
        out[i] = m->counts[i] ? (float)(m->wide[i] / parts) : NAN;
    }
}

/* `out` has room for the rows of the block; NAN is a row without a reading. Damaged columns are
 * left out. */
static void fold_columns(struct fold_room *m, const struct fold_parts *p, float *out)
{
    if (p->n == 1)
        fold_put_one(m, p->block, p->v[0], out);
    else if (!fold_small(m, p, out))
        fold_wide(m, p, out);
}

/* ---- what is read ---- */

enum { BATCH = 4096 };

/* The series of a store that an ask is made of, in the order in which they were first recorded. */
struct column_source {
    const struct store_series **v;
    size_t n;
    enum fold fold;
};

struct column_lane {
    struct block_group group;
    uint32_t next_block;
    uint32_t rows, row; /* of the current block; the next one to take */
    uint32_t first;     /* of the rows that have a sweep and are not copied yet */
    int64_t *times;     /* us */
    int64_t period_us;
    float **v;    /* by ask; NULL: not allocated yet */
    bool *has;    /* by ask: it is in this block */
    uint32_t *to; /* by row: its sweep in the batch */
    uint32_t cap; /* rows that there is room for */
};

struct column_room {
    wall_ns at[BATCH];
    float **batch;   /* by ask */
    const float **v; /* the same, or NULL where the node never had it */
};

struct columns {
    const struct run *run;
    const char *node;
    const struct column_ask *asks;
    size_t n_asks;
    struct fold_room room;
    struct column *heads; /* of a block, where the store does not cache them */
    const struct column **list;
    uint32_t cap_heads;
    size_t session; /* in run_info.nodes; the next to open */

    struct arena arena; /* of what follows: the session being read */
    const struct store *store;
    struct column_source *sources; /* by ask */
    struct column_lane *lanes;
    size_t n_lanes;
    struct sweepgrid grid;
    int64_t period_us; /* the shortest of the lanes now */

    struct column_room rooms[2]; /* in turns: the batch before stays valid while the next is made */
    struct column_room *now;
    size_t n;         /* sweeps of it */
    uint32_t *filled; /* by ask: sweeps of the batch that have a value or NAN */
    bool *ever;       /* by ask: the node had it */
};

/* ---- which series an ask is made of ---- */

static bool column_is_total(const struct store_series *s)
{
    return strcmp(s->entity, ENTITY_TOTAL) == 0;
}

static enum fold column_fold_of(const struct store *s, const struct column_ask *ask)
{
    if (ask->which == COLUMN_PEAK)
        return FOLD_MAX;
    if (ask->which != COLUMN_TOTAL)
        return FOLD_NONE;
    for (uint32_t i = 0; i < s->n_series; i++)
        if (strcmp(s->series[i].metric, ask->metric) == 0 && column_is_total(&s->series[i]))
            return FOLD_NONE;
    const enum metric_id m = metric_find(ask->metric);
    return m < METRIC_N && metrics[m].unit == UNIT_PERCENT ? FOLD_MEAN : FOLD_SUM;
}

static bool column_is_wanted(const struct column_ask *ask, enum fold fold,
                             const struct store_series *s)
{
    if (strcmp(ask->metric, s->metric) != 0)
        return false;
    switch (ask->which) {
    case COLUMN_ENTITY:
        return strcmp(ask->entity, s->entity) == 0;
    case COLUMN_TOTAL:
        return column_is_total(s) == (fold == FOLD_NONE);
    case COLUMN_PEAK:
        return !column_is_total(s);
    default:
        return true;
    }
}

static struct column_source column_source_of(const struct store *s, const struct column_ask *ask,
                                             struct arena *a)
{
    struct column_source out = {.fold = column_fold_of(s, ask)};
    const size_t most = ask->which == COLUMN_ONLY ? 1 : s->n_series;
    out.v = arena_array(a, const struct store_series *, s->n_series + 1);
    for (uint32_t i = 0; i < s->n_series && out.n < most; i++)
        if (column_is_wanted(ask, out.fold, &s->series[i]))
            out.v[out.n++] = &s->series[i];
    return out;
}

/* By block: whether an ask needs anything in it. Times of the others are not read. */
static bool *columns_used_blocks(struct columns *c)
{
    bool *used = arena_array(&c->arena, bool, c->store->n_blocks + 1);
    for (size_t k = 0; k < c->n_asks; k++)
        for (size_t i = 0; i < c->sources[k].n; i++)
            for (uint32_t r = 0; r < c->sources[k].v[i]->n_refs; r++)
                used[c->sources[k].v[i]->refs[r].block] = true;
    return used;
}

/* ---- lanes ---- */

static void lane_fit(struct columns *c, struct column_lane *l, uint32_t rows)
{
    l->rows = rows;
    if (rows <= l->cap)
        return;
    l->cap = rows;
    l->times = xrealloc(l->times, rows, sizeof *l->times);
    l->to = xrealloc(l->to, rows, sizeof *l->to);
    for (size_t k = 0; k < c->n_asks; k++) {
        free(l->v[k]);
        l->v[k] = NULL;
    }
}

/* The columns of a source in a block, in their order there, into c->list; returns how many. */
static size_t columns_list(struct columns *c, const struct column_source *from, uint32_t block,
                           const struct column *all)
{
    const uint32_t n_columns = c->store->blocks[block].n_columns;
    size_t n = 0;
    for (size_t i = 0; i < from->n; i++) {
        const struct store_series *s = from->v[i];
        for (size_t r = series_first_ref(s, block); r < s->n_refs && s->refs[r].block == block;
             r++) {
            const struct column *column = &all[s->refs[r].column];
            assert(s->refs[r].column < n_columns && n < n_columns);
            size_t at = n++;
            for (; at > 0 && c->list[at - 1] > column; at--)
                c->list[at] = c->list[at - 1];
            c->list[at] = column;
        }
    }
    return n;
}

static void lane_fill(struct columns *c, struct column_lane *l, uint32_t block)
{
    const struct rows_block *b = &c->store->blocks[block];
    if (b->n_columns > c->cap_heads) {
        c->cap_heads = b->n_columns;
        c->heads = xrealloc(c->heads, c->cap_heads, sizeof *c->heads);
        c->list = xrealloc(c->list, c->cap_heads, sizeof *c->list);
    }
    const struct column *all = block_columns_once(b, c->heads);
    for (size_t k = 0; k < c->n_asks; k++) {
        const size_t n = columns_list(c, &c->sources[k], block, all);
        l->has[k] = n > 0;
        if (n == 0)
            continue;
        if (!l->v[k])
            l->v[k] = xmalloc(l->cap * sizeof(float));
        const struct fold_parts parts = {b, c->list, n, c->sources[k].fold};
        fold_columns(&c->room, &parts, l->v[k]);
    }
}

/* The next block whose times can be read becomes the current one; without one row == rows. */
static void lane_load(struct columns *c, struct column_lane *l)
{
    assert(l->first == l->row); /* nothing of the block before is left to copy */
    l->rows = l->row = l->first = 0;
    while (l->next_block < l->group.n && l->rows == 0) {
        const uint32_t block = l->group.blocks[l->next_block++];
        const struct rows_block *b = &c->store->blocks[block];
        lane_fit(c, l, b->rows);
        l->period_us = MAX_OF(b->period_ns / NS_PER_US, 1);
        if (store_times(c->room.scan.codec, b, l->times))
            lane_fill(c, l, block);
        else
            l->rows = 0;
    }
}

static void columns_close_session(struct columns *c)
{
    for (size_t i = 0; i < c->n_lanes; i++) {
        struct column_lane *l = &c->lanes[i];
        for (size_t k = 0; k < c->n_asks; k++)
            free(l->v[k]);
        free(l->times);
        free(l->to);
    }
    arena_free(&c->arena);
    c->store = NULL;
    c->n_lanes = 0;
}

static bool columns_open_session(struct columns *c)
{
    const struct run_info *info = &c->run->info;
    struct block_group *groups;
    columns_close_session(c);
    while (c->session < info->n_nodes && !c->store) {
        const size_t i = c->session++;
        if (strcmp(info->nodes[i].id, c->node) == 0)
            c->store = c->run->stores[i];
    }
    if (!c->store)
        return false;
    c->sources = arena_array(&c->arena, struct column_source, c->n_asks + 1);
    for (size_t k = 0; k < c->n_asks; k++)
        c->sources[k] = column_source_of(c->store, &c->asks[k], &c->arena);
    c->n_lanes = block_groups(c->store, columns_used_blocks(c), &c->arena, &groups);
    c->lanes = arena_array(&c->arena, struct column_lane, c->n_lanes + 1);
    for (size_t i = 0; i < c->n_lanes; i++) {
        c->lanes[i].group = groups[i];
        c->lanes[i].v = arena_array(&c->arena, float *, c->n_asks + 1);
        c->lanes[i].has = arena_array(&c->arena, bool, c->n_asks + 1);
        lane_load(c, &c->lanes[i]);
    }
    return true;
}

/* ---- copying ---- */

/* A peak may come from several groups; of all else there is one value in a sweep. */
static void batch_copy_value(float *to, float v, bool peak)
{
    if (!peak || isnan(*to) || v > *to)
        *to = v;
}

/* Sweeps before `end` that nothing was copied to have nothing so far. */
static void batch_fill_to(struct columns *c, size_t ask, uint32_t end)
{
    for (; c->filled[ask] < end; c->filled[ask]++)
        c->now->batch[ask][c->filled[ask]] = NAN;
}

/* Values of sweeps one after the other. */
static void batch_copy_range(struct columns *c, size_t ask, uint32_t to, const float *v, uint32_t n)
{
    const bool peak = c->asks[ask].which == COLUMN_PEAK;
    assert(to + n <= c->n && c->n <= BATCH);
    float *batch = c->now->batch[ask];
    if (!peak || c->filled[ask] <= to) {
        batch_fill_to(c, ask, to);
        memcpy(batch + to, v, n * sizeof *v);
        c->filled[ask] = MAX_OF(c->filled[ask], to + n);
        return;
    }
    batch_fill_to(c, ask, to + n);
    for (uint32_t i = 0; i < n; i++)
        if (!isnan(v[i]))
            batch_copy_value(&batch[to + i], v[i], peak);
}

static void batch_copy_ask(struct columns *c, struct column_lane *l, uint32_t ask)
{
    const uint32_t first = l->first, n = l->row - first, *to = l->to + first;
    const bool whole = to[n - 1] - to[0] == n - 1;
    const float *v = l->v[ask] + first;
    if (whole) {
        batch_copy_range(c, ask, to[0], v, n);
        return;
    }
    batch_fill_to(c, ask, to[n - 1] + 1);
    for (uint32_t i = 0; i < n; i++)
        if (!isnan(v[i]))
            batch_copy_value(&c->now->batch[ask][to[i]], v[i], c->asks[ask].which == COLUMN_PEAK);
}

static void batch_copy_rows(struct columns *c, struct column_lane *l)
{
    for (uint32_t k = 0; l->first < l->row && k < c->n_asks; k++)
        if (l->has[k])
            batch_copy_ask(c, l, k);
    l->first = l->row;
}

static struct column_lane *columns_earliest_lane(const struct columns *c)
{
    struct column_lane *best = NULL;
    int64_t at = 0;
    for (struct column_lane *l = c->lanes; l < c->lanes + c->n_lanes; l++)
        if (l->row < l->rows && (!best || l->times[l->row] < at)) {
            best = l;
            at = l->times[l->row];
        }
    return best;
}

/* That of a lane that has ended still counts: the last rows of a run are like those before. */
static void columns_find_period(struct columns *c)
{
    c->period_us = INT64_MAX;
    for (size_t i = 0; i < c->n_lanes; i++)
        c->period_us = MIN_OF(c->period_us, c->lanes[i].period_us);
}

/* Another batch, empty. */
static void batch_clear(struct columns *c)
{
    c->n = 0;
    c->now = &c->rooms[c->now == &c->rooms[0]];
    memset(c->filled, 0, c->n_asks * sizeof *c->filled);
}

/* Takes the lane's next row. False: it begins a sweep that is not of this batch. */
static bool batch_take_row(struct columns *c, struct column_lane *l, int64_t period_us)
{
    const int64_t t = l->times[l->row];
    const unsigned group = (unsigned)(l - c->lanes);
    if ((c->n >= BATCH || (c->n && c->period_us != period_us)) &&
        sweepgrid_begins(&c->grid, group, t, period_us))
        return false;
    if (sweepgrid_row(&c->grid, group, t, period_us)) /* the first row of a batch does */
        c->now->at[c->n++] = store_wall(c->store, c->grid.at_us);
    assert(c->n > 0);
    l->to[l->row++] = (uint32_t)c->n - 1;
    return true;
}

/* As many sweeps as it takes; none: the recorder has no more. */
static void batch_fill(struct columns *c, int64_t *period_us)
{
    columns_find_period(c);
    *period_us = c->period_us;
    c->grid.begun = false; /* whatever comes next begins a sweep */
    for (struct column_lane *l; (l = columns_earliest_lane(c));) {
        if (!batch_take_row(c, l, *period_us))
            break;
        if (l->row < l->rows)
            continue;
        batch_copy_rows(c, l);
        lane_load(c, l);
        columns_find_period(c);
    }
    for (size_t i = 0; i < c->n_lanes; i++)
        batch_copy_rows(c, &c->lanes[i]);
    for (size_t k = 0; k < c->n_asks; k++)
        if (c->ever[k])
            batch_fill_to(c, k, (uint32_t)c->n);
}

bool columns_next(struct columns *c, struct column_batch *out)
{
    int64_t period_us = 0;
    batch_clear(c);
    while (c->n == 0) {
        if (!c->store && !columns_open_session(c))
            return false;
        batch_fill(c, &period_us);
        if (c->n == 0)
            c->store = NULL;
    }
    *out = (struct column_batch){c->n, c->now->at, period_us * NS_PER_US, c->now->v};
    return true;
}

/* ---- open and close ---- */

/* Whether any recorder of the node read what the ask wants. */
static bool columns_have(const struct columns *c, const struct column_ask *ask)
{
    const struct run_info *info = &c->run->info;
    bool found = false;
    struct arena scratch = {0};
    for (size_t i = 0; i < info->n_nodes && !found; i++)
        if (c->run->stores[i] && strcmp(info->nodes[i].id, c->node) == 0)
            found = column_source_of(c->run->stores[i], ask, &scratch).n > 0;
    arena_free(&scratch);
    return found;
}

static void column_room_open(struct column_room *m, const bool *ever, size_t n)
{
    m->batch = xcalloc(n, sizeof *m->batch);
    m->v = xcalloc(n, sizeof *m->v);
    for (size_t i = 0; i < n; i++)
        if (ever[i])
            m->v[i] = m->batch[i] = xmalloc(BATCH * sizeof(float));
}

static void column_room_close(struct column_room *m, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(m->batch[i]);
    free(m->batch);
    free(m->v);
}

int columns_open(struct columns **out, struct run *r, const char *node,
                 const struct column_ask *asks, size_t n, struct err *e)
{
    bool known = false;
    for (size_t i = 0; i < r->info.n_nodes; i++)
        known |= strcmp(r->info.nodes[i].id, node) == 0;
    if (!known)
        return err_set(e, ERR_NOT_FOUND, "run '%s' has no node '%s'", r->info.name, node);
    struct columns *c = xcalloc(1, sizeof *c);
    c->run = r;
    c->node = node;
    c->asks = asks;
    c->n_asks = n;
    c->filled = xcalloc(n, sizeof *c->filled);
    c->ever = xcalloc(n, sizeof *c->ever);
    for (size_t i = 0; i < n; i++)
        c->ever[i] = columns_have(c, &asks[i]);
    for (size_t k = 0; k < COUNT_OF(c->rooms); k++)
        column_room_open(&c->rooms[k], c->ever, n);
    fold_room_open(&c->room);
    *out = c;
    return 0;
}

void columns_close(struct columns *c)
{
    if (!c)
        return;
    columns_close_session(c);
    fold_room_close(&c->room);
    free(c->heads);
    free(c->list);
    for (size_t k = 0; k < COUNT_OF(c->rooms); k++)
        column_room_close(&c->rooms[k], c->n_asks);
    free(c->filled);
    free(c->ever);
    free(c);
}
