/* SPDX-License-Identifier: Apache-2.0 */
/* layout.c - see layout.h.
 *
 * A point is made of `per` units. A unit is one value, or a summary bucket of the block when so
 * many values fall on a point that the buckets are fine enough. Only the slices at the edges of the
 * window are cut from values then. */
#include "query/layout.h"

#include "base/mem.h"
#include "query/slices.h"

/* The time of a value, found only for the first of each point. */
struct moment {
    const struct slice *slice;
    const int64_t *times; /* NULL: from the times that the block's head has */
    const uint32_t *rows; /* NULL: no gaps */
};

struct laying {
    struct layout *out;
    struct scan *scan;
    struct arena *arena;
    uint64_t have; /* units in the point being made; 0: the next value begins one */
};

static wall_ns value_time(const struct moment *m, uint32_t value)
{
    const uint32_t row = m->rows ? m->rows[value] : m->slice->column->first_row + value;
    return store_wall(m->slice->store,
                      m->times ? m->times[row] : block_grid_time(m->slice->block, row));
}

static bool from_summaries(const struct slice *s, enum level level)
{
    return level != LEVEL_VALUES && s->from == 0 && s->to == s->column->count &&
           s->column->count >= level_unit(s->block, level);
}

/* False when something needed is damaged; the slice is then left out. */
static bool find_moments(struct scan *scan, const struct slice *s, bool summaries, struct moment *m)
{
    *m = (struct moment){.slice = s};
    if (s->column->has_gaps) {
        m->rows = scan_value_rows(scan, s->column, s->block);
        if (!m->rows)
            return false;
    }
    if (summaries && block_is_regular(s->block))
        return true;
    m->times = block_times(scan, s->store, s->block);
    return m->times != NULL;
}

/* Takes what the point being made has room for, from value i on; returns how many values. */
static uint32_t take(struct laying *l, const struct moment *m, uint32_t i)
{
    struct layout *out = l->out;
    const struct slice *s = m->slice;
    const uint32_t unit = level_unit(s->block, out->level);
    const uint64_t room = (out->per - l->have) * unit;
    const uint32_t n = (uint32_t)MIN_OF(room, (uint64_t)(s->to - i));
    if (l->have == 0)
        out->t[out->n++] = value_time(m, i);
    out->count[out->n - 1] += n;
    l->have += bucket_count(n, unit);
    if (l->have >= out->per)
        l->have = 0;
    return n;
}

static void lay_slice(struct laying *l, const struct slice *s)
{
    struct layout *out = l->out;
    struct laid_slice *to = &out->slices[out->n_slices];
    const bool summaries = from_summaries(s, out->level);
    const uint32_t level = level_unit(s->block, out->level), values = s->to - s->from;
    struct moment m;
    if (!find_moments(l->scan, s, summaries, &m))
        return;
    *to = (struct laid_slice){.slice = *s, .unit = summaries ? level : 1};
    to->v = arena_array(l->arena, struct stretch, bucket_count(values, level) / out->per + 2);
    for (uint32_t i = s->from, n; i < s->to; i += n) {
        n = take(l, &m, i);
        to->v[to->n++] =
            (struct stretch){(uint32_t)(out->n - 1), i / to->unit, bucket_count(i + n, to->unit)};
    }
    out->n_slices++;
}

static uint64_t count_units(const struct slice *slices, size_t n, enum level level)
{
    uint64_t units = 0;
    for (size_t i = 0; i < n; i++)
        units += bucket_count(slices[i].to - slices[i].from, level_unit(slices[i].block, level));
    return units;
}

/* `like` says of which series, at which level and how many units make a point. */
static struct layout *lay_out(struct scan *s, const struct layout *like, const struct slice *slices,
                              size_t n, struct arena *a, struct arena *times)
{
    struct layout *out = arena_new(a, struct layout);
    const size_t most = (size_t)((count_units(slices, n, like->level) + like->per - 1) / like->per);
    *out = *like;
    out->n = out->n_slices = 0;
    out->slices = arena_array(a, struct laid_slice, n);
    out->count = arena_array(a, double, most);
    out->t = arena_array(times, wall_ns, most);
    struct laying l = {.out = out, .scan = s, .arena = a};
    for (size_t i = 0; i < n; i++)
        lay_slice(&l, &slices[i]);
    return out;
}

static enum level choose_level(const struct slice *slices, size_t n, uint64_t values, size_t points)
{
    if (n == 0 || points == 0)
        return LEVEL_VALUES;
    const uint64_t per_point = values / points;
    const struct rows_block *b = slices[n / 2].block;
    return per_point >= b->l2 ? LEVEL_TWO : per_point >= b->l1 ? LEVEL_ONE : LEVEL_VALUES;
}

struct layout *layout_make(struct scan *s, const struct merged *m, const struct series_ask *ask,
                           struct arena *a, struct arena *times)
{
    const struct slices slices = slices_of(s, m, ask->from, ask->to, &s->arena);
    const uint64_t points = ask->points;
    struct layout like = {.model = m, .per = 1};
    like.level = choose_level(slices.v, slices.n, slices.values, ask->points);
    const uint64_t units = count_units(slices.v, slices.n, like.level);
    if (points && units > points)
        like.per = (units + points - 1) / points;
    return lay_out(s, &like, slices.v, slices.n, a, times);
}

struct layout *layout_without(struct scan *s, const struct layout *l, size_t slice, struct arena *a,
                              struct arena *times)
{
    struct slice *rest = arena_array(a, struct slice, l->n_slices);
    size_t n = 0;
    for (size_t i = 0; i < l->n_slices; i++)
        if (i != slice)
            rest[n++] = l->slices[i].slice;
    return lay_out(s, l, rest, n, a, times);
}

static bool same_refs(const struct part *a, const struct part *b)
{
    if (a->store != b->store || a->series->n_refs != b->series->n_refs)
        return false;
    for (uint32_t i = 0; i < a->series->n_refs; i++)
        if (a->series->refs[i].block != b->series->refs[i].block)
            return false;
    return true;
}

bool layout_same_blocks(const struct merged *a, const struct merged *b)
{
    if (a->n_parts != b->n_parts)
        return false;
    for (size_t i = 0; i < a->n_parts; i++)
        if (!same_refs(&a->parts[i], &b->parts[i]))
            return false;
    return true;
}

bool layout_fits(const struct layout *l, const struct merged *m)
{
    if (!layout_same_blocks(l->model, m))
        return false;
    for (size_t i = 0; i < l->n_slices; i++)
        if (!column_is_plain(laid_column(&l->slices[i], m), l->slices[i].slice.block))
            return false;
    return true;
}
