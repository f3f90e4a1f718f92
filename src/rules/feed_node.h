/* SPDX-License-Identifier: Apache-2.0 */
/* feed_node.h - one node of a run into an engine; for feed_run.c. */
#ifndef RULES_FEED_NODE_H
#define RULES_FEED_NODE_H

#include "query/series.h"
#include "rules/engine.h"

/* What is read once for all nodes. */
struct feed {
    struct run *run;
    const struct rule_params *params;
    const struct series_key *series; /* of all nodes */
    size_t n_series;
    const struct run_process *processes;
    size_t n_processes;
    const struct run_steps *steps; /* of all nodes, with the events that rules are told */
    bool alone;                    /* there is one node: its samples are decoded ahead */
};

/* Fills in the first sweep, its period and how many GPUs were seen; before anything is fed. */
MUST_CHECK int feed_facts(const struct feed *f, struct node_facts *facts, struct err *e);

/* What a node shows, in parts that may go to engines of their own: none needs what another saw. */
enum feed_part { FEED_SWEEPS, FEED_EVENTS, FEED_PARTS };

/* The engine knows the window already. Other threads may feed other parts and nodes of the run. */
MUST_CHECK int feed_node(struct engine *g, const struct feed *f, const struct node_facts *facts,
                         enum feed_part part, struct err *e);

#endif
