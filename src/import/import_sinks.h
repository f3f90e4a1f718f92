/* SPDX-License-Identifier: Apache-2.0 */
/* import_sinks.h - sinks between an importer and the writer of a run. */
#ifndef IMPORT_IMPORT_SINKS_H
#define IMPORT_IMPORT_SINKS_H

#include "base/vec.h"
#include "record/event.h"
#include "record/group.h"

/* ---- processes of several traces on one machine, distinguished ----
 *
 * In containers every rank may have pid 1 or 27. pids_enter names the process whose trace is read
 * now; a pid that another process has already gets a number that no machine assigns. */

struct pid_row {
    uint32_t process, pid, shown;
    bool ranked; /* its rank was put */
};

struct import_pids {
    struct sink_pass pass; /* what the importer is given, and where it all goes */
    char **processes;
    uint32_t n_processes, now;
    struct pid_row *rows;
    uint32_t n_rows, cap, last;
    struct hash_index index; /* of the rows, by process and pid */
    bool spoke;              /* a thread, or training health, since pids_enter */
    struct track first;
};

void pids_open(struct import_pids *p, struct sink *to);
void pids_enter(struct import_pids *p, const char *process);
/* Emits the rank of the trace, if a thread of it has occurred. `at`: when it began. */
void pids_put_rank(struct import_pids *p, int64_t rank, mono_ns at);
void pids_close(struct import_pids *p);

/* ---- rows of many files as the rows of one group ----
 *
 * A day of files of one minute each is stored as one series and not as a thousand short ones.
 * rows_begin before each file: groups of the file before may be gone. */

struct rows_group {
    struct group own;
    struct group *from; /* whose slots `to` represents; NULL: none yet */
    uint32_t generation;
    slot_id *to;
    uint32_t n;
    mono_ns last; /* of the last row */
    bool begun;
};

struct import_rows {
    struct sink *sink;
    struct rows_group *groups;
    uint32_t n;
};

void rows_open(struct import_rows *r, struct sink *sink);
void rows_begin(struct import_rows *r);
/* The row of g's cells as read at t. */
void rows_take(struct import_rows *r, struct group *g, mono_ns t);
/* Devices of a kind that were read: cores, GPUs. */
unsigned rows_devices(const struct import_rows *r, enum entity_kind per);
void rows_close(struct import_rows *r);

#endif
