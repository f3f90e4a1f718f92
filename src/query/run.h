/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - a recorded run, open for queries.
 *
 * run_info.h finds and describes runs from their small files. run_open also opens the metric files
 * of all nodes; then series.h answers from them. Not safe for two threads at once; open twice
 * instead. */
#ifndef QUERY_RUN_H
#define QUERY_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "record/record.h"
#include "run/run_info.h"

struct run;

MUST_CHECK int run_open(struct run **out, const char *path, struct err *e);
/* The same with one node of it only, as if the run had no others, and with less memory; NULL: all.
 */
MUST_CHECK int run_open_node(struct run **out, const char *path, const char *node, struct err *e);
/* The same for callers that open a run again and again while it grows: *r is NULL, or what this
 * function opened before. Only what is new in its files is read (store_follow). On failure it is
 * NULL. */
MUST_CHECK int run_open_next(struct run **r, const char *path, const char *node, struct err *e);
const struct run_info *run_get_info(const struct run *r); /* lives as long as the run */
void run_close(struct run *r);                            /* NULL is fine */
/* After the samples of a node were read: in a run of many nodes their memory is
 * given back. Not while they are being read; they can be read again. */
void run_forget(struct run *r, const char *node);

/* What could not be measured, stored or read, merged over all nodes. */
struct run_loss {
    const char *node;
    struct loss loss;
    wall_ns at; /* of the latest */
};

struct run_mark {
    const char *node;
    struct mark mark;
    wall_ns at;
};

MUST_CHECK int run_losses(struct run *r, struct arena *a, struct run_loss **out, size_t *n,
                          struct err *e);
/* In order of time. */
MUST_CHECK int run_marks(struct run *r, struct arena *a, struct run_mark **out, size_t *n,
                         struct err *e);

/* Totals for `show`: samples stored, bytes on disk of all metric and event files. */
struct run_size {
    uint64_t samples, rows, file_bytes;
};

void run_get_size(struct run *r, struct run_size *out);
/* Bytes of memory that the open run has allocated; mapped files do not count. */
size_t run_memory(const struct run *r);

#endif
