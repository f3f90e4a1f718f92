/* SPDX-License-Identifier: Apache-2.0 */
/* columns_state.h - what columns.c and columns_batch.c work on.
 *
 * A lane is one group of one recorder: its blocks one after the other, the current one decoded to
 * floats. Rows of all lanes are taken in order of time; which sweep each belongs to is noted, and
 * whole stretches of rows are copied when a block or a batch ends. */
#ifndef QUERY_COLUMNS_STATE_H
#define QUERY_COLUMNS_STATE_H

#include "query/columns_late.h"
#include "query/sweepgrid.h"

enum { BATCH = 4096 };

struct lane {
    uint32_t *blocks; /* of the store, in order of time */
    uint32_t n_blocks, next_block;
    uint32_t rows, row; /* of the current block; the next one to take */
    uint32_t first;     /* of those that are noted and not copied yet */
    int64_t *times;     /* us */
    int64_t period_us;
    float **v;    /* by ask; NULL: no room yet */
    bool *has;    /* by ask: it is in this block */
    uint32_t *to; /* by row: its sweep in the batch */
    uint32_t cap; /* rows that there is room for */
};

/* Room for a batch. */
struct made {
    wall_ns at[BATCH];
    float **batch;   /* by ask */
    const float **v; /* the same, or NULL where the node never had it */
};

struct columns {
    const struct run *run;
    const char *node;
    const struct column_ask *asks;
    size_t n_asks;
    struct fold_room room;
    struct column *heads; /* of a block, where the store does not keep them */
    const struct column **list;
    uint32_t cap_heads;
    size_t session; /* in run_info.nodes; the next to open */

    struct arena arena; /* of what follows: the session being read */
    const struct store *store;
    struct input *inputs; /* sorted by block */
    size_t n_inputs;
    struct lane *lanes;
    size_t n_lanes;
    struct sweepgrid grid;
    int64_t period_us; /* the shortest of the lanes now */

    struct made made[2]; /* in turns: the batch before stays while the next is made */
    struct made *now;
    size_t n, most;       /* sweeps of it; most: that there may be */
    struct lates lates;   /* of it, and of current blocks */
    uint8_t where[BATCH]; /* for one of them, by row */
    float late[BATCH];
    uint32_t *filled; /* by ask: sweeps of the batch that have a value or NAN */
    bool *ever;       /* by ask: the node had it */
};

/* The next block whose times can be read becomes the current one; without one row == rows. */
void lane_load(struct columns *c, struct lane *l);
/* For an ask, of as many rows as any block of the lane has had. */
float *lane_room(struct lane *l, uint32_t ask);

/* Another batch, empty. */
void batch_clear(struct columns *c);
/* As many sweeps as it takes; none: the recorder has no more. */
void batch_fill(struct columns *c, int64_t *period_us);

#endif
