/* SPDX-License-Identifier: Apache-2.0 */
/* jobevents.h - what the processes of the job say, from their rings into the run folder.
 *
 * job_events_make before the job is forked, its folder's name into the job's environment;
 * job_events_start once the run folder is there, a thread then drains the rings; job_events_stop
 * when the job has ended. The thread sleeps as long as nobody speaks. `events.fp` is made before
 * the job runs, since a busy disk may take seconds for that, in which rings would run over; it is
 * removed at the end when nothing was said. */
#ifndef AGENT_JOBEVENTS_H
#define AGENT_JOBEVENTS_H

#include "agent/flusher.h"
#include "base/buf.h"

struct helper;
struct job_events;

/* A folder in memory, else in `otherwise`. */
MUST_CHECK int job_events_make(struct job_events **out, const char *otherwise, struct err *e);
const char *job_events_folder(const struct job_events *j);
/* Settings for the hooks, as the text of config.json in that folder; from any thread. `generation`
 * larger than before: running processes are notified. */
MUST_CHECK int job_events_configure(struct job_events *j, const struct buf *json,
                                    uint64_t generation, struct err *e);
struct job_events_ask {
    struct writer *node; /* the node's, whose sink gets the losses */
    struct flusher *flusher;
    const char *proc;
    struct helper *helper; /* converts detail windows; NULL: they are lost */
};

MUST_CHECK int job_events_start(struct job_events *j, const struct job_events_ask *ask,
                                struct err *e);

/* Bytes written so far for events; from any thread, until it is stopped. NULL: none. */
uint64_t job_events_bytes(const struct job_events *j);

struct job_events_result {
    uint64_t events;                    /* kept */
    uint64_t dropped;                   /* lost between the job and the run folder */
    uint64_t processes;                 /* that said something */
    uint64_t bytes_written, file_bytes; /* before its file was closed */
    char too_old[40];                   /* a Python that cannot load the hooks; "": none */
};

/* Takes what is left, closes the files and removes the folder; frees it. Also for one that was
 * never started. NULL is fine. Call it while the flusher still runs or after it was stopped, not
 * while it is being stopped. */
void job_events_stop(struct job_events *j, struct job_events_result *out);

#endif
