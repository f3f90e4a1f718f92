/* SPDX-License-Identifier: Apache-2.0 */
/* columns_late.h - columns of blocks that are made when the batch is complete, because only then is
 * known in which rows anybody looks at them (column_ask.where). For columns.c.
 *
 * late_add when a block becomes the current one of its lane, late_note when rows of it were taken,
 * late_end when another block does; late_done when all that was noted has been made. */
#ifndef QUERY_COLUMNS_LATE_H
#define QUERY_COLUMNS_LATE_H

#include "query/columns_own.h"

struct late {
    bool ended; /* its lane has another block now */
    size_t lane;
    uint32_t ask;
    const struct rows_block *block;
    uint32_t first, n, to;  /* rows that were taken, and the first one's sweep; n 0: none */
    struct column *columns; /* what it is made of; a copy, since heads are read block by block */
    const struct column **list; /* the same */
    size_t n_columns, cap_columns;
};

struct lates {
    struct late *v; /* those behind n have room of their own */
    size_t n, cap;
};

void lates_free(struct lates *x);
void late_add(struct lates *x, size_t lane, const struct fold_parts *parts, uint32_t ask);
/* The one of the lane's current block; NULL: it is not made late. */
struct late *late_find(struct lates *x, size_t lane, uint32_t ask);
void late_end(struct lates *x, size_t lane);
/* Nothing is noted any more; those that have ended are gone. */
void late_done(struct lates *x);
/* Its parts, in all rows for which `where` is not 0; NULL: in all. */
struct fold_parts late_parts(const struct late *l, const struct column_limits *limits,
                             const uint8_t *where);

#endif
