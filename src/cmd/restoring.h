/* SPDX-License-Identifier: Apache-2.0 */
/* restoring.h - a run put together anew (record/remake.h), out of sight until it is complete.
 *
 * restoring_begin, then whoever reads tells through `remake` and calls restoring_flush now and
 * then, restoring_place, restoring_end. The files are written in a hidden folder inside `home`, so
 * that a failure, or a kill, leaves nothing that looks like a run. */
#ifndef CMD_RESTORING_H
#define CMD_RESTORING_H

#include "base/arena.h"
#include "record/remake.h"
#include "run/rundir.h"

/* What describes a recorder. */
struct restored_node {
    const struct run_maker_node *made;
    wall_ns start, end;
    const char *about; /* its node.json; NULL: none */
};

struct restoring {
    struct remake remake; /* first */
    struct run_maker maker;
    struct arena arena;
    const char *about; /* the run.json; NULL: none */
    struct restored_node *nodes;
    size_t n_nodes;
    struct sink nowhere; /* for what cannot be kept, after an error */
    struct err err;      /* the first one; code 0: none */
};

MUST_CHECK int restoring_begin(struct restoring *m, const char *home, struct err *e);
/* Writes what waits; also tells when something could not be kept. */
MUST_CHECK int restoring_flush(struct restoring *m, struct err *e);
/* Closes all files and puts the run together as `home`/`id` (NULL: a new name). `otherwise` is what
 * run.json says where nobody told it; only its start may be left 0. */
MUST_CHECK int restoring_place(struct restoring *m, const char *home, const char *id,
                               const struct run_about *otherwise, struct rundir *dir,
                               struct err *e);
void restoring_end(struct restoring *m);

#endif
