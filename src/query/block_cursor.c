/* SPDX-License-Identifier: Apache-2.0 */
/* block_cursor.c - see block_cursor.h.
 *
 * Why the readings of a window are complete and come once:
 *
 * - A series lists its columns (refs) by file and, in a file, in the order in which blocks were
 *   sealed. Blocks of a group do not overlap in time, so this is the order of time.
 * - A block is read when its first and last time meet the window. Both are exact: the writer stores
 *   the times of its first and last row. A block that does not meet it has no row in it.
 * - Windows are half open, and one conversion to the clock of the file is used for blocks and for
 *   rows. Two windows that touch therefore share no value and miss none.
 * - Value i of a column is in row first_row + i, or in rows[i] where it has gaps. Rows are in order
 *   of time, so the values of a window are one range, found by binary search over the times.
 * - What is damaged (a checksum does not match, or it does not decode) is left out as a whole:
 *   callers get a shorter list of slices, never values at other times.
 * - Refs of a series are sorted by block, because the store lists its columns block by block
 *   (catalog.c). A series that disappeared and came back while a block was made has two columns in
 *   it, of different rows.
 * - A summary of `unit` values is the minimum, maximum and sum that the writer made of exactly
 *   those values (column.c). Extents of summaries are therefore those of the values, to the last
 *   bit; only which column of a grid a summary falls into depends on its middle.
 *
 * Why a file with wrong contents and right checksums cannot lead outside of an array: catalog.c
 * checks that the rows of a column are rows of its block, and store_value_rows that there are
 * `count` of them, all below `rows`. Both searches of slice_cut stay within 0..count for any times.
 * If times are not in order, the slice may have other values than those of the window, but `from`
 * is not after `to`: of two binary searches of the same times, the one for the later time never
 * ends at an earlier row.
 *
 * Lifetimes and threads: a slice points into its store, and is valid until the run is closed or
 * store_forget frees columns. A struct scan belongs to one thread: its buffers are overwritten by
 * the next decoding. Times that it caches do not move or change until scan_close; another thread
 * may read them while none decodes with this scan (samples.c). */
#include "query/block_cursor.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "store/column.h"

/* ---- series ---- */

struct series_key series_key_of(const struct run_series *m, struct arena *a)
{
    return (struct series_key){
        .node = arena_strdup(a, m->node),
        .metric = arena_strdup(a, m->metric),
        .entity = arena_strdup(a, m->entity),
        .unit = arena_strdup(a, m->unit),
    };
}

static bool series_is_wanted(const struct run_series *m, const struct series_ask *asks, size_t n)
{
    const struct series_key k = {m->node, m->metric, m->entity, m->unit};
    return FIND_ANY(i, n, series_matches(&asks[i], &k));
}

size_t series_select(const struct run *r, const struct series_ask *asks, size_t n_asks,
                     struct arena *a, const struct run_series ***out)
{
    size_t n = 0;
    *out = arena_array(a, const struct run_series *, r->n_series + 1);
    for (size_t i = 0; i < r->n_series; i++)
        if (series_is_wanted(&r->series[i], asks, n_asks))
            (*out)[n++] = &r->series[i];
    return n;
}

/* ---- buffers ---- */

struct scan_times {
    const struct store *store;
    const int64_t **of_block; /* decoded times, NULL until needed */
};

void scan_open(struct scan *s)
{
    *s = (struct scan){.codec = codec_open()};
    s->v8 = xmalloc(ROWS_MOST + SCAN_PAD);
    s->v64 = xmalloc(ROWS_MOST * sizeof *s->v64);
}

void scan_close(struct scan *s)
{
    codec_close(s->codec);
    free(s->v8);
    free(s->v64);
    free(s->rows);
    for (int k = 0; k < 3; k++)
        free(s->level[k]);
    free(s->times);
    arena_free(&s->arena);
}

const uint32_t *scan_value_rows(struct scan *s, const struct column *c, const struct rows_block *b)
{
    if (!s->rows)
        s->rows = xmalloc(ROWS_MOST * sizeof *s->rows);
    return store_value_rows(s->codec, c, b->rows, s->rows) ? s->rows : NULL;
}

