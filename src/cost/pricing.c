/* SPDX-License-Identifier: Apache-2.0 */
/* pricing.c - see pricing.h. */
#include "cost/pricing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"

/* Imported runs, and those started by another program, have it in their labels. */
static const char *pricing_label(const struct run_info *info, const char *key)
{
    for (size_t i = 0; i < info->n_labels; i++)
        if (strcmp(info->labels[i].key, key) == 0)
            return info->labels[i].value;
    return "";
}

static double pricing_of_label(const struct run_info *info)
{
    const char *text = pricing_label(info, "price_per_hour");
    char *end;
    const double v = strtod(text, &end);
    return end == text || *end || !(v > 0) ? NAN : v;
}

static double pricing_table_price(const struct pricing *p, const char *machine)
{
    const struct machine *m = p->table && *machine ? machines_find(p->table, machine) : NULL;
    return m ? m->price_per_hour : NAN;
}

static double pricing_recorded(const struct run_info *info, const struct node_info *node)
{
    return isnan(node->price_per_hour) ? pricing_of_label(info) : node->price_per_hour;
}

static const char *pricing_recorded_machine(const struct run_info *info,
                                            const struct node_info *node)
{
    return *node->machine ? node->machine : pricing_label(info, "machine");
}

struct node_price pricing_of_node(const struct pricing *p, const struct run_info *info,
                                  const struct node_info *node, struct arena *a)
{
    const char *machine = p->machine ? p->machine : pricing_recorded_machine(info, node);
    double price = p->machine ? NAN : pricing_recorded(info, node);
    if (p->price_per_hour > 0)
        price = p->price_per_hour;
    return (struct node_price){
        .machine = arena_strdup(a, machine),
        .price_per_hour = isnan(price) ? pricing_table_price(p, machine) : price,
        .currency = arena_strdup(a, pricing_currency(info)),
    };
}

const char *pricing_currency(const struct run_info *info)
{
    for (size_t i = 0; i < info->n_nodes; i++)
        if (*info->nodes[i].currency)
            return info->nodes[i].currency;
    return CURRENCY_DEFAULT;
}

/* As recorded, otherwise from the table of machines, as in the evaluation of the run. */
static double pricing_known(const struct run_info *info, const struct node_info *node)
{
    const char *machine = pricing_recorded_machine(info, node);
    const double recorded = pricing_recorded(info, node);
    struct arena a = {0};
    struct machines table;
    struct err ignored;
    if (!isnan(recorded) || !*machine)
        return recorded;
    const bool known = machines_load(&table, NULL, &a, &ignored) == 0;
    const double price =
        known ? pricing_table_price(&(struct pricing){.table = &table}, machine) : NAN;
    arena_free(&a);
    return price;
}

double node_hours(const struct node_info *n)
{
    return n->end.ns > n->start.ns ? (double)(n->end.ns - n->start.ns) / 3600e9 : 0;
}

double pricing_cost(const struct run_info *info)
{
    double sum = info->n_nodes ? 0 : NAN;
    for (size_t i = 0; i < info->n_nodes; i++)
        sum += node_hours(&info->nodes[i]) * pricing_known(info, &info->nodes[i]);
    return sum;
}

double pricing_per_hour(const struct run_info *info)
{
    double sum = info->n_nodes ? 0 : NAN;
    for (size_t i = 0; i < info->n_nodes; i++) /* of a node's sessions the last one */
        if (i + 1 == info->n_nodes || strcmp(info->nodes[i].id, info->nodes[i + 1].id) != 0)
            sum += pricing_known(info, &info->nodes[i]);
    return sum;
}

const char *pricing_machine(const struct run_info *info)
{
    const char *first = info->n_nodes ? pricing_recorded_machine(info, &info->nodes[0]) : "";
    for (size_t i = 1; i < info->n_nodes; i++)
        if (strcmp(pricing_recorded_machine(info, &info->nodes[i]), first) != 0)
            return "";
    return first;
}
