/* SPDX-License-Identifier: Apache-2.0 */
/* grid.h - many series at the same columns of time, each with its mean, minimum and maximum.
 *
 * Made for charts that share an axis. The cost follows the columns: where a column is wider than
 * the summary buckets of a block, these are read and counted for the column in which their middle
 * lies, at both ends of the window too; else every sample counts for the column it lies in. */
#ifndef QUERY_GRID_H
#define QUERY_GRID_H

#include "query/series.h"

enum { GRID_COLUMNS_MOST = 20000 };

struct grid_ask {
    wall_ns from, to;               /* from inclusive, to exclusive; both given */
    size_t columns;                 /* at most GRID_COLUMNS_MOST */
    const struct series_ask *which; /* node, metric and entity of each are used */
    size_t n_which;
    bool means_only; /* min and max of the rows stay NULL, count 0; grid_mean needs them */
    /* There may be fewer columns, by a third at most, where so many samples or more need not be
     * decoded then; 0: never. */
    uint64_t fewer_from;
};

struct grid_row {
    struct series_key key;
    float *mean, *min, *max; /* by column; NAN: no sample there */
    double sum; /* of all its samples, and how many they are: columns have more and less */
    uint64_t count;
};

/* Of all its samples; NAN: there are none. */
double grid_row_mean(const struct grid_row *row);

/* Column i covers [from + i * step_ns, from + (i + 1) * step_ns). */
struct grid {
    wall_ns from, to;
    int64_t step_ns;
    size_t columns;
    struct grid_row *rows; /* in the order of series_list */
    size_t n;
};

MUST_CHECK int grid_read(struct run *r, const struct grid_ask *ask, struct arena *a,
                         struct grid *out, struct err *e);

/* The mean of all rows from `first` that are of its node and metric: the mean of their means, the
 * smallest and the largest of all; where a row of the whole machine is among them, that one. */
struct grid_row grid_mean(const struct grid *g, size_t first, struct arena *a);

#endif
