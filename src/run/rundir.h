/* SPDX-License-Identifier: Apache-2.0 */
/* rundir.h - makes runs. There are two ways, and all makers of runs use one of them:
 *
 *   1. A recorder writes a run that readers see from its first second on:
 *      rundir_make, rundir_make_node, writer_open, rundir_put_node as often as it changes. The
 *      node that comes first writes run.json; a node writes only into its own folder.
 *   2. Imports and copies make a run that nobody sees before it is complete, by run_maker.h:
 *      rundir_hide, rundir_open_bulk for each recorder, rundir_put_node once for each,
 *      rundir_settle. After a failure rundir_remove. A kill leaves the hidden folder, which is in
 *      no list of runs.
 *
 * RUN is <name>-<YYYYMMDD-HHMMSS>-<4 hex>, or the ID that several nodes share. */
#ifndef RUN_RUNDIR_H
#define RUN_RUNDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "run/run_info.h"
#include "store/writer.h"

enum { RUN_NAME_LEN = 64, RUN_ID_LEN = 128, NODE_ID_LEN = 64 };

/* What run.json says; immutable once written. */
struct run_about {
    const char *name;
    const char *const *command; /* ends with NULL */
    const char *directory;
    const char *git_commit; /* "": none */
    const struct run_label *labels;
    size_t n_labels;
    wall_ns start;
    int64_t interval_ns;
};

struct rundir {
    char path[PATH_LEN];
    char id[RUN_ID_LEN];
    char node_id[NODE_ID_LEN];
    char node_path[PATH_LEN];
    bool made_runs, made_run, made_node; /* by us, so ours to remove */
    bool hidden;                         /* nobody else looks into it yet */
};

/* Where a run that is made of something else is to be. */
struct run_place {
    char dir[PATH_LEN], id[PATH_LEN];
};

/* wanted: the folder it is to be, which must not be there; NULL: a new one in the folder of runs,
 * of which `runs` is the value of --dir and may be NULL. */
MUST_CHECK int run_place_of(struct run_place *p, const char *wanted, const char *runs,
                            struct err *e);

/* Makes the run's folder and run.json. `shared_id` NULL: a fresh folder of this run alone. On
 * failure nothing is left behind. */
MUST_CHECK int rundir_make(struct rundir *out, const char *dir, const char *shared_id,
                           const struct run_about *about, struct err *e);
/* Makes the node's folder in it. */
MUST_CHECK int rundir_make_node(struct rundir *r, const char *node_id, struct err *e);
/* Writes the node.json of a session of a node; replaces the one before. */
MUST_CHECK int rundir_put_node(const struct rundir *r, const char *node_id, unsigned session,
                               const void *p, size_t n, struct err *e);

/* A run that is made out of sight: a hidden folder in `home`, which is made if need be. Whoever
 * fills it calls rundir_settle, or rundir_remove. */
MUST_CHECK int rundir_hide(struct rundir *out, const char *home, struct err *e);
/* The files of one more recorder in it, for readings and for events, with times on the clock of
 * `tie`. Makes the node's folder if need be. */
MUST_CHECK int rundir_open_bulk(const struct rundir *r, const char *node_id, unsigned session,
                                struct clock_tie tie, struct writer **readings,
                                struct writer **events, struct err *e);
/* Removes a node from it. */
void rundir_drop_node(const struct rundir *r, const char *node_id);
/* All of it is there: adds run.json, sees to it that everything is on the medium, and moves it in
 * one step to where runs are. `id` NULL: any new name. ERR_BUSY when that is taken. */
MUST_CHECK int rundir_settle(struct rundir *r, const char *home, const char *id,
                             const struct run_about *about, struct err *e);

/* Whether no other node writes into the run so far. */
bool rundir_is_only_node(const struct rundir *r);
/* Takes back what was made: a hidden run, or one whose job never started. `session` is the writer's
 * number, 0 when it was never opened. Files of other nodes and sessions stay. Nothing for one that
 * is empty. */
void rundir_remove(struct rundir *r, unsigned session);
/* Size of all files that this session wrote for its node. */
uint64_t rundir_session_bytes(const struct rundir *r, unsigned session);

#endif
