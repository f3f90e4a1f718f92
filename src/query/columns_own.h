/* SPDX-License-Identifier: Apache-2.0 */
/* columns_own.h - the inside of columns.h: which series a column is made of, and how they become
 * one. */
#ifndef QUERY_COLUMNS_OWN_H
#define QUERY_COLUMNS_OWN_H

#include "query/columns.h"
#include "store/reader.h"

enum fold { FOLD_NONE, FOLD_MAX, FOLD_MEAN, FOLD_SUM };

/* A column of a block that an ask is made of. */
struct input {
    uint32_t block, ask, column;
    enum fold fold;
};

/* All of them, sorted by block, ask and column, in the arena; returns how many. */
size_t columns_plan(const struct store *s, const struct column_ask *asks, size_t n_asks,
                    struct arena *a, struct input **out);
/* Whether the store has anything of what is asked for. */
bool columns_are_in(const struct store *s, const struct column_ask *ask);

/* What decoding needs, one per thread. Room for ROWS_MOST rows. */
struct fold_room {
    struct codec *codec;
    uint8_t *v8;
    int64_t *v64;
    uint32_t *rows;
    int16_t *small; /* of the fast way */
    uint32_t *sums;
    double *wide; /* of the slow one */
    uint32_t *counts;
};

void fold_room_open(struct fold_room *m);
void fold_room_close(struct fold_room *m);

/* Columns of a block that become one. */
struct fold_parts {
    const struct rows_block *block;
    const struct column **v; /* their order may be changed */
    size_t n;
    enum fold fold;
    const struct column_limits *limits; /* as in column_ask */
    const uint8_t *where;               /* by row: not 0, it counts; NULL: all do */
};

/* `out` has room for the rows of the block. Columns that are damaged are left out. */
void fold_columns(struct fold_room *m, const struct fold_parts *p, float *out);

#endif
