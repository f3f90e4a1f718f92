/* SPDX-License-Identifier: Apache-2.0 */
/* columns.h - many series of one node in lockstep: sweep by sweep, in batches of columns.
 *
 * For callers that need all samples of several series together, as rules do. Blocks are decoded
 * once and as columns; at most one block of every group is in memory. The end of this file defines
 * a sweep. Several may be open on one run, each used by one thread. */
#ifndef QUERY_COLUMNS_H
#define QUERY_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
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
 * requested. */
struct column_batch {
    size_t n;
    const wall_ns *at;     /* first row of each */
    int64_t period_ns;     /* of the most frequent group */
    const float *const *v; /* by ask, NAN where nothing was read; NULL: it never was on this node */
    bool final;            /* see columns_follow; else false */
};

struct columns;

/* The asks and their texts belong to the caller and must outlive the columns. */
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
 * A caller that stores what it made of those continues after them when the run has grown.
 *
 *     struct columns_place *p = NULL;
 *     columns_open(&c, ...); columns_follow(c, p, loop_end); columns_next(c, &batch) ...
 *     p = columns_place(c);           where the sweeps that are not final begin
 *     columns_close(c); ...
 *     columns_open(&c, ...) of the same run later, with the same asks; and so on */

struct columns_place; /* free() frees it */

/* Before anything is read. From the place on; NULL: from the start. Sweeps from the moment `until`
 * on are not final (0: open). False: what was read before that place is not what is there now, and
 * all is read. */
bool columns_follow(struct columns *c, const struct columns_place *from, wall_ns until);
/* When columns_next has returned a batch that is not final, or nothing any more. NULL: there is no
 * sweep that is not final. */
struct columns_place *columns_place(const struct columns *c);

/* ---- which rows of a node's groups belong to one sweep ---- */

/* All groups of a node are read at the same tick, some milliseconds apart, slow ones not at every
 * tick. A row belongs to the sweep being made unless its group has one in it already or it comes
 * three quarters of a period or more after the sweep began. Pure, and fed row by row in order of
 * time, so that a live run and the files of one that ended show the same sweeps. */

enum { SWEEP_GROUPS_MOST = 64 }; /* more than these are distinguished by time alone */

/* A zeroed one is ready. */
struct sweepgrid {
    bool begun;
    int64_t at_us;   /* first row of the sweep being made; monotonic */
    uint64_t groups; /* that have a row in it, as bits */
};

static inline uint64_t sweepgrid_bit(unsigned group)
{
    return group < SWEEP_GROUPS_MOST ? UINT64_C(1) << group : 0;
}

/* A row of the group with that number at t. `period_us` is the shortest that any group has now. */
static inline bool sweepgrid_begins(const struct sweepgrid *g, unsigned group, int64_t t_us,
                                    int64_t period_us)
{
    return !g->begun || g->groups & sweepgrid_bit(group) ||
           t_us - g->at_us >= period_us - period_us / 4;
}

/* Takes the row in; true: it begins a sweep. */
static inline bool sweepgrid_row(struct sweepgrid *g, unsigned group, int64_t t_us,
                                 int64_t period_us)
{
    const bool begins = sweepgrid_begins(g, group, t_us, period_us);
    if (begins) {
        g->at_us = g->begun ? MAX_OF(g->at_us, t_us) : t_us;
        g->groups = 0;
        g->begun = true;
    }
    g->groups |= sweepgrid_bit(group);
    return begins;
}

#endif
