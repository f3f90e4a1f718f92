/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h - samples as they were stored, row by row: for who copies or exports a run.
 *
 * Recorder by recorder, group by group, in order of time. One block is held in memory at a time;
 * texts and arrays that a sink gets are good for that call only. */
#ifndef QUERY_ROWS_H
#define QUERY_ROWS_H

#include "query/series.h"

struct row_column {
    const char *metric, *entity, *unit;
    double step; /* what one unit of a cell is worth */
};

/* Series that were read together. */
struct row_group {
    const char *node, *name;
    unsigned session;
    int64_t period_ns;
    const struct row_column *columns;
    size_t n;
    wall_ns first;          /* of its rows to come */
    int64_t clock_ahead_ns; /* of the wall clock before the monotonic one, as first told */
};

struct row_sink {
    /* The rows that follow have these columns; comes again with every block. */
    int (*group)(void *to, const struct row_group *g, struct err *e);
    /* One cell per column, CELL_MISSING where there is none; at least one is there. NULL: only the
     * groups are wanted, which costs no decoding. */
    int (*row)(void *to, wall_ns t, const int64_t *cells, struct err *e);
};

/* What `ask` says of node, metric, entity and window; its points are not looked at. Columns that
 * are damaged are left out; run_losses counts them. */
MUST_CHECK int rows_read(struct run *r, const struct series_ask *ask, const struct row_sink *sink,
                         void *to, struct err *e);

/* A cell in the metric's unit, as every query gives it. */
double row_value(double step, int64_t cell);

#endif
