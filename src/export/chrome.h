/* SPDX-License-Identifier: Apache-2.0 */
/* chrome.h - between the files of the Chrome export: what is being written, and its numbers.
 *
 * pids: 1 the run itself (phases, steps), then one for each node (its metrics and marks), then one
 * for each process that told events. tids: LANES for each track of the run, of which the first is
 * used unless spans overlap without one being in the other; behind those, the tracks that are
 * derived. */
#ifndef EXPORT_CHROME_H
#define EXPORT_CHROME_H

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
    struct buf names;
    size_t *ends;
    double *steps;
    size_t n_columns, cap_columns;
    int64_t node_pid;
};

/* Writes what goes between one event and the next. */
void chrome_next(struct chrome *c);
/* Decimal microseconds from the base on. */
void chrome_time(struct chrome *c, wall_ns t);
void chrome_us(struct buf *b, int64_t ns);
int64_t chrome_node_pid(const struct chrome *c, const char *node);
/* tid of the first derived track, and those behind it. */
int64_t chrome_derived_tid(const struct chrome *c, size_t i);
/* Metadata: names and order of processes and threads. */
void chrome_name_process(struct chrome *c, int64_t pid, const char *name, size_t order);
void chrome_name_thread(struct chrome *c, int64_t pid, int64_t tid, const char *name, size_t order);
/* "cpu.util gpu0", as a counter is called; the unit is the name of its value. */
void chrome_counter_name(struct buf *b, const struct row_column *col);

/* chrome_head.c: everything before the first event, and the names of all processes and threads. */
MUST_CHECK int chrome_head(struct chrome *c, struct err *e);
void chrome_names(struct chrome *c);
/* chrome_spans.c: the events of all tracks. */
MUST_CHECK int chrome_events(struct chrome *c, struct err *e);
/* chrome_flows.c: for the tracks [first, end), which are of one process. */
MUST_CHECK int flows_gather(struct chrome *c, size_t first, size_t end, struct err *e);
bool flows_begin(struct flows *f, uint64_t link); /* whether to write the begin of an arrow */
bool flows_has(struct flows *f, uint64_t link);
void flows_free(struct flows *f);

#endif
