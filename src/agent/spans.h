/* SPDX-License-Identifier: Apache-2.0 */
/* spans.h - what the threads of one process say becomes events: begin and end are paired here.
 *
 * Ends that match nothing are counted and left out; a span whose end was skipped (an exception went
 * through it) ends with the one around it and says so. What is still open is reported as open after
 * each batch, so that it survives the recorder, and cut off when the process is gone. One thread.
 */
#ifndef AGENT_SPANS_H
#define AGENT_SPANS_H

#include "record/event.h"
#include "ring/ring_read.h"

struct process_spans;

/* `process` is what to call it: "python train.py". */
struct process_spans *spans_open(uint32_t pid, const char *process);
/* Events of one thread after the other, as a ring_handler gets them. `names` of threads are asked
 * of /proc below `proc`; NULL: not asked. Names of events must live until spans_close. */
void spans_feed(struct process_spans *p, const struct ring_event *v, size_t n, const char *proc,
                struct sink *sink);
/* Tells all that is open once more: after writer_tail has changed. */
void spans_retell(struct process_spans *p, struct sink *sink);
/* The process is gone: open spans end where it was last heard. Then frees it. NULL is fine. */
void spans_close(struct process_spans *p, struct sink *sink);

#endif
