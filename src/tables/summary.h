/* SPDX-License-Identifier: Apache-2.0 */
/* summary.h - the resource utilization summary: a few lines per node that say how busy it was. */
#ifndef TABLES_SUMMARY_H
#define TABLES_SUMMARY_H

#include "query/series.h"
#include "tables/runview.h"

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

/* Every row for every node. window: only node, from and to are looked at. */
MUST_CHECK int summary_read(struct run *r, const struct series_ask *window,
                            const struct loss_list *lost, struct arena *a,
                            struct summary_line **out, size_t *n, struct err *e);

#endif
