/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.h - many samples become few points that keep minimum, maximum and mean.
 * For the files of query/ alone. */
#ifndef QUERY_REDUCE_H
#define QUERY_REDUCE_H

#include "query/run_open.h"
#include "query/series.h"

enum { SCAN_PAD = 16 }; /* bytes behind scan->v8 */

/* What a query works with, one per thread: decode buffers, and the times of blocks it has needed so
 * far. */
struct scan {
    struct arena arena;
    struct codec *codec;
    struct scan_times *times; /* one per store seen */
    size_t n_times;
    bool once; /* times of a block are asked for once or twice, so they are not kept */
    uint8_t *v8;
    int64_t *v64;
    int64_t *level[3]; /* NULL until one is decoded */
    uint32_t *rows;    /* the same */
};

void scan_open(struct scan *s);
void scan_close(struct scan *s);
/* Room for the values of a level. */
int64_t *scan_level(struct scan *s, int k);
/* The rows in which a column with gaps has its values, until those of another are asked for; NULL:
 * damaged. */
const uint32_t *scan_value_rows(struct scan *s, const struct column *c, const struct rows_block *b);

/* The part of a column that lies in the window: values [from, to). */
struct slice {
    struct store *store;
    const struct rows_block *block;
    const struct column *column;
    uint32_t from, to;
    uint32_t part, ref; /* where the series has the column */
};

struct slices {
    struct slice *v;
    size_t n;
    uint64_t values; /* of all */
};

/* All slices of a series in [from, to) of wall time (0: open), in order; they live in the arena. */
struct slices slices_of(struct scan *s, const struct merged *m, wall_ns from, wall_ns to,
                        struct arena *a);

/* The series has a value in every row of every block that meets the window. */
bool slices_plain(const struct merged *m, wall_ns from, wall_ns to);

/* The slice's values as bytes over a base or as integers; false: damaged. */
bool slice_values(struct scan *s, const struct slice *in, struct codec_view *view);

struct layout;

/* The points of a series by a layout that is good for it. The times are the layout's, the other
 * arrays of `out` have room for l->n. Returns the number of slices, or the first one that is
 * damaged: there are no points then. */
size_t reduce_series(struct scan *s, const struct layout *l, const struct merged *m,
                     struct series *out);

#endif
