/* SPDX-License-Identifier: Apache-2.0 */
/* run_restore.h - writes a run from its parts (record/remake.h): an export, or runs that are
 * merged.
 *
 * run_restore_begin, then the reader emits through `remake` and calls run_restore_flush now and
 * then, run_restore_place, run_restore_end. The files are written in a hidden folder inside `home`,
 * so a failure, or a kill, leaves nothing that looks like a run. */
#ifndef CONVERT_RUN_RESTORE_H
#define CONVERT_RUN_RESTORE_H

#include "base/arena.h"
#include "base/err.h"
#include "record/remake.h"
#include "run/run_info.h"
#include "run/rundir.h"

/* One session of a node. */
struct restored_node {
    const struct run_maker_node *made;
    wall_ns start, end;
    const char *about; /* its node.json; NULL: none */
};

struct run_restore {
    struct remake remake; /* first */
    struct run_maker maker;
    struct arena arena;
    const char *about; /* the run.json; NULL: none */
    struct run_notes notes;
    struct restored_node *nodes;
    size_t n_nodes;
    struct sink nowhere; /* for data that cannot be written, after an error */
    struct err err;      /* the first one; code 0: none */
};

MUST_CHECK int run_restore_begin(struct run_restore *m, const char *home, struct err *e);
/* Writes what is buffered; also returns an error that `remake` met. */
MUST_CHECK int run_restore_flush(struct run_restore *m, struct err *e);
/* Closes all files and makes the run visible as `home`/`id` (NULL: a new name). `otherwise` is for
 * run.json if the input has none; only its start may be 0. */
MUST_CHECK int run_restore_place(struct run_restore *m, const char *home, const char *id,
                                 const struct run_about *otherwise, struct rundir *dir,
                                 struct err *e);
void run_restore_end(struct run_restore *m);

/* ---- Ctrl-C during a conversion that must remove its files before the program ends ---- */

/* Ctrl-C during a conversion that must remove its files before the program ends. */

/* From now on the first SIGINT, SIGTERM or SIGHUP is only noted; the second one ends the program at
 * once. Ignored signals stay ignored. */
void interrupted_watch(void);
/* Fails once one was noted. */
MUST_CHECK int interrupted_check(struct err *e);
/* After the clean-up: ends the program by the noted signal, so that its caller sees the reason.
 * Returns when there was none. */
void interrupted_end(void);

#endif
