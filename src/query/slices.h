/* SPDX-License-Identifier: Apache-2.0 */
/* slices.h - times of blocks, decoded once a query. */
#ifndef QUERY_SLICES_H
#define QUERY_SLICES_H

#include "query/reduce.h"

/* Times of all rows of the block, us; NULL: damaged. Lives as long as the scan. */
const int64_t *block_times(struct scan *s, struct store *store, const struct rows_block *b);

#endif
