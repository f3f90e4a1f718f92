/* SPDX-License-Identifier: Apache-2.0 */
/* chrome_internal.h - between the files of the Chrome export: what is being written, and its
 * numbers.
 *
 * pids: 1 the run itself (phases, steps), then one for each node (its metrics and marks), then one
 * for each process that had events. tids: LANES for each track of the run, of which the first is
 * used unless spans overlap without one being in the other; after those, the tracks that are
 * derived. */
#ifndef EXPORT_CHROME_INTERNAL_H
#define EXPORT_CHROME_INTERNAL_H

#include "export/export_about.h"

enum { CHROME_RUN_PID = 1, CHROME_LANES = 16 };

/* Where spans of a track that do not nest are put side by side. */
struct chrome_lane {
    int64_t *ends; /* of the spans that are open, the outermost first */
    size_t n, cap;
    bool used;
};

/* Links that a launch and something launched both have, so that an arrow has two ends. */
struct flows {
    uint64_t *v; /* sorted */
    bool *begun; /* an arrow has only one begin */
    size_t n;
    size_t near; /* found last */
};

struct chrome {
    const struct export_job *job;
    const struct run_info *info;
    struct buf *b;
    struct arena arena;
    struct tracks tracks;
    int64_t *pids;      /* by track */
    const char **nodes; /* each once */
    size_t n_nodes;
    struct node_clocks clocks;
    int64_t base_ns; /* what ts counts from */
    bool some;       /* an event is written */
    struct chrome_lane lanes[CHROME_LANES];
    struct flows flows;
    /* Of the group of samples being written. */
    struct row_prefixes prefixes;
    int64_t node_pid;
};

/* Writes what goes between one event and the next. */
void chrome_next(struct chrome *c);
/* Decimal microseconds from the base on. */
void chrome_time(struct chrome *c, wall_ns t);
void chrome_us(struct buf *b, int64_t ns);
void chrome_name_thread(struct chrome *c, int64_t pid, int64_t tid, const char *name, size_t order);

/* chrome_spans.c: the events of all tracks. */
MUST_CHECK int chrome_events(struct chrome *c, struct err *e);

#endif
