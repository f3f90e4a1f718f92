/* SPDX-License-Identifier: Apache-2.0 */
/* rundir.h - the run folder: its name, its run.json, its place for this node.
 *
 *     <dir>/<name>-<YYYYMMDD-HHMMSS>-<4 hex>/      a run of one node
 *     <dir>/<run id>/                              a run that several nodes share
 *         run.json       written once, by whichever node comes first
 *         node-<id>/     everything that this node writes */
#ifndef AGENT_RUNDIR_H
#define AGENT_RUNDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/launcher.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"

enum { RUN_NAME_LEN = 64, RUN_ID_LEN = 128, NODE_ID_LEN = 64 };

struct label {
    const char *key, *value;
};

/* What run.json tells; immutable once written. */
struct run_about {
    const char *name;
    const char *const *command; /* ends with NULL */
    const char *directory;
    const char *git_commit; /* "": none */
    const struct label *labels;
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
};

/* "train" for `python -u train.py`, else the command's base name; only letters that are safe in a
 * file name. Never empty. */
void run_name_of(char out[RUN_NAME_LEN], const char *const command[]);
/* Copies with everything but letters, digits, '.', '_', '-' and '@' made '-'; no leading dot or
 * dash. */
void name_sanitize(char *out, size_t size, const char *text);
/* The id that all nodes of a launcher's job share; false when there is only this one. */
bool run_id_of_launcher(char out[RUN_ID_LEN], const struct launcher *l, const char *name);
/* The host's name, with the local rank behind it where a launcher starts a recorder per rank. */
void node_id_default(char out[NODE_ID_LEN], const char *host, const struct launcher *l);

/* Makes the run's folder and run.json. `shared_id` NULL: a fresh folder of this run alone. On
 * failure nothing is left behind. */
MUST_CHECK int rundir_make(struct rundir *out, const char *dir, const char *shared_id,
                           const struct run_about *about, struct err *e);
/* Makes the node's folder in it. */
MUST_CHECK int rundir_make_node(struct rundir *r, const char *node_id, struct err *e);
/* A run that is made out of sight: a hidden folder in `home`, for the caller to fill and, when it
 * does not come to that, to remove. */
MUST_CHECK int rundir_hide(struct rundir *out, const char *home, struct err *e);
/* All of it is there: adds run.json, sees to it that everything is on the medium, and moves it in
 * one step to where runs are. `id` NULL: any new name. ERR_BUSY when that is taken. */
MUST_CHECK int rundir_settle(struct rundir *r, const char *home, const char *id,
                             const struct run_about *about, struct err *e);
/* Whether no other node writes into the run's folder, so far. */
bool rundir_is_only_node(const struct rundir *r);
/* Takes back what was made: for a run whose job never started. `session` is the writer's number, 0
 * when it was never opened. Files of other nodes and sessions stay. */
void rundir_remove(struct rundir *r, unsigned session);
/* Size of all files that this session wrote for its node. */
uint64_t rundir_session_bytes(const struct rundir *r, unsigned session);

#endif
