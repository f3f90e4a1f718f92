/* SPDX-License-Identifier: Apache-2.0 */
/* run_names.h - what files and folders of a run are called. Nothing else composes these names;
 * those of the recorder's files (metrics.fp, events.tail, lock ...) are in store/format.h.
 *
 *     RUNS/RUN/run.json
 *              findings.json
 *              notes.json                   name, tags and text that users gave it
 *              report.html, report.json
 *              derived/                     caches of older versions; ignored
 *              received.json                on a hub: the token by which it came
 *              node-ID/node.json            node-2.json: the second recorder, and so on
 *                      metrics.fp           metrics-2.fp
 *                      shipping.json        how far the node was sent elsewhere
 *                      trace-PID-K.fp       a detail window: events of a process
 *                      tensors-RANK-STEP-PID-K.npz    tensors saved at the user's request
 *          .import-XXXXXXXX/                a run that is being made
 *          audit.jsonl                      on a hub: what users did to runs */
#ifndef RUN_RUN_NAMES_H
#define RUN_RUN_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "store/format.h"

#define RUN_ABOUT       "run.json"
#define RUN_FINDINGS    "findings.json"
#define RUN_NOTES       "notes.json"
#define RUN_REPORT      "report.html"
#define RUN_REPORT_JSON "report.json"
#define RUN_RECEIVED    "received.json"
#define RUN_SHIPPING    "shipping.json"
#define RUN_NODE_STEM   "node" /* of node.json */
#define RUN_NODE_END    "json"
#define RUN_NODE_SHIP   "ship_interval_ns" /* a key of node.json */
#define RUNS_DEFAULT    "footplate-runs"   /* the default of the setting `dir` */
#define RUNS_GITIGNORE  ".gitignore"
#define RUNS_AUDIT      "audit.jsonl"

/* Path buffers have PATH_LEN bytes; a longer path is ERR_LIMIT. */

/* RUN/FILE */
MUST_CHECK int run_path(char *out, const char *run, const char *file, struct err *e);
/* RUN/node-ID */
MUST_CHECK int run_node_path(char *out, const char *run, const char *node, struct err *e);
/* FOLDER/STEM-SESSION.END, in the folder of a node */
MUST_CHECK int run_session_path(char *out, const char *folder, const char *stem, unsigned session,
                                const char *end, struct err *e);
/* A new name for a folder in which a run is made; the caller tries another when it is taken. */
MUST_CHECK int run_hidden_path(char *out, const char *runs, unsigned number, struct err *e);

/* The ID in the name of a node's folder; NULL: it is not a node's folder. */
const char *run_node_id(const char *name);
/* Whether a file in a node's folder has the events of a detail window. */
bool run_is_window(const char *name);
/* Its stem. `python`: samples of the stack of Python, not operators. */
void run_window_stem(char *out, size_t size, unsigned pid, bool python, unsigned window);

/* A file with saved tensors of one step of one process. */
struct run_saved {
    unsigned rank, step, pid, k;
};

#define RUN_SAVED_START "tensors-"
#define RUN_SAVED_END   ".npz"

/* "tensors-RANK-STEP-PID-K.npz", and "-N" before the dot when another session than the first wrote
 * it; false: it is no such name. `session` may be NULL. */
bool run_saved_parse(const char *name, struct run_saved *out, unsigned *session);
/* Whether the bytes begin as such a file does: ERR_FORMAT. */
MUST_CHECK int run_saved_check(const char *name, const void *p, size_t n, struct err *e);
void run_saved_name(char *out, size_t size, const struct run_saved *x, unsigned session);

/* What a file of a run is, by its name, for what leaves or enters a machine file by file. */
enum run_file_kind {
    RUN_FILE_OTHER,  /* locks, caches, files of others: they stay where they are */
    RUN_FILE_ABOUT,  /* run.json: written once */
    RUN_FILE_WHOLE,  /* findings, reports and notes: replaced as a whole */
    RUN_FILE_NODE,   /* node.json: replaced as a whole */
    RUN_FILE_SEALED, /* grows */
    RUN_FILE_TAIL,   /* grows, and starts again with each segment */
    RUN_FILE_SAVED,  /* tensors: written once */
};

/* `in_node`: in the folder of a node, else in that of the run. */
enum run_file_kind run_file_kind(const char *name, bool in_node);
/* Whether name_sanitize would leave it as it is, and it is shorter than `size`. */
bool name_is_sane(const char *name, size_t size);
/* Whether a file in a node's folder was written by this session. */
bool run_is_of_session(const char *name, unsigned session);

/* Copies with everything but letters, digits, '.', '_', '-' and '@' made '-'; no leading dot or
 * dash. For IDs of runs and nodes. */
void name_sanitize(char *out, size_t size, const char *text);

/* ---- whether two descriptions are of one run ----
 *
 * Nodes that record into separate folders describe their run independently; where these
 * folders meet, the run of another job may have the same name, and the two must not mix. */

/* The texts of two run.json. Of one job: the same id, cluster, step and start of the job. Where the
 * start of the job is not known, or there is no launcher, the runs must have begun close together,
 * unless the id has a UUID, which no other job has. One that cannot be read is not the same as any.
 */
bool run_is_same(const void *a, size_t a_len, const void *b, size_t b_len);

#endif
