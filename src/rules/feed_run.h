/* SPDX-License-Identifier: Apache-2.0 */
/* feed_run.h - all rules over a run as its files have it, ended or not. */
#ifndef RULES_FEED_RUN_H
#define RULES_FEED_RUN_H

#include "cost/machines.h"
#include "cost/rightsize.h"
#include "query/run.h"
#include "query/series.h"
#include "rules/engine.h"

struct checked {
    struct verdicts verdicts;
    struct run_facts run;
    struct node_facts *nodes; /* by name */
    size_t n_nodes;
};

/* Everything in `out` lives in the arena. Several nodes are read by several threads; the answer is
 * that of one. */
MUST_CHECK int rules_check_run(struct run *r, const struct rule_params *p, struct arena *a,
                               struct checked *out, struct err *e);

/* The same with the current tables of machines and prices. */
MUST_CHECK int rules_check_priced(struct run *r, const struct rule_params *p,
                                  const struct pricing *pricing, struct arena *a,
                                  struct checked *out, struct err *e);

/* The same for callers that have read the steps: the costliest part of a long run. */
struct check_ask {
    const struct rule_params *params;
    const struct pricing *pricing;
    const struct run_steps *steps; /* of rules_read_steps */
    struct evaluation *evaluation; /* what is cached; NULL: nothing */
};

/* Steps, and the events that rules want. */
MUST_CHECK int rules_read_steps(struct run *r, struct arena *a, struct run_steps *out,
                                struct err *e);

MUST_CHECK int rules_check_steps(struct run *r, const struct check_ask *ask, struct arena *a,
                                 struct checked *out, struct err *e);

/* ---- a run that is evaluated again and again while it grows ----
 *
 * The same result, to the last byte, but samples that were read before are not read again.
 * evaluation_open, any number of evaluation_run of one run, which is opened again
 * or followed (run_open_next) each time, evaluation_close. Not for two threads at once. */
struct evaluation;

struct evaluation *evaluation_open(void);
void evaluation_close(struct evaluation *v); /* NULL is fine */

/* Reads the steps itself; ask->steps and ask->evaluation are not used. `v` NULL: once. */
MUST_CHECK int evaluation_run(struct evaluation *v, struct run *r, const struct check_ask *ask,
                              struct arena *a, struct checked *out, struct err *e);

/* ---- facts of a run (feed_facts.c), for feed_run.c; texts and arrays live in the arena ---- */

/* out->nodes, with their prices. */
void feed_find_nodes(const struct run_info *info, const struct pricing *pricing, struct arena *a,
                     struct checked *out);
/* Adds the programs outside of the job to the nodes. */
MUST_CHECK int feed_find_others(struct run *r, const struct series_key *series, size_t n_series,
                                struct arena *a, struct checked *out, struct err *e);
/* When job and loop begin and end, and how the job ended. */
MUST_CHECK int feed_find_times(struct run *r, const struct run_steps *steps, struct arena *a,
                               struct run_facts *out, struct err *e);

/* ---- right-sizing (cost/rightsize.h) of a run that was evaluated ---- */

/* NULL for a run of less than a minute, too. The verdicts about use get the advice. */
const struct right_size *rightsize_advise(struct checked *c, const struct machines *t,
                                          struct arena *a);

#endif
