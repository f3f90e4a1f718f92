/* SPDX-License-Identifier: Apache-2.0 */
/* grid_own.h - for the files of grid alone. */
#ifndef QUERY_GRID_OWN_H
#define QUERY_GRID_OWN_H

#include "query/grid.h"
#include "query/levels.h"

/* How wide a column has to be that summaries of a level can be read for it, in ns: the middle of at
 * least one has to lie in every column. Those of a regular block are further apart than their
 * samples by a period at most; others may have missed some. */
static inline int64_t level_step_least(const struct rows_block *b, enum level level, bool regular)
{
    const int64_t unit = level_unit(b, level), apart = unit + 2, missed = (5 * unit + 3) / 4;
    return (regular || missed < apart ? apart : missed) * b->period_ns;
}

struct merged;

/* As many as are asked for, or by a third fewer at most, when that is where summaries can be read
 * instead of values, or coarser ones, of n series that are like `m`, which is one of them. */
size_t grid_columns_for(const struct grid_ask *ask, const struct merged *m, size_t n);

#endif
