/* SPDX-License-Identifier: Apache-2.0 */
/* ownrules.h - rules of the user's own while the run lives.
 *
 * A process aside (aside.h) evaluates them over the run folder whenever it is asked to, with the
 * code that does it afterwards, and writes down its verdicts. Nobody waits for it: who asked looks
 * now and then whether the answer has come.
 *
 *     ownrules_start (single-threaded, before the job), then ownrules_ask, ownrules_hear until it
 *     has something, and again; ownrules_stop. */
#ifndef AGENT_OWNRULES_H
#define AGENT_OWNRULES_H

#include "base/buf.h"
#include "rules/verdict_read.h"

/* Evaluates over the run in `folder`, in the other process: {"verdicts": [...]} as verdicts_read
 * takes it. */
struct ownrules_way {
    void (*judge)(void *ctx, const char *folder, struct buf *out);
    void *ctx;
};

struct ownrules;

MUST_CHECK int ownrules_start(struct ownrules **out, const struct ownrules_way *way, struct err *e);
/* Does nothing while an answer is awaited. */
void ownrules_ask(struct ownrules *o, const char *folder);
/* The answer, when it is there within `wait_ns`; else *n is 0. An error is told once: the process
 * is gone, or what it said cannot be understood. */
MUST_CHECK int ownrules_hear(struct ownrules *o, int64_t wait_ns, struct arena *a,
                             struct hosted **out, size_t *n, struct err *e);
void ownrules_stop(struct ownrules *o); /* NULL is fine */

#endif