static struct scan_times *scan_times_of(struct scan *s, const struct store *store)
{
    for (size_t i = 0; i < s->n_times; i++)
        if (s->times[i].store == store)
            return &s->times[i];
    struct scan_times *t = VEC_ADD(s->times, s->n_times, s->cap_times);
    *t = (struct scan_times){store,
                             (const int64_t **)arena_array(&s->arena, int64_t *, store->n_blocks)};
    return t;
}

const int64_t *scan_times(struct scan *s, const struct store *store, const struct rows_block *b)
{
    if (s->once)
        return store_times(s->codec, b, s->v64) ? s->v64 : NULL;
    assert(b >= store->blocks && b < store->blocks + store->n_blocks);
    const int64_t **slot = &scan_times_of(s, store)->of_block[b - store->blocks];
    if (!*slot) {
        int64_t *t = arena_array(&s->arena, int64_t, b->rows);
        if (!store_times(s->codec, b, t))
            return NULL;
        *slot = t;
    }
    return *slot;
}

/* ---- blocks of a window ---- */

struct block_window block_window_of(const struct store *s, wall_ns from, wall_ns to)
{
    return (struct block_window){from.ns ? store_mono_us(s, from) : INT64_MIN,
                                 to.ns ? store_mono_us(s, to) : INT64_MAX};
}

struct block_cursor block_cursor_of(const struct run_series *m, wall_ns from, wall_ns to)
{
    return (struct block_cursor){.series = m, .from = from, .to = to};
}

bool block_cursor_next(struct block_cursor *c, struct slice *out)
{
    for (; c->part < c->series->n_parts; c->part++, c->ref = 0) {
        const struct series_part *p = &c->series->parts[c->part];
        if (c->ref == 0)
            c->window = block_window_of(p->store, c->from, c->to);
        while (c->ref < p->series->n_refs) {
            const uint32_t ref = c->ref++;
            assert(p->series->refs[ref].block < p->store->n_blocks);
            assert(ref == 0 || p->series->refs[ref - 1].block <= p->series->refs[ref].block);
            const struct rows_block *b = &p->store->blocks[p->series->refs[ref].block];
            if (!block_window_meets(&c->window, b))
                continue;
            out->store = p->store;
            out->block = b;
            assert(p->series->refs[ref].column < b->n_columns);
            out->column = &block_columns(b)[p->series->refs[ref].column];
            out->from = 0;
            out->to = out->column->count;
            out->part = (uint32_t)c->part;
            out->ref = ref;
            return true;
        }
    }
    return false;
}

/* First of n rows at or after t, us. */
static uint32_t slice_row_at(const int64_t *times, uint32_t n, int64_t t)
{
    return (uint32_t)SEARCH_FIRST(i, 0, n, times[i] < t);
}

/* First value at or after a row. */
static uint32_t slice_value_at(const struct column *c, const uint32_t *rows, uint32_t row)
{
    if (!c->has_gaps)
        return row <= c->first_row ? 0 : MIN_OF(row - c->first_row, c->count);
    uint32_t i = 0;
    while (i < c->count && rows[i] < row)
        i++;
    return i;
}

/* Leaves the values in the window. False: none, or the times are damaged. */
static bool slice_cut(struct scan *s, struct slice *sl, const struct block_window *w)
{
    const struct rows_block *b = sl->block;
    if (b->t_first_us >= w->from && b->t_last_us < w->to)
        return true;
    const int64_t *t = scan_times(s, sl->store, b);
    const uint32_t *rows = sl->column->has_gaps ? scan_value_rows(s, sl->column, b) : NULL;
    if (!t || (sl->column->has_gaps && !rows))
        return false;
    sl->from = slice_value_at(sl->column, rows, slice_row_at(t, b->rows, w->from));
    sl->to = slice_value_at(sl->column, rows, slice_row_at(t, b->rows, w->to));
    assert(w->from > w->to || sl->from <= sl->to);
    assert(sl->from <= sl->column->count && sl->to <= sl->column->count);
    return sl->from < sl->to;
}

