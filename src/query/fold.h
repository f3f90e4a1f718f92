/* SPDX-License-Identifier: Apache-2.0 */
/* fold.h - several columns of a block become one of floats. */
#ifndef QUERY_FOLD_H
#define QUERY_FOLD_H

#include "query/block_cursor.h"

enum fold { FOLD_NONE, FOLD_MAX, FOLD_MEAN, FOLD_SUM };

/* Buffers for decoding, one per thread, each for ROWS_MOST rows. */
struct fold_room {
    struct scan scan;
    int16_t *small; /* of whole columns of small numbers */
    uint32_t *sums;
    double *wide; /* of all others */
    uint32_t *counts;
};

void fold_room_open(struct fold_room *m);
void fold_room_close(struct fold_room *m);

/* Columns of a block that become one. */
struct fold_parts {
    const struct rows_block *block;
    const struct column *const *v;
    size_t n;
    enum fold fold;
};

/* `out` has room for the rows of the block; NAN is a row without a reading. Damaged columns are
 * left out. */
void fold_columns(struct fold_room *m, const struct fold_parts *p, float *out);

#endif
