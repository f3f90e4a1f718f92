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
    bool final;            /* see columns_follow; else false */
};

struct columns;

/* The asks and their texts are the caller's and must stay. */
MUST_CHECK int columns_open(struct columns **out, struct run *r, const char *node,
                            const struct column_ask *asks, size_t n, struct err *e);
/* False: that was all. Damaged columns are as if they had not been read; run_losses counts them. */
bool columns_next(struct columns *c, struct column_batch *out);
/* The first batch, cut after its first sweep, without values: when recording began, and the
 * period. Nothing else may be read afterwards. */
bool columns_first(struct columns *c, struct column_batch *out);
void columns_close(struct columns *c); /* NULL is fine */

/* ---- a node that is still being recorded ----
 *
 * Sweeps whose rows are all sealed are final: they are the same whatever is recorded after them.
 * A caller that keeps what it made of those goes on after them when the run has grown.
 *
 *     struct columns_place *p = NULL;
 *     columns_open(&c, ...); columns_follow(c, p, loop_end); columns_next(c, &batch) ...
 *     p = columns_place(c);           where the sweeps that are not final begin
 *     columns_close(c); ...
 *     columns_open(&c, ...) of the same run later, with the same asks; and so on */

struct columns_place; /* free() frees it */

/* Before anything is read. From the place on; NULL: from the begin. Sweeps from the moment `until`
 * on are not final (0: open). False: what was read before that place is not what is there now, and
 * all is read. */
bool columns_follow(struct columns *c, const struct columns_place *from, wall_ns until);
/* When columns_next has returned a batch that is not final, or nothing any more. NULL: there is no
 * sweep that is not final. */
struct columns_place *columns_place(const struct columns *c);

#endif