struct slices slices_of(struct scan *s, const struct run_series *m, wall_ns from, wall_ns to,
                        struct arena *a)
{
    struct block_cursor c = block_cursor_of(m, from, to);
    size_t most = 0;
    for (size_t i = 0; i < m->n_parts; i++)
        most += m->parts[i].series->n_refs;
    struct slices out = {.v = arena_alloc_raw(a, most + 1, sizeof *out.v)};
    while (block_cursor_next(&c, &out.v[out.n])) {
        struct slice *sl = &out.v[out.n];
        if (!slice_cut(s, sl, &c.window))
            continue;
        out.values += sl->to - sl->from;
        out.n++;
        assert(out.n <= most);
    }
    return out;
}

bool slices_plain(const struct run_series *m, wall_ns from, wall_ns to)
{
    struct block_cursor c = block_cursor_of(m, from, to);
    for (struct slice sl; block_cursor_next(&c, &sl);)
        if (!column_is_plain(sl.column, sl.block))
            return false;
    return true;
}

/* ---- blocks of a group ---- */

static bool block_same_group(const struct rows_block *a, const struct rows_block *b)
{
    return a->group.n == b->group.n && memcmp(a->group.p, b->group.p, a->group.n) == 0;
}

size_t block_groups(const struct store *s, const bool *used, struct arena *a,
                    struct block_group **out)
{
    struct block_group *v = arena_array(a, struct block_group, s->n_blocks + 1);
    size_t n = 0;
    for (uint32_t i = 0; i < s->n_blocks; i++) {
        size_t k = 0;
        if (used && !used[i])
            continue;
        while (k < n && !block_same_group(&s->blocks[v[k].blocks[0]], &s->blocks[i]))
            k++;
        if (k == n)
            v[n++].blocks = arena_array(a, uint32_t, s->n_blocks - i);
        assert(v[k].n == 0 || v[k].blocks[v[k].n - 1] < i); /* there is room for those from i on */
        v[k].blocks[v[k].n++] = i;
    }
    *out = v;
    return n;
}

size_t series_first_ref(const struct store_series *s, uint32_t block)
{
    return SEARCH_FIRST(i, 0, s->n_refs, s->refs[i].block < block);
}

/* ---- times ---- */

int64_t block_grid_time(const struct rows_block *b, uint32_t row)
{
    assert(row < b->rows && row / b->l2 < b->n_t_l2);
    return b->t_l2_us[row / b->l2] + (int64_t)(row % b->l2) * (b->period_ns / NS_PER_US);
}

bool block_is_regular(const struct rows_block *b)
{
    const int64_t period = b->period_ns / NS_PER_US;
    for (uint32_t i = 0; i + 1 < b->n_t_l2; i++) {
        const int64_t off = b->t_l2_us[i + 1] - b->t_l2_us[i] - (int64_t)b->l2 * period;
        if (off > period || off < -period)
            return false;
    }
    const int64_t off = b->t_last_us - block_grid_time(b, b->rows - 1);
    return off <= period && off >= -period;
}

bool value_clock_open(struct scan *s, const struct slice *sl, bool by_grid, struct value_clock *out)
{
    *out = (struct value_clock){.block = sl->block, .first_row = sl->column->first_row};
    if (sl->column->has_gaps) {
        out->rows = scan_value_rows(s, sl->column, sl->block);
        if (!out->rows)
            return false;
    }
    if (by_grid)
        return true;
    out->times = scan_times(s, sl->store, sl->block);
    return out->times != NULL;
}

/* ---- values and summaries ---- */

bool slice_values(struct scan *s, const struct slice *in, struct codec_view *view)
{
    const struct column *c = in->column;
    return blob_whole(&c->values) &&
           codec_decode_view(s->codec, c->values.p, c->values.len, c->count, s->v8, s->v64, view);
}

static bool level_decode_one(struct scan *s, const struct slice *in, enum level level, int k)
{
    const struct column *c = in->column;
    const bool two = level == LEVEL_TWO;
    const uint32_t n = bucket_count(c->count, level_unit(in->block, level));
    assert(level != LEVEL_VALUES && n <= ROWS_MOST / 2); /* a unit has 2 values and more */
    if (!s->level[k])
        s->level[k] = xmalloc(ROWS_MOST / 2 * sizeof *s->level[k]);
    return (two || blob_whole(&c->level1[k])) &&
           codec_decode(s->codec, two ? c->level2[k] : c->level1[k].p,
                        two ? c->level2_len[k] : c->level1[k].len, n, s->level[k]);
}

