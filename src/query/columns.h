/* SPDX-License-Identifier: Apache-2.0 */
/* columns.h - many series of one node in lockstep: sweep by sweep, in batches of columns.
 *
 * For callers that need all samples of several series together, as rules do. Blocks are decoded
 * once and as columns; at most one block of every group is in memory. sweepgrid.h defines a sweep.
 * Several may be open on one run, each used by a thread of its own. */
#ifndef QUERY_COLUMNS_H
#define QUERY_COLUMNS_H

#include "query/run.h"

enum column_which {
    COLUMN_ENTITY, /* the series of `entity` */
    COLUMN_TOTAL,  /* that of the whole machine; where none was recorded, what its parts make: the
                      mean of percentages, the sum of others */
    COLUMN_ONLY,   /* the one there is; of several, the one first recorded */
    COLUMN_PEAK,   /* the highest of the parts */
};

struct column_ask {
    const char *metric;
    enum column_which which;
    const char *entity;
};

/* Sweeps one after the other, of one recorder and one period. Good until the one after the next is
 * asked for. */
struct column_batch {
    size_t n;
    const wall_ns *at;     /* first row of each */
    int64_t period_ns;     /* of the most frequent group */
    const float *const *v; /* by ask, NAN where nothing was read; NULL: it never was on this node */
};

struct columns;

/* The asks and their texts are the caller's and must stay. */
MUST_CHECK int columns_open(struct columns **out, struct run *r, const char *node,
                            const struct column_ask *asks, size_t n, struct err *e);
/* False: that was all. Damaged columns are as if they had not been read; run_losses counts them. */
bool columns_next(struct columns *c, struct column_batch *out);
void columns_close(struct columns *c); /* NULL is fine */

#endif
