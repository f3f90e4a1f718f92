/* SPDX-License-Identifier: Apache-2.0 */
/* block_cursor.h - the stored readings of a series, block by block, for all readers of query/.
 *
 *     series_select          which series a request is about
 *     block_cursor_next      which blocks of a series meet a window, in order of time
 *     block_groups           or which blocks belong to the same group, for readers of whole rows
 *     slices_of              which values of those blocks are in the window
 *     value_clock_open       when each value was read, with gaps
 *     slice_values           the values, or
 *     level_decode           the summaries of the block
 *     extents_of             minimum, maximum and sum of ranges of either
 *
 * Values of a column are numbered without gaps; rows of a block are the times at which its group
 * was read. A summary is of `level_unit` values. Times in us are on the clock of the file. */
#ifndef QUERY_BLOCK_CURSOR_H
#define QUERY_BLOCK_CURSOR_H

#include <string.h>

#include "query/run_internal.h"
#include "query/series.h"

/* ---- series ---- */

/* Copied into the arena. */
struct series_key series_key_of(const struct run_series *m, struct arena *a);
/* The series that any of the requests selects, as pointers; returns their number. */
size_t series_select(const struct run *r, const struct series_ask *asks, size_t n_asks,
                     struct arena *a, const struct run_series ***out);

/* ---- buffers ---- */

enum { SCAN_PAD = 8 }; /* bytes after the last of scan->v8 that the codec may write */

/* Buffers for decoding, and the times of blocks that were needed so far; one per thread. */
struct scan {
    struct arena arena;
    struct codec *codec;
    struct scan_times *times; /* one per store */
    size_t n_times, cap_times;
    bool once; /* times of a block are needed once or twice, so they are not cached */
    uint8_t *v8;
    int64_t *v64;
    int64_t *level[3]; /* summaries; NULL until one is decoded */
    uint32_t *rows;    /* NULL until they are needed */
};

void scan_open(struct scan *s);
void scan_close(struct scan *s);
/* Times of all rows of the block, us; NULL: damaged. Valid as long as the scan, or with scan->once
 * until anything else is decoded. */
const int64_t *scan_times(struct scan *s, const struct store *store, const struct rows_block *b);
/* The rows in which a column has its values, until those of another are needed; NULL: damaged. */
const uint32_t *scan_value_rows(struct scan *s, const struct column *c, const struct rows_block *b);

/* ---- blocks of a window ---- */

/* Half open. */
struct block_window {
    int64_t from, to;
};

/* [from, to) of wall time, 0: open. */
struct block_window block_window_of(const struct store *s, wall_ns from, wall_ns to);

static inline bool block_window_meets(const struct block_window *w, const struct rows_block *b)
{
    return b->t_last_us >= w->from && b->t_first_us < w->to;
}

/* Values [from, to) of a column. */
struct slice {
    struct store *store;
    const struct rows_block *block;
    const struct column *column;
    uint32_t from, to;
    uint32_t part, ref; /* where the series has the column */
};

struct block_cursor {
    const struct run_series *series;
    wall_ns from, to;
    size_t part; /* the next block */
    uint32_t ref;
    struct block_window window; /* on the clock of the part */
};

struct block_cursor block_cursor_of(const struct run_series *m, wall_ns from, wall_ns to);
/* The next block that meets the window, with its whole column; false: there are no more. */
bool block_cursor_next(struct block_cursor *c, struct slice *out);

struct slices {
    struct slice *v;
    size_t n;
    uint64_t values; /* of all */
};

/* All slices of a series in [from, to) of wall time (0: open), in order, in the arena. */
struct slices slices_of(struct scan *s, const struct run_series *m, wall_ns from, wall_ns to,
                        struct arena *a);
/* The series has a value in every row of every block that meets the window. */
bool slices_plain(const struct run_series *m, wall_ns from, wall_ns to);

/* There is a value in every row of the block. */
static inline bool column_is_plain(const struct column *c, const struct rows_block *b)
{
    return !c->has_gaps && c->first_row == 0 && c->count == b->rows;
}

/* ---- blocks of a group ---- */

/* Blocks of series that were read together, in order of time. */
struct block_group {
    uint32_t *blocks; /* of the store */
    uint32_t n;
};

/* The groups of a store, in the order of their first blocks, in the arena; returns how many. `used`
 * selects blocks by their index; NULL: all. */
size_t block_groups(const struct store *s, const bool *used, struct arena *a,
                    struct block_group **out);

/* The first ref of a series in that block of its store or a later one; n_refs: none. */
size_t series_first_ref(const struct store_series *s, uint32_t block);

/* ---- times ---- */

/* The time of a row by the times in the block's head and its period, us: where the block is
 * regular, off by no more than the sampling jitter. */
int64_t block_grid_time(const struct rows_block *b, uint32_t row);
/* No row was skipped or late by a period. */
bool block_is_regular(const struct rows_block *b);

struct value_clock {
    const struct rows_block *block;
    const int64_t *times; /* NULL: block_grid_time */
    const uint32_t *rows; /* of the values; NULL: no gaps */
    uint32_t first_row;
};

/* False: damaged. Without `by_grid` times are exact. Valid until another one is opened. */
bool value_clock_open(struct scan *s, const struct slice *sl, bool by_grid,
                      struct value_clock *out);

static inline int64_t value_clock_us(const struct value_clock *c, uint32_t value)
{
    const uint32_t row = c->rows ? c->rows[value] : c->first_row + value;
    return c->times ? c->times[row] : block_grid_time(c->block, row);
}

/* ---- values and summaries ---- */

/* Values as bytes over a base or as integers; false: damaged. */
bool slice_values(struct scan *s, const struct slice *in, struct codec_view *view);

/* What is read of a block: its values, or the finer or the coarser of its summaries. */
enum level { LEVEL_VALUES, LEVEL_ONE, LEVEL_TWO };

static inline uint32_t level_unit(const struct rows_block *b, enum level level)
{
    return level == LEVEL_TWO ? b->l2 : level == LEVEL_ONE ? b->l1 : 1;
}

/* All summaries of the column into scan->level, or with `sums` only their sums; false: damaged. Not
 * for LEVEL_VALUES. */
bool level_decode(struct scan *s, const struct slice *in, enum level level, bool sums);

/* ---- reducing ---- */

/* In steps of the column. */
struct extent {
    int64_t lo, hi;
    double sum;
};

/* Units [from, to) of a block, at least one, are a point of a series or a column of a grid, or a
 * part of it. */
struct unit_range {
    uint32_t point, from, to;
};

enum { EXTENTS_AT_ONCE = 256 }; /* worth a call, and small enough for the stack */

/* Of n ranges of values, or, with `view` NULL, of the summaries in scan->level. With `sums` lo and
 * hi are not set. */
void extents_of(const struct scan *s, const struct codec_view *view, const struct unit_range *at,
                size_t n, bool sums, struct extent *out);

#endif
