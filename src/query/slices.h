/* SPDX-License-Identifier: Apache-2.0 */
/* slices.h - times of blocks, decoded once a query, and what they tell of values. */
#ifndef QUERY_SLICES_H
#define QUERY_SLICES_H

#include "query/reduce.h"

/* Times of all rows of the block, us; NULL: damaged. Lives as long as the scan, or with scan->once
 * until anything else is decoded. */
const int64_t *block_times(struct scan *s, struct store *store, const struct rows_block *b);
/* The time of a row on the grid between two times of the block's head, us: where the block is
 * regular, off by no more than the sampling jitter. */
int64_t block_grid_time(const struct rows_block *b, uint32_t row);
/* No row was skipped or late by a period: the rows of the block stand on their grid. */
bool block_is_regular(const struct rows_block *b);
/* First of n rows at or after t, us. */
uint32_t row_at(const int64_t *times, uint32_t n, int64_t t);

/* There is a value in every row of the block. */
static inline bool column_is_plain(const struct column *c, const struct rows_block *b)
{
    return !c->has_gaps && c->first_row == 0 && c->count == b->rows;
}

#endif
