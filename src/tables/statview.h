/* SPDX-License-Identifier: Apache-2.0 */
/* statview.h - minimum, quantiles and maximum of what was measured, as `stats` shows them. */
#ifndef TABLES_STATVIEW_H
#define TABLES_STATVIEW_H

#include "base/json_write.h"
#include "base/row_table.h"
#include "query/series.h"
#include "tables/runview.h"

/* ---- the summary: a few lines per node that show how busy it was ---- */

struct summary_row {
    const char *name;  /* in JSON and CSV */
    const char *title; /* for people */
    const char *metric;
    const char *entity; /* NULL: all of them, pooled */
};

struct summary_line {
    const char *node;
    const struct summary_row *row;
    const char *unit;
    struct series_stats stats; /* count 0: nothing was measured */
    const char *why, *what;    /* then why, and what the reason is about */
};

/* Every row for every node. window: only node, from and to are used. */
MUST_CHECK int summary_read(struct run *r, const struct series_ask *window,
                            const struct loss_list *lost, struct arena *a,
                            struct summary_line **out, size_t *n, struct err *e);

/* ---- statistics ---- */

/* A line, from the summary of a node or from one series. */
struct stat_line {
    const char *node, *metric, *title, *entity, *unit; /* entity NULL: of the whole node */
    const struct series_stats *s;
    const char *why, *what; /* NULL: there are values */
};

/* The same as a row of a table. */
struct stat_row {
    const struct stat_line *line;
    const char *window;
};

extern const struct row_table row_Stat; /* see stat_rows.def */

struct statview {
    struct stat_line *v;
    size_t n;
    bool all;           /* every series there is, not only the summary of each node */
    const char *window; /* what it is of: "job", "loop" (the training loop after its warm-up), or
                         * "given": a window that the caller requested */
};

/* ask: only node, from and to are used. ERR_NOT_FOUND when there is no such node. */
MUST_CHECK int statview_read(struct statview *out, struct run *r, const struct series_ask *ask,
                             bool all, struct arena *a, struct err *e);
/* The same of a summary that was read already, which must stay. */
void statview_of(struct statview *out, const struct summary_line *s, size_t n, struct arena *a);
/* The elements alone, into an array that the caller opened. */
void statview_lines_json(struct jw *j, const struct statview *v);
/* One array. */
void statview_json(struct jw *j, const struct statview *v);

/* ---- series ---- */

/* Readings over time as `query` shows them. */

/* One object. `full` is called when the buffer is large, and may empty it; NULL: never. */
void series_json(struct jw *j, const struct series *s, void (*full)(struct buf *b));

/* ---- which series a query matches, and the error when there are none ---- */

/* Every metric there is, for completion; ends with NULL. */
extern const char *const metric_names[];

/* All series of the run. */
struct keys {
    struct series_key *v;
    size_t n;
};

/* ERR_NOT_FOUND when nothing matches; the message names the wrong part and what is available, or
 * why it was not measured. */
MUST_CHECK int series_ask_check(struct run *r, const struct series_ask *ask, const struct keys *all,
                                struct err *e);

#endif
