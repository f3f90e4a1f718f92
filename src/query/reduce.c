/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.c - see reduce.h. */
#include "query/reduce.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/stat.h"
#include "base/vec.h"
#include "query/block_cursor.h"
#include "store/column.h"

void tally_open(struct tally *t)
{
    *t = (struct tally){.step = 1, .scale = {1, 1}};
}

void tally_free(struct tally *t)
{
    free(t->bins);
    free(t->values);
    t->bins = NULL;
    t->values = NULL;
}

static void tally_add_bin(struct tally *t, double value, uint64_t count)
{
    *VEC_ADD(t->bins, t->n_bins, t->cap_bins) = (struct tally_bin){value, count};
}

static void tally_settle_counts(struct tally *t)
{
    for (uint32_t i = 0; i < t->top; i++)
        if (t->counts[i])
            tally_add_bin(t, scale_value(t->scale, i), t->counts[i]);
    assert(t->top <= TALLY_SMALL);
    memset(t->counts, 0, t->top * sizeof *t->counts);
    t->top = 0;
}

void tally_step(struct tally *t, double step)
{
    if (step == t->step)
        return;
    tally_settle_counts(t);
    t->step = step;
    t->scale = scale_of(step);
}

void tally_add(struct tally *t, int64_t steps, uint64_t count)
{
    if (steps >= 0 && steps < TALLY_SMALL) {
        t->counts[steps] += count;
        t->top = MAX_OF(t->top, (uint32_t)steps + 1);
        return;
    }
    if (count > 4)
        tally_add_bin(t, scale_value(t->scale, (double)steps), count);
    for (; count > 0 && count <= 4; count--)
        *VEC_ADD(t->values, t->n_values, t->cap_values) = scale_value(t->scale, (double)steps);
}

/* ---- from a run ---- */

static void tally_add_narrow(struct tally *t, const uint8_t *v, uint32_t n, int64_t base)
{
    uint32_t counts[UINT8_MAX + 1] = {0};
    for (uint32_t i = 0; i < n; i++)
        counts[v[i]]++;
    for (unsigned b = 0; b <= UINT8_MAX; b++)
        if (counts[b])
            tally_add(t, (int64_t)((uint64_t)base + b), counts[b]);
}

static void tally_add_hist(struct tally *t, const struct column *c)
{
    struct hist_bin bins[HIST_MOST];
    const uint32_t n = column_hist(c, bins);
    for (uint32_t i = 0; i < n; i++)
        tally_add(t, bins[i].value, bins[i].count);
}

static void tally_add_slice(struct tally *t, struct scan *scan, const struct slice *s)
{
    struct codec_view view;
    tally_step(t, s->column->step);
    if (s->from == 0 && s->to == s->column->count && s->column->n_hist) {
        tally_add_hist(t, s->column);
        return;
    }
    assert(s->from <= s->to && s->to <= s->column->count);
    if (!slice_values(scan, s, &view))
        return;
    if (view.narrow)
        tally_add_narrow(t, view.v8 + s->from, s->to - s->from, view.base);
    for (uint32_t i = s->from; !view.narrow && i < s->to; i++)
        tally_add(t, view.v64[i], 1);
}

void tally_series(struct tally *t, struct scan *scan, const struct run_series *m, wall_ns from,
                  wall_ns to)
{
    struct arena room = {0};
    const struct slices all = slices_of(scan, m, from, to, &room);
    for (size_t i = 0; i < all.n; i++)
        tally_add_slice(t, scan, &all.v[i]);
    arena_free(&room);
}

/* ---- what came of it ---- */

void tally_each(struct tally *t, void (*see)(void *to, double value, uint64_t count), void *to)
{
    tally_settle_counts(t);
    for (size_t i = 0; i < t->n_bins; i++)
        see(to, t->bins[i].value, t->bins[i].count);
    for (size_t i = 0; i < t->n_values; i++)
        see(to, t->values[i], 1);
    t->n_bins = t->n_values = 0;
}

COMPARE_BY(tally_by_value, struct tally_bin, value)

/* Walks all values in order without putting bins and single values into one list. */
struct tally_walk {
    const struct tally *t;
    size_t bin, value;
    uint64_t passed; /* values before the current one */
    double current;
    uint64_t count;
};

static bool tally_walk_next(struct tally_walk *w)
{
    const struct tally *t = w->t;
    const bool bins = w->bin < t->n_bins, values = w->value < t->n_values;
    if (!bins && !values)
        return false;
    w->passed += w->count;
    if (bins && (!values || t->bins[w->bin].value <= t->values[w->value])) {
        w->current = t->bins[w->bin].value;
        w->count = t->bins[w->bin++].count;
    } else {
        w->current = t->values[w->value++];
        w->count = 1;
    }
    return true;
}

struct tally_quantile {
    double share;
    double *out;
};

/* Quantiles in rising order, linear between neighbours. */
static void tally_find_quantiles(struct tally_walk *w, const struct tally_quantile *want, size_t n,
                                 uint64_t total)
{
    bool more = tally_walk_next(w);
    for (size_t i = 0; i < n && more; i++) {
        const double at = want[i].share * (double)(total - 1);
        assert(i == 0 || want[i - 1].share <= want[i].share); /* the walk does not go back */
        const uint64_t lower = (uint64_t)at;
        while (more && w->passed + w->count <= lower)
            more = tally_walk_next(w);
        const double low = w->current;
        const double part = at - (double)lower;
        if (part > 0 && w->passed + w->count <= lower + 1) {
            struct tally_walk ahead = *w;
            tally_walk_next(&ahead);
            *want[i].out = low + (ahead.current - low) * part;
        } else {
            *want[i].out = low;
        }
    }
}

static void tally_sum_up(const struct tally *t, struct series_stats *out)
{
    double sum = 0;
    out->count = t->n_values;
    for (size_t i = 0; i < t->n_bins; i++) {
        out->count += t->bins[i].count;
        sum += t->bins[i].value * (double)t->bins[i].count;
    }
    for (size_t i = 0; i < t->n_values; i++)
        sum += t->values[i];
    out->mean = out->count ? sum / (double)out->count : NAN;
}

void tally_finish(struct tally *t, struct series_stats *out)
{
    tally_settle_counts(t);
    SORT(t->bins, t->n_bins, tally_by_value);
    if (t->n_values)
        stat_sort(t->values, t->n_values);
    const struct tally_quantile want[] = {
        {0, &out->min},   {0.05, &out->p5},  {0.25, &out->p25}, {0.5, &out->p50}, {0.75, &out->p75},
        {0.9, &out->p90}, {0.95, &out->p95}, {0.99, &out->p99}, {1, &out->max},
    };
    for (size_t i = 0; i < COUNT_OF(want); i++)
        *want[i].out = NAN;
    tally_sum_up(t, out);
    struct tally_walk w = {.t = t};
    if (out->count)
        tally_find_quantiles(&w, want, COUNT_OF(want), out->count);
}

/* ==== several columns of a block become one ====
 *
 * The busiest of 96 cores over a day is a maximum over 80 million values, so whole columns of small
 * numbers are folded by loops that the compiler vectorizes; columns with gaps or of wide numbers go
 * the slow way. */

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
    return !FIND_ANY(k, p->n, !fold_is_small(p->block, p->v[k], p->v[0]->step));
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
    assert(p->n > 0 && p->block->rows <= ROWS_MOST);
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
    assert(c->count == 0 || rows[c->count - 1] < b->rows); /* they rise */
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
