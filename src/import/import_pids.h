/* SPDX-License-Identifier: Apache-2.0 */
/* import_pids.h - processes of several traces on one machine, kept apart.
 *
 * In containers every rank may have pid 1 or 27. pids_enter says whose trace is being read now;
 * a pid that another process has already gets a number that no machine gives. */
#ifndef IMPORT_IMPORT_PIDS_H
#define IMPORT_IMPORT_PIDS_H

#include "record/event.h"

struct pid_row {
    uint32_t process, pid, shown;
};

struct import_pids {
    struct sink_pass pass; /* what the importer is given, and where it all goes */
    char **processes;
    uint32_t n_processes, now;
    struct pid_row *rows;
    uint32_t n_rows, last;
    uint32_t *by_pid, *by_shown; /* 1 + index of the row, by hash */
    uint32_t cap;                /* of both */
    bool spoke;                  /* a thread since pids_enter */
    struct track first;
};

void pids_open(struct import_pids *p, struct sink *to);
void pids_enter(struct import_pids *p, const char *process);
/* Says of which rank the trace is, when a thread of it was heard of. `at`: when it began. */
void pids_tell_rank(struct import_pids *p, int64_t rank, mono_ns at);
void pids_close(struct import_pids *p);

#endif
