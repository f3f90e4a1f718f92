/* SPDX-License-Identifier: Apache-2.0 */
/* actions.h - performs the actions of a run, in a thread of their own.
 *
 *     actions_start, actions_news for every change of a rule's answer, actions_stop.
 *
 * Nobody waits for an action: news are queued, and when the queue is full, or an action's limit is
 * reached, the news is dropped and counted as a loss. A try is bounded in time, tries are bounded
 * in number. An action that fails is reported once as a line and counted as a loss each time; one
 * that works is a mark. */
#ifndef WATCH_ACTIONS_H
#define WATCH_ACTIONS_H

#include "record/record.h"
#include "rules/params.h"
#include "watch/action.h"

struct actions;

struct actions_ask {
    const struct action *v; /* stays where it is, with all it points to, until the end */
    size_t n;
    const char *run, *run_id, *node;
    struct sink *sink;
    struct action_means means; /* called by the thread */
    /* A line that the user must hear: that an action failed. From the thread. */
    void (*warn)(void *ctx, const char *line);
};

MUST_CHECK int actions_start(struct actions **out, const struct actions_ask *ask, struct err *e);
/* From one thread at a time. `p`: what the rule was evaluated with. */
void actions_news(struct actions *a, const struct verdict *v, enum rule_state state_before,
                  enum severity severity_before, const struct param_value *p);
/* Performs what is queued, each with one more try, and ends; takes at most `wait_ns`. False: the
 * thread hangs. It is left alone then and touches neither sink nor means any more, but what
 * ask->v points to must stay. Frees it otherwise. NULL is fine. */
bool actions_stop(struct actions *a, int64_t wait_ns);

#endif