bool level_decode(struct scan *s, const struct slice *in, enum level level, bool sums)
{
    return (sums || (level_decode_one(s, in, level, LEVEL_MIN) &&
                     level_decode_one(s, in, level, LEVEL_MAX))) &&
           level_decode_one(s, in, level, LEVEL_SUM);
}

/* ---- reducing ---- */

/* Bytes over a base. The compiler makes vector code of the loop; the sum of a block, 65536 x 255 at
 * most, fits. */
static struct extent extent_of_bytes(const uint8_t *v, uint32_t n, int64_t base)
{
    uint8_t lo = UINT8_MAX, hi = 0;
    uint32_t sum = 0;
    assert(n > 0 && n <= ROWS_MOST);
    for (uint32_t i = 0; i < n; i++) {
        lo = MIN_OF(lo, v[i]);
        hi = MAX_OF(hi, v[i]);
        sum += v[i];
    }
    const uint64_t b = (uint64_t)base;
    return (struct extent){(int64_t)(b + lo), (int64_t)(b + hi), (double)base * n + sum};
}

/* Sums are made as doubles: those of foreign numbers may not fit an integer. */
static struct extent extent_of_integers(const int64_t *v, uint32_t n)
{
    struct extent x = {v[0], v[0], 0};
    assert(n > 0);
    for (uint32_t i = 0; i < n; i++) {
        x.lo = MIN_OF(x.lo, v[i]);
        x.hi = MAX_OF(x.hi, v[i]);
        x.sum += (double)v[i];
    }
    return x;
}

static void extents_of_values(const struct codec_view *v, const struct unit_range *at, size_t n,
                              struct extent *out)
{
    for (size_t i = 0; i < n && v->narrow; i++)
        out[i] = extent_of_bytes(v->v8 + at[i].from, at[i].to - at[i].from, v->base);
    for (size_t i = 0; i < n && !v->narrow; i++)
        out[i] = extent_of_integers(v->v64 + at[i].from, at[i].to - at[i].from);
}

static uint32_t sum_of_bytes(const uint8_t *v, uint32_t n)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += v[i];
    return sum;
}

static void sums_of_values(const struct codec_view *v, const struct unit_range *at, size_t n,
                           struct extent *out)
{
    if (!v->narrow)
        extents_of_values(v, at, n, out);
    for (size_t i = 0; i < n && v->narrow; i++) {
        const uint32_t some = at[i].to - at[i].from;
        const uint32_t sum = sum_of_bytes(v->v8 + at[i].from, some);
        out[i] = (struct extent){.sum = (double)v->base * some + sum};
    }
}

static void extents_of_level(const struct scan *scan, const struct unit_range *at, size_t n,
                             struct extent *out)
{
    const int64_t *min = scan->level[LEVEL_MIN], *max = scan->level[LEVEL_MAX],
                  *sums = scan->level[LEVEL_SUM];
    for (size_t i = 0; i < n; i++) {
        assert(at[i].from < at[i].to);
        struct extent x = {min[at[i].from], max[at[i].from], (double)sums[at[i].from]};
        for (uint32_t k = at[i].from + 1; k < at[i].to; k++) {
            x.lo = MIN_OF(x.lo, min[k]);
            x.hi = MAX_OF(x.hi, max[k]);
            x.sum += (double)sums[k];
        }
        out[i] = x;
    }
}

static void sums_of_level(const struct scan *scan, const struct unit_range *at, size_t n,
                          struct extent *out)
{
    const int64_t *sums = scan->level[LEVEL_SUM];
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (uint32_t k = at[i].from; k < at[i].to; k++)
            sum += (double)sums[k];
        out[i] = (struct extent){.sum = sum};
    }
}

void extents_of(const struct scan *s, const struct codec_view *view, const struct unit_range *at,
                size_t n, bool sums, struct extent *out)
{
    if (view && sums)
        sums_of_values(view, at, n, out);
    else if (view)
        extents_of_values(view, at, n, out);
    else if (sums)
        sums_of_level(s, at, n, out);
    else
        extents_of_level(s, at, n, out);
}
