/* SPDX-License-Identifier: Apache-2.0 */
/* pricing.h - the machine type of a node and its price: as set by the caller, otherwise as recorded
 * in the run, otherwise as in the table of machines. A price that is not known is NAN, never 0. */
#ifndef COST_PRICING_H
#define COST_PRICING_H

#include "cost/machines.h"
#include "run/run_info.h"

struct pricing {
    const struct machines *table; /* NULL: none */
    const char *machine;          /* of all nodes; NULL: as the run says */
    double price_per_hour;        /* the same; 0: as the run says */
};

struct node_price {
    const char *machine;   /* its type; "": not known */
    double price_per_hour; /* NAN: not known */
    const char *currency;
};

/* Texts live in the arena. */
struct node_price pricing_of_node(const struct pricing *p, const struct run_info *info,
                                  const struct node_info *node, struct arena *a);
/* The paid time of a session of a node. */
double node_hours(const struct node_info *session);
/* The cost of the run so far: each session of each node. NAN: a price is not known. */
double pricing_cost(const struct run_info *info);
/* The price of an hour of all its nodes. NAN: a price is not known. */
double pricing_per_hour(const struct run_info *info);
/* The currency of its prices. */
const char *pricing_currency(const struct run_info *info);
/* The machine type of all nodes; "": they differ, or it is not known. */
const char *pricing_machine(const struct run_info *info);

#endif
