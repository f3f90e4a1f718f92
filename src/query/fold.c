/* SPDX-License-Identifier: Apache-2.0 */
/* fold.c - see fold.h. The busiest of 96 cores over a day is a maximum over 80 million values, so
 * whole columns of small numbers are folded by loops that the compiler vectorizes; columns with
 * gaps or of wide numbers go the slow way. */
#include "query/fold.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/column.h"

enum { SMALL_MOST = INT16_MAX };

void fold_room_open(struct fold_room *m)
{
    scan_open(&m->scan);
    m->small = xmalloc(ROWS_MOST * sizeof *m->small);
    m->sums = xmalloc(ROWS_MOST * sizeof *m->sums);
    m->wide = xmalloc(ROWS_MOST * sizeof *m->wide);
    m->counts = xmalloc(ROWS_MOST * sizeof *m->counts);
}

void fold_room_close(struct fold_room *m)
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

void fold_columns(struct fold_room *m, const struct fold_parts *p, float *out)
{
    if (!fold_small(m, p, out))
        fold_wide(m, p, out);
}
