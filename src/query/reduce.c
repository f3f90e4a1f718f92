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
    const struct scale scale = r->scale;
    double *v = r->out->v, *least = r->out->min, *most = r->out->max;
    size_t points = r->out->n;
    for (size_t i = 0; i < n; i++) {
        const size_t p = at[i].column;
        const double min = scale_value(scale, (double)x[i].lo),
                     max = scale_value(scale, (double)x[i].hi), sum = scale_value(scale, x[i].sum);
        if (p == points) {
            least[p] = min;
            most[p] = max;
            v[p] = sum;
            points++;
            continue;
        }
        least[p] = min < least[p] ? min : least[p];
        most[p] = max > most[p] ? max : most[p];
        v[p] += sum;
    }
    r->out->n = points;
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
static void to_values(const struct laid_slice *l, size_t from, size_t n, struct stretch *out)
{
    for (size_t i = 0; i < n; i++) {
        const struct stretch *s = &l->v[from + i];
        const uint32_t end = MIN_OF(s->to * l->unit, l->slice.to);
        out[i] = (struct stretch){s->column, s->from * l->unit, end};
    }
}

static void feed_values(struct reducer *r, const struct laid_slice *l,
                        const struct codec_view *view)
{
    struct extent x[EXTENTS_AT_ONCE];
    struct stretch room[EXTENTS_AT_ONCE];
    for (size_t i = 0, n; i < l->n; i += n) {
        const struct stretch *at = &l->v[i];
        n = MIN_OF(l->n - i, (size_t)EXTENTS_AT_ONCE);
        if (l->unit > 1) {
            to_values(l, i, n, room);
            at = room;
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
                     struct series *out)
{
    struct reducer r = {.scan = s, .out = out};
    out->n = 0;
    out->t = l->t;
    for (size_t i = 0; i < l->n_slices; i++)
        if (!feed_slice(&r, l, &l->slices[i], laid_column(&l->slices[i], m)))
            return i;
    for (size_t p = 0; p < out->n; p++)
        out->v[p] /= l->count[p];
    return l->n_slices;
}
