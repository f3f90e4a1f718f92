/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.c - the points of a series, by a layout that is the same for many. */
#include "query/reduce.h"

#include "base/mem.h"
#include "query/layout.h"

struct reducer {
    struct scan *scan;
    struct series *out;
    struct scale scale; /* of the slice being fed */
};

/* Points are made in order: one that is not the last begins anew. In `v` stands the sum. */
static void add(struct reducer *r, const struct stretch *at, const struct extent *x, size_t n)
{
    struct series *o = r->out;
    for (size_t i = 0; i < n; i++) {
        const size_t p = at[i].column;
        const double min = scale_value(r->scale, (double)x[i].lo),
                     max = scale_value(r->scale, (double)x[i].hi),
                     sum = scale_value(r->scale, x[i].sum);
        const bool first = p == o->n;
        o->min[p] = first || min < o->min[p] ? min : o->min[p];
        o->max[p] = first || max > o->max[p] ? max : o->max[p];
        o->v[p] = first ? sum : o->v[p] + sum;
        o->n = p + 1;
    }
}

static void feed_summaries(struct reducer *r, const struct laid_slice *l)
{
    struct extent x[EXTENTS_AT_ONCE];
    for (size_t i = 0, n; i < l->n; i += n) {
        n = MIN_OF(l->n - i, (size_t)EXTENTS_AT_ONCE);
        extents_of_level(r->scan, l->v + i, n, x);
        add(r, l->v + i, x, n);
    }
}

/* Stretches of buckets become those of the values in them. */
static void feed_values(struct reducer *r, const struct laid_slice *l,
                        const struct codec_view *view)
{
    struct extent x[EXTENTS_AT_ONCE];
    struct stretch at[EXTENTS_AT_ONCE];
    for (size_t i = 0, n; i < l->n; i += n) {
        n = MIN_OF(l->n - i, (size_t)EXTENTS_AT_ONCE);
        for (size_t k = 0; k < n; k++) {
            const struct stretch *s = &l->v[i + k];
            at[k] = (struct stretch){s->column, s->from * l->unit,
                                     MIN_OF(s->to * l->unit, l->slice.to)};
        }
        extents_of_values(view, at, n, x);
        add(r, at, x, n);
    }
}

/* False: damaged. */
static bool feed_slice(struct reducer *r, const struct layout *l, const struct laid_slice *laid,
                       const struct column *c)
{
    struct slice s = laid->slice;
    struct codec_view view;
    s.column = c;
    r->scale = scale_of(c->step);
    if (laid->unit > 1 && level_decode(r->scan, s.block, c, l->level)) {
        feed_summaries(r, laid);
        return true;
    }
    if (!slice_values(r->scan, &s, &view))
        return false;
    feed_values(r, laid, &view);
    return true;
}

size_t reduce_series(struct scan *s, const struct layout *l, const struct merged *m,
                     struct arena *a, struct series *out)
{
    struct reducer r = {.scan = s, .out = out};
    out->n = 0;
    out->t = l->t;
    out->v = arena_array(a, double, l->n);
    out->min = arena_array(a, double, l->n);
    out->max = arena_array(a, double, l->n);
    for (size_t i = 0; i < l->n_slices; i++)
        if (!feed_slice(&r, l, &l->slices[i], laid_column(&l->slices[i], m)))
            return i;
    for (size_t p = 0; p < out->n; p++)
        out->v[p] /= l->count[p];
    return l->n_slices;
}
