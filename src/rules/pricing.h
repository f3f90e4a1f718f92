/* SPDX-License-Identifier: Apache-2.0 */
/* pricing.h - what kind of machine a node is and what it costs: as said now, else as said when it
 * was recorded, else as the table of machines has it. */
#ifndef RULES_PRICING_H
#define RULES_PRICING_H

#include "query/run.h"
#include "rules/machines.h"
#include "rules/sight.h"

struct pricing {
    const struct machines *table; /* NULL: none */
    const char *machine;          /* of all nodes, whatever the run says; NULL: as it says */
    double price_per_hour;        /* the same; 0: as it says */
};

/* Fills machine, price_per_hour and currency of the node. */
void pricing_of_node(const struct pricing *p, const struct run_info *info,
                     const struct node_info *node, struct arena *a, struct node_facts *out);
/* How long a session of a node is paid for. */
double node_hours(const struct node_info *session);
/* What the run cost so far: each session of each node. NAN: a price is not known. */
double pricing_cost(const struct run_info *info);
/* What an hour of all its nodes costs. NAN: a price is not known. */
double pricing_per_hour(const struct run_info *info);
/* What its prices are in. */
const char *pricing_currency(const struct run_info *info);
/* The kind of machine that all nodes are; "": they differ, or it is not known. */
const char *pricing_machine(const struct run_info *info);

#endif
