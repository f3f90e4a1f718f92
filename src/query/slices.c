/* SPDX-License-Identifier: Apache-2.0 */
/* slices.c - which values of which blocks lie in a window of time. */
#include "query/slices.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/reduce.h"

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

int64_t *scan_level(struct scan *s, int k)
{
    if (!s->level[k])
        s->level[k] = xmalloc(ROWS_MOST / 2 * sizeof *s->level[k]);
    return s->level[k];
}

const uint32_t *scan_value_rows(struct scan *s, const struct column *c, const struct rows_block *b)
{
    if (!s->rows)
        s->rows = xmalloc(ROWS_MOST * sizeof *s->rows);
    return store_value_rows(s->codec, c, b->rows, s->rows) ? s->rows : NULL;
}

static struct scan_times *times_of(struct scan *s, const struct store *store)
{
    for (size_t i = 0; i < s->n_times; i++)
        if (s->times[i].store == store)
            return &s->times[i];
    s->times = xrealloc(s->times, s->n_times + 1, sizeof *s->times);
    s->times[s->n_times] = (struct scan_times){
        store, (const int64_t **)arena_array(&s->arena, int64_t *, store->n_blocks)};
    return &s->times[s->n_times++];
}

const int64_t *block_times(struct scan *s, struct store *store, const struct rows_block *b)
{
    if (s->once)
        return store_times(s->codec, b, s->v64) ? s->v64 : NULL;
    const int64_t **slot = &times_of(s, store)->of_block[b - store->blocks];
    if (!*slot) {
        int64_t *t = arena_array(&s->arena, int64_t, b->rows);
        if (!store_times(s->codec, b, t))
            return NULL;
        *slot = t;
    }
    return *slot;
}

int64_t block_grid_time(const struct rows_block *b, uint32_t row)
{
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

uint32_t row_at(const int64_t *times, uint32_t n, int64_t t)
{
    uint32_t lo = 0, hi = n;
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (times[mid] < t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* First value at or after a row. */
static uint32_t value_at(const struct column *c, const uint32_t *rows, uint32_t row)
{
    if (!c->has_gaps)
        return row <= c->first_row ? 0 : MIN_OF(row - c->first_row, c->count);
    uint32_t i = 0;
    while (i < c->count && rows[i] < row)
        i++;
    return i;
}

/* On the clock of a file. */
struct window_us {
    int64_t from, to;
};

static struct window_us window_of(const struct store *s, wall_ns from, wall_ns to)
{
    return (struct window_us){from.ns ? store_mono_us(s, from) : INT64_MIN,
                              to.ns ? store_mono_us(s, to) : INT64_MAX};
}

static bool meets(const struct rows_block *b, const struct window_us *w)
{
    return b->t_last_us >= w->from && b->t_first_us < w->to;
}

static bool cut(struct scan *s, struct slice *sl, const struct window_us *w)
{
    const struct rows_block *b = sl->block;
    if (!meets(b, w))
        return false;
    sl->from = 0;
    sl->to = sl->column->count;
    if (b->t_first_us >= w->from && b->t_last_us < w->to)
        return true;
    const int64_t *t = block_times(s, sl->store, b);
    const uint32_t *rows = sl->column->has_gaps ? scan_value_rows(s, sl->column, b) : NULL;
    if (!t || (sl->column->has_gaps && !rows))
        return false;
    sl->from = value_at(sl->column, rows, row_at(t, b->rows, w->from));
    sl->to = value_at(sl->column, rows, row_at(t, b->rows, w->to));
    return sl->from < sl->to;
}

enum { AHEAD = 8 };

/* The columns of a series lie far apart in memory, a block each: what is looked at of those to come
 * is fetched meanwhile. */
static void fetch_ahead(const struct part *p, uint32_t k)
{
    if (k + AHEAD >= p->series->n_refs)
        return;
    const struct store_ref ref = p->series->refs[k + AHEAD];
    const struct column *c = &block_columns(&p->store->blocks[ref.block])[ref.column];
    __builtin_prefetch(&c->count);
    __builtin_prefetch(&c->has_gaps);
}

struct slices slices_of(struct scan *s, const struct merged *m, wall_ns from, wall_ns to,
                        struct arena *a)
{
    size_t most = 0;
    for (size_t i = 0; i < m->n_parts; i++)
        most += m->parts[i].series->n_refs;
    struct slices out = {.v = arena_alloc_raw(a, most + 1, sizeof *out.v)};
    for (size_t i = 0; i < m->n_parts; i++) {
        struct store *store = m->parts[i].store;
        const struct window_us w = window_of(store, from, to);
        for (uint32_t k = 0; k < m->parts[i].series->n_refs; k++) {
            const struct store_ref ref = m->parts[i].series->refs[k];
            struct slice *sl = &out.v[out.n];
            fetch_ahead(&m->parts[i], k);
            sl->store = store;
            sl->block = &store->blocks[ref.block];
            sl->column = &block_columns(sl->block)[ref.column];
            sl->part = (uint32_t)i;
            sl->ref = k;
            if (!cut(s, sl, &w))
                continue;
            out.values += sl->to - sl->from;
            out.n++;
        }
    }
    return out;
}

bool slices_plain(const struct merged *m, wall_ns from, wall_ns to)
{
    for (size_t i = 0; i < m->n_parts; i++) {
        const struct part *part = &m->parts[i];
        const struct window_us w = window_of(part->store, from, to);
        for (uint32_t k = 0; k < part->series->n_refs; k++) {
            const struct store_ref ref = part->series->refs[k];
            const struct rows_block *b = &part->store->blocks[ref.block];
            if (meets(b, &w) && !column_is_plain(&block_columns(b)[ref.column], b))
                return false;
        }
    }
    return true;
}

bool slice_values(struct scan *s, const struct slice *in, struct codec_view *view)
{
    const struct column *c = in->column;
    return blob_whole(&c->values) &&
           codec_decode_view(s->codec, c->values.p, c->values.len, c->count, s->v8, s->v64, view);
}
