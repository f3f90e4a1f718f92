/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h - which values of which blocks make which point of a series. For the files of query/
 * alone.
 *
 * Series that were read together, and all of them every time, have the same layout, so one is made
 * for all of them. It does not change once it is made: threads share it. */
#ifndef QUERY_LAYOUT_H
#define QUERY_LAYOUT_H

#include "query/levels.h"

struct laid_slice {
    struct slice slice; /* the column is that of the series it was made for */
    uint32_t unit;      /* values in a unit of its stretches: 1, or those of a summary bucket */
    struct stretch *v;  /* of points, in order; each slice begins where the one before ended */
    size_t n;
};

struct layout {
    const struct merged *model; /* the series it was made for */
    enum level level;
    uint64_t per; /* units of the level in a point */
    struct laid_slice *slices;
    size_t n_slices;
    size_t n; /* points */
    wall_ns *t;
    double *count; /* values in each */
};

/* What `ask` cuts out of a series, as at most ask->points points (0: every value is one). It lives
 * in `a`, its times in `times`. */
struct layout *layout_make(struct scan *s, const struct merged *m, const struct series_ask *ask,
                           struct arena *a, struct arena *times);

/* The same without one of its slices, which turned out to be damaged. */
struct layout *layout_without(struct scan *s, const struct layout *l, size_t slice, struct arena *a,
                              struct arena *times);

/* Both have a column in each of the blocks of either: they may have the same layout. */
bool layout_same_blocks(const struct merged *a, const struct merged *b);
/* The layout made for a series that is plain (slices_plain) is that of another one too. */
bool layout_fits(const struct layout *l, const struct merged *m);

/* The column that a slice is cut from, of a series for which the layout is good. */
static inline const struct column *laid_column(const struct laid_slice *l, const struct merged *m)
{
    const struct slice *s = &l->slice;
    return &block_columns(s->block)[m->parts[s->part].series->refs[s->ref].column];
}

#endif
