/* SPDX-License-Identifier: Apache-2.0 */
/* engine_internal.h - the inside of the engine, for engine*.c and its test. */
#ifndef RULES_ENGINE_INTERNAL_H
#define RULES_ENGINE_INTERNAL_H

#include "rules/engine.h"
#include "rules/values.h"

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

#endif
