/* SPDX-License-Identifier: Apache-2.0 */
/* jobevents.h - the events of the job's processes, from their rings into the run folder.
 *
 * job_events_make before the job is forked, its folder's name into the job's environment;
 * job_events_start once the run folder is there, a thread then drains the rings; job_events_stop
 * when the job has ended. The thread sleeps while no process emits. `events.fp` is made before
 * the job runs, since a busy disk may take seconds for that, in which rings would run over; it is
 * removed at the end if there were no events. */
#ifndef AGENT_JOBEVENTS_H
#define AGENT_JOBEVENTS_H

#include "agent/flusher.h"
#include "base/buf.h"
#include "record/event.h"
#include "ring/ring_read.h"

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
    uint64_t events;                    /* stored */
    uint64_t dropped;                   /* lost between the job and the run folder */
    uint64_t processes;                 /* that emitted something */
    uint64_t bytes_written, file_bytes; /* before its file was closed */
    char too_old[40];                   /* a Python that cannot load the hooks; "": none */
};

/* Takes what is left, closes the files and removes the folder; frees it. Also for one that was
 * never started. NULL is fine. Call it while the flusher still runs or after it was stopped, not
 * while it is being stopped. */
void job_events_stop(struct job_events *j, struct job_events_result *out);

/* ---- spans.c: what the threads of one process emit becomes events: begin and end are paired ----
 *
 * Ends that match nothing are counted and left out; a span whose end was skipped (an exception went
 * through it) ends with the one around it and is marked so. What is still open is reported as open
 * after each batch, so that it survives the recorder, and cut off when the process has ended. One
 * thread.
 */

struct process_spans;

/* `process` is what to call it: "python train.py". */
struct process_spans *spans_open(uint32_t pid, const char *process);
/* Events of one thread after the other, as a ring_handler gets them. `names` of threads are read
 * from /proc below `proc`; NULL: not read. Names of events must live until spans_close. */
void spans_feed(struct process_spans *p, const struct ring_event *v, size_t n, const char *proc,
                struct sink *sink);
/* Emits all that is open once more: after writer_tail has changed. */
void spans_emit_again(struct process_spans *p, struct sink *sink);
/* The process has ended: open spans end at its last event. Then frees it. NULL is fine. */
void spans_close(struct process_spans *p, struct sink *sink);

/* ---- healthfeed.c: training health that a process emits becomes events on its health tracks ----
 *
 * ring_layout.h describes the groups. Everything in them is checked: a value without a group, of an
 * unknown statistic or of a name that did not arrive is a counted loss. One thread. */

/* What a thread of the process is in the middle of; zeroed at first. */
struct health_lane {
    bool open; /* a group */
    uint8_t group;
    enum event_mode mode;
    uint64_t link;
    mono_ns at;
    uint32_t number; /* of the name that is being received; 0: none */
    uint32_t len;
    char text[RING_HEALTH_NAME_LEN + 8];
};

struct health_feed;

/* `like` has the pid and the name of the process. */
struct health_feed *health_feed_open(const struct track *like);
/* An event of a kind RING_HEALTH_*. Values are buffered until health_feed_flush, or until there are
 * many or one of another statistic comes. */
void health_feed_take(struct health_feed *f, struct health_lane *lane, const struct ring_event *v,
                      struct sink *sink);
void health_feed_flush(struct health_feed *f, struct sink *sink); /* NULL is fine */
void health_feed_close(struct health_feed *f);                    /* NULL is fine */

#endif
