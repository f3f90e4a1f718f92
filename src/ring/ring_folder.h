/* SPDX-License-Identifier: Apache-2.0 */
/* ring_folder.h - the rings of all processes of a job: what the recorder works with.
 *
 * ring_folder_make before the job starts, its path into the job's environment as FOOTPLATE_RING,
 * ring_folder_drain every 1 to 10 ms, ring_folder_finish after the job's end, ring_folder_close.
 * New files are found, those of ended processes read to the end and removed. One thread. */
#ifndef RING_FOLDER_H
#define RING_FOLDER_H

#include "ring/ring_read.h"

struct ring_folder;

/* `begun` and `ended` are called when a process is first and last seen; ring_reader_user is the
 * place to store what belongs to it. `broken`: a file that cannot be read, once for each; r is NULL
 * when it could not even be opened. None may be NULL. */
struct ring_folder_handler {
    struct ring_handler ring;
    void (*begun)(void *arg, struct ring_reader *r);
    void (*ended)(void *arg, struct ring_reader *r);
    void (*broken)(void *arg, struct ring_reader *r, const struct err *why);
};

#define RING_MEMORY "/dev/shm" /* files in it are in memory */

/* A new folder, for this user only, in RING_MEMORY where the machine has that, else in
 * `otherwise` or /tmp. Its path is absolute. */
MUST_CHECK int ring_folder_make(struct ring_folder **out, const char *otherwise,
                                const struct ring_folder_handler *h, struct err *e);
/* Removes folders in `memory`, RING_MEMORY, that recorders of this user left when they were killed:
 * no process holds their lock. Only those of some age, as a new one has no lock for an instant. */
void ring_folder_sweep(const char *memory, int64_t older_ns);
/* One that is there already. */
MUST_CHECK int ring_folder_open(struct ring_folder **out, const char *path,
                                const struct ring_folder_handler *h, struct err *e);
const char *ring_folder_path(const struct ring_folder *f);
/* *events: how many were delivered. Fails only when the folder itself cannot be read. */
MUST_CHECK int ring_folder_drain(struct ring_folder *f, size_t *events, struct err *e);
/* Reads what is left and calls `ended` for every process, also for one that outlives the job. */
MUST_CHECK int ring_folder_finish(struct ring_folder *f, size_t *events, struct err *e);
/* Calls for every process that is being read. */
void ring_folder_each(struct ring_folder *f, void (*call)(void *arg, struct ring_reader *r),
                      void *arg);
/* Whether a file was there that its process has not finished making: drain again soon, even though
 * nothing new will appear in the folder. */
bool ring_folder_waits(const struct ring_folder *f);
/* Processes that are being read. */
size_t ring_folder_count(const struct ring_folder *f);
/* `remove`: the files and the folder too. Does not drain. NULL is fine. */
void ring_folder_close(struct ring_folder *f, bool remove);

#endif
