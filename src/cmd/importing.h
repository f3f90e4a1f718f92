/* SPDX-License-Identifier: Apache-2.0 */
/* importing.h - traces made into a run, out of sight until it is complete.
 *
 * Everything is written in a hidden folder inside `home`; importing_place moves the run where it
 * belongs, in one step; importing_end removes what is left. So a failure, or a kill, leaves nothing
 * that looks like a run. */
#ifndef CMD_IMPORTING_H
#define CMD_IMPORTING_H

#include "base/progress.h"
#include "import/import_file.h"
#include "import/import_folder.h"
#include "import/import_sinks.h"
#include "import/importer.h"
#include "run/rundir.h"

/* One machine: rows go to its metrics file, all else to its events file. */
struct import_node {
    struct sink_pass pass;       /* to the events file; first: the sink is the node */
    struct run_maker_node *made; /* its files */
    struct import_rows rows;
    struct import_pids pids;  /* the sink of traces; passes on to `pass` */
    bool told;                /* anything at all */
    mono_ns first, last;      /* of that */
    int64_t rank, world_size; /* -1: not told, or there are several */
    unsigned traces;          /* files that told of a rank */
    int64_t interval_ns;      /* between rows, once it is closed; 0: there are none */
    unsigned cores, gpus;     /* seen or said, once it is closed */
    struct import_machine said;
};

/* What became of a file of the folder. */
struct import_part {
    struct import_file_result got;
    struct import_node *node;
    const char *failed; /* why it could not be read to its end; NULL: it was, or was not read */
};

struct importing {
    struct run_maker maker;
    struct folder *from;
    struct import_part *parts; /* one for each file of the folder */
    struct import_node **nodes;
    size_t n_nodes, at;   /* at: the file that is being read */
    struct clock_tie tie; /* zero: the clock of the files is wall time, so that it stays exact */
    struct progress progress;
    bool stuck; /* what was read cannot be written */
    /* Of all files together; first and last when there is anything. */
    struct import_result sum;
    bool dated; /* sum.first and sum.last are known */
    size_t n_good;
};

/* `from` must outlive it. */
MUST_CHECK int importing_begin(struct importing *m, const char *home, struct folder *from,
                               struct err *e);
/* Reads all files. What could not be used becomes losses of the events files; so does a file that
 * cannot be read, when there are others. */
MUST_CHECK int importing_read(struct importing *m, struct err *e);
/* Closes the files of all nodes and puts the run together; `home`/`dir->id` is then whole. `id`
 * NULL: any new name. */
MUST_CHECK int importing_place(struct importing *m, const char *home, const char *id,
                               const struct run_about *about, struct rundir *dir, struct err *e);
void importing_end(struct importing *m);
/* Wall time of a moment of the traces. */
wall_ns importing_wall(const struct importing *m, mono_ns t);

/* Whether the one file to import is an export of ours; then nothing else is. What it is, is kept.
 */
bool import_is_ours(struct folder *from);
/* Makes it the run that it was, as `home`/`id` ("": a new name); `m` gets what import_print.h
 * prints of it. */
MUST_CHECK int import_ours(struct importing *m, struct folder *from, const char *home,
                           const char *id, const char *name, struct rundir *dir, struct err *e);

#endif
