/* SPDX-License-Identifier: Apache-2.0 */
/* levels.h - smallest, largest and sum of stored values, from the values themselves or from the
 * summaries of their block. For the files of query/ alone. */
#ifndef QUERY_LEVELS_H
#define QUERY_LEVELS_H

#include "query/reduce.h"

/* What is read of a block: its values, or the finer or the coarser of its summaries. */
enum level { LEVEL_VALUES, LEVEL_ONE, LEVEL_TWO };

/* Values in a unit of a level. */
static inline uint32_t level_unit(const struct rows_block *b, enum level level)
{
    return level == LEVEL_TWO ? b->l2 : level == LEVEL_ONE ? b->l1 : 1;
}

/* All summaries of the column into scan->level, or of these only their sums; false: damaged. Not
 * for LEVEL_VALUES. */
bool level_decode(struct scan *scan, const struct rows_block *b, const struct column *c,
                  enum level level);
bool level_decode_sums(struct scan *scan, const struct rows_block *b, const struct column *c,
                       enum level level);

/* In steps of the column. */
struct extent {
    int64_t lo, hi;
    double sum;
};

/* Units [from, to) of a block, at least one, make a column of a grid or a point of a series, or a
 * part of one. */
struct stretch {
    uint32_t column, from, to;
};

enum { EXTENTS_AT_ONCE = 256 }; /* worth a call, and small enough for the stack */

/* Of n stretches of values, or of the units in scan->level. Behind the bytes of a narrow view there
 * are SCAN_PAD that may be read. */
void extents_of_values(const struct codec_view *v, const struct stretch *at, size_t n,
                       struct extent *out);
void extents_of_level(const struct scan *scan, const struct stretch *at, size_t n,
                      struct extent *out);
/* lo and hi mean nothing. */
void sums_of_values(const struct codec_view *v, const struct stretch *at, size_t n,
                    struct extent *out);
void sums_of_level(const struct scan *scan, const struct stretch *at, size_t n, struct extent *out);

#endif
