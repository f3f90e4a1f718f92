/* SPDX-License-Identifier: Apache-2.0 */
/* columns_fold.c - several columns of a block become one of floats.
 *
 * The busiest of 96 cores over a day is a maximum over 80 million values, so whole columns of small
 * numbers are folded by loops that the compiler vectorizes; columns with gaps or of wide numbers go
 * the slow way. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/columns_own.h"

/* SETTLED_EACH: columns after which one looks whether the others still count. */
enum { BYTE_VALUES = 256, SMALL_MOST = INT16_MAX, SETTLED_EACH = 4 };

void fold_room_open(struct fold_room *m)
{
    *m = (struct fold_room){.codec = codec_open()};
    m->v8 = xmalloc(ROWS_MOST + 8);
    m->v64 = xmalloc(ROWS_MOST * sizeof *m->v64);
    m->rows = xmalloc(ROWS_MOST * sizeof *m->rows);
    m->small = xmalloc(ROWS_MOST * sizeof *m->small);
    m->sums = xmalloc(ROWS_MOST * sizeof *m->sums);
    m->wide = xmalloc(ROWS_MOST * sizeof *m->wide);
    m->counts = xmalloc(ROWS_MOST * sizeof *m->counts);
}

void fold_room_close(struct fold_room *m)
{
    codec_close(m->codec);
    free(m->v8);
    free(m->v64);
    free(m->rows);
    free(m->small);
    free(m->sums);
    free(m->wide);
    free(m->counts);
}

static bool decode(struct fold_room *m, const struct column *c, struct codec_view *view)
{
    return blob_whole(&c->values) &&
           codec_decode_view(m->codec, c->values.p, c->values.len, c->count, m->v8, m->v64, view);
}

static double value_at(const struct codec_view *v, uint32_t i)
{
    return v->narrow ? (double)v->base + v->v8[i] : (double)v->v64[i];
}

static void fill(float *out, uint32_t n, float v)
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = v;
}

static void fill_nan(float *out, uint32_t n)
{
    fill(out, n, NAN);
}

/* All rows have one value, and its summary tells which. */
static bool is_constant(const struct rows_block *b, const struct column *c)
{
    return c->min == c->max && !c->has_gaps && c->count == b->rows && blob_whole(&c->values);
}

/* ---- one column ---- */

static uint8_t highest_byte(const uint8_t *v, uint32_t n)
{
    uint8_t most = 0;
    for (uint32_t i = 0; i < n; i++)
        most = v[i] > most ? v[i] : most;
    return most;
}

static void put_narrow(const struct codec_view *v, struct scale scale, uint32_t n, float *out)
{
    float worth[BYTE_VALUES];
    const uint8_t most = highest_byte(v->v8, n);
    for (int i = 0; i <= most; i++)
        worth[i] = (float)scale_value(scale, (double)v->base + i);
    for (uint32_t i = 0; i < n; i++)
        out[i] = worth[v->v8[i]];
}

static void put_wide(const struct codec_view *v, struct scale scale, uint32_t n, float *out)
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = (float)scale_value(scale, (double)v->v64[i]);
}

static void put_one(struct fold_room *m, const struct rows_block *b, const struct column *c,
                    float *out)
{
    const struct scale scale = scale_of(c->step);
    struct codec_view v;
    if (is_constant(b, c)) {
        fill(out, b->rows, (float)scale_value(scale, (double)c->min));
        return;
    }
    if (c->has_gaps || c->count < b->rows)
        fill_nan(out, b->rows);
    if (!decode(m, c, &v) || (c->has_gaps && !store_value_rows(m->codec, c, b->rows, m->rows))) {
        fill_nan(out, b->rows);
        return;
    }
    if (!c->has_gaps && v.narrow)
        put_narrow(&v, scale, c->count, out + c->first_row);
    else if (!c->has_gaps)
        put_wide(&v, scale, c->count, out + c->first_row);
    for (uint32_t i = 0; c->has_gaps && i < c->count; i++)
        out[m->rows[i]] = (float)scale_value(scale, value_at(&v, i));
}

/* ---- whole columns of small numbers ---- */

/* Small by what its head says; values that lie wrap and are only wrong. */
static bool is_small(const struct rows_block *b, const struct column *c, double step)
{
    return !c->has_gaps && c->first_row == 0 && c->count == b->rows && c->step == step &&
           c->min >= 0 && c->max <= SMALL_MOST;
}

static void max_bytes(int16_t *restrict acc, const uint8_t *restrict v, uint32_t n, int16_t base)
{
    for (uint32_t i = 0; i < n; i++) {
        const int16_t x = (int16_t)(base + v[i]);
        acc[i] = acc[i] > x ? acc[i] : x;
    }
}

static void max_words(int16_t *restrict acc, const int64_t *restrict v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const int16_t x = (int16_t)v[i];
        acc[i] = acc[i] > x ? acc[i] : x;
    }
}

