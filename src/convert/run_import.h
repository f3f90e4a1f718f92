/* SPDX-License-Identifier: Apache-2.0 */
/* run_import.h - makes a run out of traces of other tools, or out of an export of Footplate.
 *
 * run_import_begin, run_import_read, run_import_place, run_import_end. All files are written in a
 * hidden folder inside `home`; run_import_place makes the run visible in one step, and
 * run_import_end removes what is left. So a failure, or a kill, leaves nothing that looks like a
 * run. */
#ifndef CONVERT_RUN_IMPORT_H
#define CONVERT_RUN_IMPORT_H

#include "base/progress.h"
#include "import/import_file.h"
#include "import/import_folder.h"
#include "import/import_sinks.h"
#include "import/importer.h"
#include "run/rundir.h"

/* One node: rows go to its metrics file, everything else to its events file. */
struct import_node {
    struct sink_pass pass;       /* to the events file; first: the sink is the node */
    struct run_maker_node *made; /* its files */
    struct import_rows rows;
    struct import_pids pids; /* the sink of traces; passes on to `pass` */
    bool has_data;
    mono_ns first, last;      /* times of its data */
    int64_t rank, world_size; /* -1: not known, or there are several */
    unsigned traces;          /* files with a rank */
    int64_t interval_ns;      /* between rows, once it is closed; 0: there are none */
    unsigned cores, gpus;     /* once it is closed: as described, otherwise as found */
    struct import_machine machine;
};

/* The result of one file of the folder. */
struct import_part {
    struct import_file_result got;
    struct import_node *node;
    const char *failed; /* why it could not be read completely; NULL: it was, or was skipped */
};

struct run_import {
    struct run_maker maker;
    struct folder *from;
    struct import_part *parts; /* one for each file of the folder */
    struct import_node **nodes;
    size_t n_nodes, at;   /* at: the file that is being read */
    struct clock_tie tie; /* zero: the clock of the files is wall time, which stays exact */
    struct progress progress;
    bool stuck; /* the run cannot be written */
    /* Of all files together; first and last when there is anything. */
    struct import_result sum;
    bool dated; /* sum.first and sum.last are known */
    size_t n_good;
};

/* `from` must outlive it. */
MUST_CHECK int run_import_begin(struct run_import *m, const char *home, struct folder *from,
                                struct err *e);
/* Reads all files. Data that cannot be used, and files that cannot be read, are recorded as losses;
 * it fails when no file can be read. */
MUST_CHECK int run_import_read(struct run_import *m, struct err *e);
/* Closes the files of all nodes and makes the run visible as `home`/`dir->id`. `id` NULL: any new
 * name. */
MUST_CHECK int run_import_place(struct run_import *m, const char *home, const char *id,
                                const struct run_about *about, struct rundir *dir, struct err *e);
void run_import_end(struct run_import *m);
/* Wall time of a time in the traces. */
wall_ns run_import_wall(const struct run_import *m, mono_ns t);

/* Whether the one file to import is an export of Footplate. Sets the format of the file. */
bool run_import_is_export(struct folder *from);
/* Restores the run that was exported as `home`/`id` ("": a new name); `m` gets the counts. */
MUST_CHECK int run_import_export(struct run_import *m, struct folder *from, const char *home,
                                 const char *id, const char *name, struct rundir *dir,
                                 struct err *e);

#endif
