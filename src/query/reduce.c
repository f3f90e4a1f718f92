/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.c - the points of a series.
 *
 * A point is made of `per` units. A unit is one value, or a summary bucket of the block when so
 * many values fall on a point that the buckets are fine enough. Only the slices at the edges of the
 * window are cut from decoded values. */
#include "query/reduce.h"

#include <math.h>

#include "base/mem.h"
#include "query/levels.h"
#include "query/slices.h"

struct reducer {
    struct scan *scan;
    struct series *out;
    uint64_t per;  /* units in a point */
    uint64_t have; /* units in the point being made */
    double min, max, sum;
    uint64_t count;
    enum level level;
    struct scale scale; /* of the slice being fed */
};

/* The time of a value, found only for the first of each point. */
struct moment {
    const struct slice *slice;
    const int64_t *times; /* NULL: from the times that the block's head has */
    const uint32_t *rows; /* NULL: no gaps */
};

static bool whole(const struct slice *s)
{
    return s->from == 0 && s->to == s->column->count;
}

static bool from_summaries(const struct slice *s, enum level level)
{
    return level != LEVEL_VALUES && whole(s) && s->column->count >= level_unit(s->block, level);
}

static wall_ns value_time(const struct moment *m, uint32_t value)
{
    const uint32_t row = m->rows ? m->rows[value] : m->slice->column->first_row + value;
    return store_wall(m->slice->store,
                      m->times ? m->times[row] : block_grid_time(m->slice->block, row));
}

static void finish_point(struct reducer *r)
{
    if (!r->count)
        return;
    struct series *o = r->out;
    o->v[o->n] = r->sum / (double)r->count;
    o->min[o->n] = r->min;
    o->max[o->n] = r->max;
    o->n++;
    r->have = 0;
    r->count = 0;
}

static void add(struct reducer *r, const struct extent *x, uint32_t count, uint64_t units)
{
    const double min = scale_value(r->scale, (double)x->lo),
                 max = scale_value(r->scale, (double)x->hi), sum = scale_value(r->scale, x->sum);
    if (r->count == 0) {
        r->min = min;
        r->max = max;
        r->sum = 0;
    }
    r->min = min < r->min ? min : r->min;
    r->max = max > r->max ? max : r->max;
    r->sum += sum;
    r->count += count;
    r->have += units;
    if (r->have >= r->per)
        finish_point(r);
}

static void begin_point(struct reducer *r, const struct moment *m, uint32_t value)
{
    if (r->count == 0)
        r->out->t[r->out->n] = value_time(m, value);
}

/* Values in runs that end where the point or the slice ends. */
static void feed_values(struct reducer *r, const struct moment *m, const struct codec_view *view)
{
    const struct slice *s = m->slice;
    const uint32_t unit = level_unit(s->block, r->level);
    for (uint32_t i = s->from; i < s->to;) {
        begin_point(r, m, i);
        const uint64_t room = (r->per - r->have) * unit;
        const uint32_t n = (uint32_t)MIN_OF(room, (uint64_t)(s->to - i));
        const uint64_t units = unit == 1 ? n : (n + unit - 1) / unit;
        const struct extent x = extent_of_values(view, i, i + n);
        add(r, &x, n, units);
        i += n;
    }
}

static bool feed_summaries(struct reducer *r, const struct moment *m)
{
    const struct slice *s = m->slice;
    const uint32_t unit = level_unit(s->block, r->level), count = s->column->count;
    const uint32_t n = bucket_count(count, unit);
    if (!level_decode(r->scan, s->block, s->column, r->level))
        return false;
    for (uint32_t i = 0; i < n;) {
        begin_point(r, m, i * unit);
        const uint32_t units = (uint32_t)MIN_OF(r->per - r->have, (uint64_t)(n - i));
        const uint32_t values = MIN_OF(units * unit, count - i * unit);
        const struct extent x = extent_of_level(r->scan, i, i + units);
        add(r, &x, values, units);
        i += units;
    }
    return true;
}

/* False when something needed is damaged; the slice is then left out. */
static bool find_moments(struct reducer *r, const struct slice *s, struct moment *m)
{
    *m = (struct moment){.slice = s};
    if (s->column->has_gaps) {
        if (!store_value_rows(r->scan->codec, s->column, s->block->rows, r->scan->rows))
            return false;
        m->rows = r->scan->rows;
    }
    if (from_summaries(s, r->level) && block_is_regular(s->block))
        return true;
    m->times = block_times(r->scan, s->store, s->block);
    return m->times != NULL;
}

static void feed_slice(struct reducer *r, const struct slice *s)
{
    struct moment m;
    struct codec_view view;
    if (!find_moments(r, s, &m))
        return;
    r->scale = scale_of(s->column->step);
    if (from_summaries(s, r->level) && feed_summaries(r, &m))
        return;
    if (slice_values(r->scan, s, &view))
        feed_values(r, &m, &view);
}

static enum level choose_level(const struct slice *slices, size_t n, uint64_t values, size_t points)
{
    if (n == 0 || points == 0)
        return LEVEL_VALUES;
    const uint64_t per_point = values / points;
    const struct rows_block *b = slices[n / 2].block;
    return per_point >= b->l2 ? LEVEL_TWO : per_point >= b->l1 ? LEVEL_ONE : LEVEL_VALUES;
}

static uint64_t count_units(const struct slice *slices, size_t n, enum level level)
{
    uint64_t units = 0;
    for (size_t i = 0; i < n; i++)
        units += bucket_count(slices[i].to - slices[i].from, level_unit(slices[i].block, level));
    return units;
}

void reduce_slices(struct scan *s, const struct slice *slices, size_t n, uint64_t values,
                   size_t points, struct arena *a, struct series *out)
{
    struct reducer r = {.scan = s, .out = out};
    r.level = choose_level(slices, n, values, points);
    const uint64_t units = count_units(slices, n, r.level);
    r.per = points && units > points ? (units + points - 1) / points : 1;
    const size_t most = (size_t)((units + r.per - 1) / r.per);
    out->n = 0;
    out->t = arena_array(a, wall_ns, most);
    out->v = arena_array(a, double, most);
    out->min = arena_array(a, double, most);
    out->max = arena_array(a, double, most);
    for (size_t i = 0; i < n; i++)
        feed_slice(&r, &slices[i]);
    finish_point(&r);
}