static void sum_bytes(uint32_t *restrict acc, const uint8_t *restrict v, uint32_t n, uint32_t base)
{
    for (uint32_t i = 0; i < n; i++)
        acc[i] += base + v[i];
}

static void sum_words(uint32_t *restrict acc, const int64_t *restrict v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        acc[i] += (uint32_t)v[i];
}

static void gather_small(struct fold_room *m, uint32_t rows, const struct codec_view *v,
                         enum fold fold)
{
    if (fold == FOLD_MAX && v->narrow)
        max_bytes(m->small, v->v8, rows, (int16_t)v->base);
    else if (fold == FOLD_MAX)
        max_words(m->small, v->v64, rows);
    else if (v->narrow)
        sum_bytes(m->sums, v->v8, rows, (uint32_t)v->base);
    else
        sum_words(m->sums, v->v64, rows);
}

/* ---- of which only the side of limits counts ---- */

static int by_sum(const void *a, const void *b)
{
    const struct column *x = *(const struct column *const *)a,
                        *y = *(const struct column *const *)b;
    return (x->sum < y->sum) - (x->sum > y->sum);
}

static bool is_above(const struct column *c, int64_t v, double limit)
{
    return (double)(float)scale_value(scale_of(c->step), (double)v) > limit;
}

/* Those that may be above the lowest limit come to the front, the largest first; returns how many.
 * What the others are is settled, if it was read at all: one that is whole shows that. */
static size_t choose_high(const struct fold_parts *p)
{
    size_t n = 0;
    for (size_t k = 0; k < p->n; k++)
        if (is_above(p->v[k], p->v[k]->max, p->limits->low)) {
            const struct column *c = p->v[k];
            p->v[k] = p->v[n];
            p->v[n++] = c;
        }
    if (n > 1)
        qsort(p->v, n, sizeof *p->v, by_sum);
    if (n == 0 && !blob_whole(&p->v[0]->values))
        n = p->n;
    return n;
}

static int16_t least_of(const int16_t *v, uint32_t n)
{
    int16_t least = INT16_MAX;
    for (uint32_t i = 0; i < n; i++)
        least = v[i] < least ? v[i] : least;
    return least;
}

static int16_t least_where(const int16_t *restrict v, const uint8_t *restrict where, uint32_t n)
{
    int16_t least = INT16_MAX;
    for (uint32_t i = 0; i < n; i++) {
        const int16_t x = where[i] ? v[i] : INT16_MAX;
        least = x < least ? x : least;
    }
    return least;
}

/* Whether no further column can change the side of any row that counts. */
static bool is_settled(const struct fold_room *m, const struct fold_parts *p)
{
    const uint32_t n = p->block->rows;
    if (!p->limits)
        return false;
    const int16_t least = p->where ? least_where(m->small, p->where, n) : least_of(m->small, n);
    return least == INT16_MAX || is_above(p->v[0], least, p->limits->high);
}

/* ---- of small numbers ---- */

static bool all_small(const struct fold_parts *p)
{
    for (size_t k = 0; k < p->n; k++)
        if (!is_small(p->block, p->v[k], p->v[0]->step))
            return false;
    return true;
}

static void put_small(const struct fold_room *m, const struct fold_parts *p, float *out)
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
    if (!all_small(p))
        return false;
    const size_t n = p->limits ? choose_high(p) : p->n;
    memset(m->small, 0, p->block->rows * sizeof *m->small);
    memset(m->sums, 0, p->block->rows * sizeof *m->sums);
    for (size_t k = 0; k < n; k++) {
        struct codec_view v;
        if (!decode(m, p->v[k], &v))
            return false;
        gather_small(m, p->block->rows, &v, p->fold);
        if (k % SETTLED_EACH == 0 && is_settled(m, p))
            break;
    }
    put_small(m, p, out);
    return true;
}

/* ---- any columns ---- */

static void add_wide(struct fold_room *m, const struct rows_block *b, const struct column *c,
                     enum fold fold)
{
    const struct scale scale = scale_of(c->step);
    struct codec_view v;
    if (!decode(m, c, &v) || !store_value_rows(m->codec, c, b->rows, m->rows))
        return;
    for (uint32_t i = 0; i < c->count; i++) {
        const uint32_t row = m->rows[i];
        const double x = scale_value(scale, value_at(&v, i));
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
        add_wide(m, b, p->v[k], p->fold);
    for (uint32_t i = 0; i < b->rows; i++) {
        const double parts = p->fold == FOLD_MEAN ? m->counts[i] : 1;
        out[i] = m->counts[i] ? (float)(m->wide[i] / parts) : NAN;
    }
}

void fold_columns(struct fold_room *m, const struct fold_parts *p, float *out)
{
    if (p->n == 1)
        put_one(m, p->block, p->v[0], out);
    else if (!fold_small(m, p, out))
        fold_wide(m, p, out);
}
