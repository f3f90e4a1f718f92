/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.h - what is made of the values of blocks: how often each occurred, and one column of
 * floats out of several columns of integers. */
#ifndef QUERY_REDUCE_H
#define QUERY_REDUCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "query/block_cursor.h"
#include "store/column.h"

struct series_stats;

/* ---- how often each value occurred, and so any quantile, exactly ---- */

/* Small integers are counted, others are collected and sorted. Not negative. */

enum { TALLY_SMALL = 4096 };

struct tally_bin {
    double value;
    uint64_t count;
};

struct tally {
    double step; /* of the counts below */
    struct scale scale;
    uint64_t counts[TALLY_SMALL]; /* of 0, 1, 2 ... steps */
    uint32_t top;                 /* one above the largest counted */
    struct tally_bin *bins;       /* counts of earlier steps */
    size_t n_bins, cap_bins;
    double *values; /* not counted */
    size_t n_values, cap_values;
};

void tally_open(struct tally *t);
void tally_free(struct tally *t);
/* Values that follow are in this step. */
void tally_step(struct tally *t, double step);
void tally_add(struct tally *t, int64_t steps, uint64_t count);
/* All samples of a series in [from, to) (0: open): whole blocks from the histograms in their heads,
 * the rest is decoded. */
void tally_series(struct tally *t, struct scan *scan, const struct run_series *m, wall_ns from,
                  wall_ns to);
/* Every value with how often it occurred, in no order and perhaps in parts; the tally is empty
 * afterwards. */
void tally_each(struct tally *t, void (*see)(void *to, double value, uint64_t count), void *to);
/* Fills count, min, max, mean and the quantiles; the tally is used up. */
void tally_finish(struct tally *t, struct series_stats *out);

/* ---- several columns of a block become one of floats ---- */

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
