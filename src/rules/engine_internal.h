/* SPDX-License-Identifier: Apache-2.0 */
/* engine_internal.h - the inside of the engine, for engine*.c, what completes its verdicts, and
 * tests. */
#ifndef RULES_ENGINE_INTERNAL_H
#define RULES_ENGINE_INTERNAL_H

#include "rules/engine.h"
#include "rules/hist.h"

/* What a rule has of one node. */
struct rule_part {
    void *state;
    uint64_t sweeps, before; /* that reached it; that came too early */
};

/* Times whose sweeps do not count, in order and apart from each other. */
struct left_out {
    struct time_range *v;
    size_t n, cap;
};

struct engine_node {
    struct node_facts facts;
    struct left_out left_out;
    char id[ENTITY_LEN], machine[ENTITY_LEN];
    bool has_gpu, has_sweeps;
    struct health_book *health; /* NULL: none was recorded */
    struct rule_part part[RULE_N];
};

struct engine {
    struct arena arena; /* parameters */
    struct rule_params params;
    bool has_steps;               /* of any mode */
    wall_ns loop_start, loop_end; /* after warm-up; INT64_MAX: an open end */
    struct engine_node *nodes;
    size_t n_nodes, cap_nodes;
    struct shared *shared; /* of the batch that is being fed */
};

/* Order, severity, sums and links, when all rules have judged. */
void verdicts_complete(struct verdicts *v, const struct engine *g, const struct run_facts *run);

/* ---- what the framework was doing in the time of each finding ---- */

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
