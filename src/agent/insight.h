/* SPDX-License-Identifier: Apache-2.0 */
/* insight.h - rules while the run lives.
 *
 * A sink that stands before the node's writer sees every row go by; events of the job are shown to
 * it as well. A thread of its own hands them to the rules every few seconds and has them judge now
 * and then, so sampling pays for a few copies only. Who opened it is told when a rule's answer
 * changes. What it holds is bounded; nothing it does can fail. */
#ifndef AGENT_INSIGHT_H
#define AGENT_INSIGHT_H

#include "agent/ownrules.h"
#include "base/err.h"
#include "rules/engine.h"

struct insight;

/* What a rule said last. */
struct rule_seen {
    enum rule_state state;
    enum severity severity; /* of an issue */
};

struct insight_ask {
    const struct rule_params *params; /* NULL: defaults */
    struct node_facts facts;
    struct clock_tie tie;
    int64_t scan_ns;      /* between two judgements */
    struct ownrules *own; /* rules of the user's own; NULL: none. Stays the caller's */
    const char *folder;   /* of the run, for them */
    /* A rule's answer, or the severity of its issue, is another than before. From the thread. The
     * verdict is good for the time of the call, and so is `p`, what it was evaluated with. */
    void (*changed)(void *ctx, const struct verdict *v, const struct param_value *p,
                    const struct rule_seen *before);
    /* All of them, after each judgement, changed or not; NULL: nobody cares. */
    void (*judged)(void *ctx, const struct verdicts *v, const struct hosted *own, size_t n_own);
    /* Rules of the user's own can no longer be followed. */
    void (*failed)(void *ctx, const char *why);
    void *ctx;
};

MUST_CHECK int insight_open(struct insight **out, const struct insight_ask *ask,
                            struct sink *behind, struct err *e);
struct sink *insight_sink(struct insight *i);
/* Sampling goes on at another interval. */
void insight_interval(struct insight *i, int64_t ns);
/* From the thread that drains the rings. */
void insight_events(struct insight *i, const struct track *t, const struct event *v, size_t n);
/* Ends the thread; nobody is told anything afterwards. The sink may still be used until
 * insight_free. NULL is fine for all three. */
void insight_stop(struct insight *i);
/* Ends the thread and judges once more, over everything that has come: the changes are told by the
 * caller's thread. */
void insight_finish(struct insight *i);
void insight_free(struct insight *i);

#endif
