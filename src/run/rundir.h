/* SPDX-License-Identifier: Apache-2.0 */
/* rundir.h - makes runs. There are two ways, and all makers of runs use one of them:
 *
 *   1. A recorder writes a run that readers see from its first second on: rundir_make,
 *      rundir_make_node, writer_open, and rundir_put_node whenever that changes. The node that
 *      comes first writes run.json; a node writes only into its own folder.
 *   2. Imports and copies make a run in a hidden folder, so that it is seen when it is complete:
 *      run_maker_begin, run_maker_node for each recorder, readings and events through the sinks of
 *      its writers with run_maker_flush now and then; run_maker_close, rundir_put_node for each
 *      recorder, run_maker_place; at the end run_maker_end, whatever happened. A failure leaves
 *      nothing, and a kill leaves nothing that looks like a run.
 *
 * RUN is <name>-<YYYYMMDD-HHMMSS>-<4 hex>, or the ID that several nodes share: the user's, or one
 * of the launcher's job (struct run_job). */
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

/* Bytes that rundir_make may add to a shared ID of a job. */
enum { RUN_ID_SUFFIX = 4 };

/* The job of a launcher, one of whose starts a shared run records. All of it is the same on all
 * nodes of the start. */
struct run_job {
    const char *cluster, *id, *step; /* "": none */
    int64_t start_ns;                /* since the epoch; 0: not known */
    bool restarted;  /* it was requeued: the run may be there, of an earlier start */
    bool id_repeats; /* soon another job may have the same id, and no start time distinguishes them
                      */
    size_t common;   /* length of the part of the shared ID that all starts of the job have */
};

/* The contents of run.json; immutable once written. */
struct run_about {
    const char *name;
    const char *const *command; /* ends with NULL */
    const char *directory;
    const char *git_commit; /* "": none */
    const char *user;       /* the user that started it; NULL: not known */
    const struct run_label *labels;
    size_t n_labels;
    const struct run_job *job; /* NULL: the run belongs to none */
    wall_ns start;
    int64_t interval_ns;
};

struct rundir {
    char path[PATH_LEN];
    char id[RUN_ID_LEN];
    char node_id[NODE_ID_LEN];
    char node_path[PATH_LEN];
    bool made_runs, made_run, made_node; /* by us, so ours to remove */
    bool hidden;                         /* no list of runs has it yet */
};

/* Where a run that is made of something else is to be: the folder of runs, and its name there; "":
 * any new one. */
struct run_place {
    char dir[PATH_LEN], id[PATH_LEN];
};

/* wanted: the folder it is to be, which must not be there; NULL: a new one in the folder of runs,
 * of which `runs` is the value of --dir and may be NULL. */
MUST_CHECK int run_place_of(struct run_place *p, const char *wanted, const char *runs,
                            struct err *e);

/* Makes the run's folder and run.json. `shared_id` NULL: a fresh folder of this run alone. With
 * about->job the run may get another ID: that of an earlier start of a requeued job, or one with a
 * suffix when the run with this ID is another job's. On failure nothing is left. */
MUST_CHECK int rundir_make(struct rundir *out, const char *dir, const char *shared_id,
                           const struct run_about *about, struct err *e);
/* Makes the node's folder in it. */
MUST_CHECK int rundir_make_node(struct rundir *r, const char *node_id, struct err *e);
/* Writes the node.json of a session of a node. In a hidden run only once. */
MUST_CHECK int rundir_put_node(const struct rundir *r, const char *node_id, unsigned session,
                               const void *p, size_t n, struct err *e);

/* Whether no other node writes into the run so far. */
bool rundir_is_only_node(const struct rundir *r);
/* Takes back what was made, for a run whose job never started. `session` is the writer's number, 0
 * when it was never opened. Files of other nodes and sessions stay. */
void rundir_remove(struct rundir *r, unsigned session);
/* All that the node recorded is elsewhere: removes its folder, and the run when no other node is in
 * it. */
void rundir_remove_node(const struct rundir *r);
/* What the files in the folder of a node take on the disk. */
uint64_t rundir_disk_bytes(const char *node_path);
/* Size of all files that this session wrote for its node. */
uint64_t rundir_session_bytes(const struct rundir *r, unsigned session);

/* The file of a detail window that a living recorder's hooks left, in the folder of its node. The
 * recorder need not be this process: `session` is its number. `python` as in run_window_stem. */
struct rundir_window {
    const char *node_path;
    unsigned session, pid, window;
    bool python;
};

MUST_CHECK int rundir_open_window(struct writer **out, const struct rundir_window *x,
                                  struct err *e);

/* ---- a run that is made out of something else ---- */

/* The events of a detail window have a separate file. */
struct run_maker_window {
    unsigned pid, window;
    struct writer *writer;
};

/* One recorder. */
struct run_maker_node {
    char id[NODE_ID_LEN];
    unsigned session;
    struct writer *metrics, *events; /* NULL when they are closed */
    struct run_maker_window *windows;
    size_t n_windows, cap_windows;
};

struct run_maker {
    struct rundir dir;
    struct run_maker_node **nodes;
    size_t n_nodes, cap_nodes;
};

/* `home`, the folder of runs, is made if need be. */
MUST_CHECK int run_maker_begin(struct run_maker *m, const char *home, struct err *e);
/* NULL: there is none. `id` as name_sanitize makes it. */
struct run_maker_node *run_maker_find(const struct run_maker *m, const char *id, unsigned session);
/* A new one; the times of its files are on the clock of `tie`. It is valid as long as the maker. */
MUST_CHECK int run_maker_node(struct run_maker *m, const char *id, unsigned session,
                              struct clock_tie tie, struct run_maker_node **out, struct err *e);
/* The file of a detail window, made when it is first requested. */
MUST_CHECK int run_maker_window(struct run_maker_node *n, unsigned pid, unsigned window,
                                struct writer **out, struct err *e);
/* Writes what waits, where there is much of it. */
MUST_CHECK int run_maker_flush(struct run_maker *m, struct err *e);
/* Closes all files. ERR_LIMIT when something could not be written. */
MUST_CHECK int run_maker_close(struct run_maker *m, struct err *e);
/* Removes the folder of a node after all; nothing of it is in the run. */
void run_maker_drop(const struct run_maker *m, const struct run_maker_node *n);
/* The run becomes `home`/`id`; NULL: any new name. ERR_BUSY when that is taken. */
MUST_CHECK int run_maker_place(struct run_maker *m, const char *home, const char *id,
                               const struct run_about *about, struct rundir *out, struct err *e);
/* Removes what was not placed. */
void run_maker_end(struct run_maker *m);

#endif
