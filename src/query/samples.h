/* SPDX-License-Identifier: Apache-2.0 */
/* samples.h - every stored sample of many series, into memory that the caller owns.
 *
 * For callers that hand whole runs to other programs: samples_open counts them, the caller
 * allocates memory, samples_fill decodes straight into it, by several threads. Series come one
 * after the other in the order of series_list, the samples of each in order of time. The run must
 * stay open, and no other thread may use it meanwhile. */
#ifndef QUERY_SAMPLES_H
#define QUERY_SAMPLES_H

#include "query/series.h"

struct samples;

/* `ask->points` does not matter. Columns that are damaged are left out; run_losses counts them. */
MUST_CHECK int samples_open(struct samples **out, struct run *r, const struct series_ask *ask,
                            struct err *e);
void samples_close(struct samples *s); /* NULL is fine */

size_t samples_series(const struct samples *s);
const struct series_key *samples_key(const struct samples *s, size_t series);
/* Samples of that series, and in total. */
uint64_t samples_count(const struct samples *s, size_t series);
uint64_t samples_total(const struct samples *s);

/* Something else that follows the samples of a series: called once for each, by any thread. */
typedef void samples_each(void *to, size_t series, uint64_t first, uint64_t count);

/* t and v have room for samples_total; t: wall ns. `each` may be NULL. */
void samples_fill(struct samples *s, int64_t *t, double *v, samples_each *each, void *to);

/* ---- samples as they were stored, row by row ----
 *
 * Recorder by recorder, group by group, in order of time. One block is in memory at a time; texts
 * and arrays are valid for one call of the sink only. */

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
    int64_t clock_ahead_ns; /* of the wall clock before the monotonic one, at first */
};

struct row_sink {
    /* The rows that follow have these columns; called again for every block. */
    int (*group)(void *to, const struct row_group *g, struct err *e);
    /* One cell per column, CELL_MISSING where there is none; at least one is there. NULL: only the
     * groups are wanted, which costs no decoding. */
    int (*row)(void *to, wall_ns t, const int64_t *cells, struct err *e);
};

/* The node, metric, entity and window of `ask`; its points do not matter. Columns that
 * are damaged are left out; run_losses counts them. */
MUST_CHECK int rows_read(struct run *r, const struct series_ask *ask, const struct row_sink *sink,
                         void *to, struct err *e);

/* A cell in the metric's unit, as every query gives it. */
double row_value(double step, int64_t cell);

#endif
