/* SPDX-License-Identifier: Apache-2.0 */
/* steps_flow.h - the steps of one thread while it still works: events in as they come, steps out
 * as they are done.
 *
 * What has been handed out is never taken back, so the newest steps are kept until others follow:
 * where a step ends may depend on what comes after it. Memory is bounded by those. */
#ifndef QUERY_STEPS_FLOW_H
#define QUERY_STEPS_FLOW_H

#include "query/steps.h"

struct steps_flow;

struct steps_flow *steps_flow_open(void);
void steps_flow_close(struct steps_flow *f); /* NULL is fine */
/* Events of one thread; names are not kept. END_OPEN ones are left out: they come again. */
void steps_flow_add(struct steps_flow *f, const struct event *v, size_t n);
/* Steps that are done, with `start` on the monotonic clock of their node. `ended`: nothing more
 * will come, all are done. */
void steps_flow_take(struct steps_flow *f, bool ended, struct arena *a, struct step **out,
                     size_t *n);
/* How many events with a say in steps there have been: the thread of a process that has most is the
 * one that trains. */
uint64_t steps_flow_marked(const struct steps_flow *f);
/* How many of them are kept. */
size_t steps_flow_kept(const struct steps_flow *f);

#endif
