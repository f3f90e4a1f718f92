/* SPDX-License-Identifier: Apache-2.0 */
/* correlate.h - what the framework was doing in the time of each finding.
 *
 * For each rank: how much of that time it spent in training or evaluation steps, before and after
 * the loop and between steps ("phase"); in the parts of its steps ("event"); and, where a detail
 * window lies in that time, in which operators ("operator"). The work is bounded, whatever a
 * finding's size: of more ranges or steps than are looked at, evenly spread ones represent all. */
#ifndef RULES_CORRELATE_H
#define RULES_CORRELATE_H

#include "rules/engine.h"

struct correlate_ask {
    struct run *run;
    const struct rank_steps *ranks; /* of all nodes */
    size_t n_ranks;
    const struct run_facts *facts;
};

/* Fills the shares of all findings, and the operators of the framework's summary; everything lives
 * in the arena. */
MUST_CHECK int rules_correlate(const struct correlate_ask *ask, struct verdicts *v, struct arena *a,
                               struct err *e);

#endif
