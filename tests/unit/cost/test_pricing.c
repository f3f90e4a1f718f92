/* SPDX-License-Identifier: Apache-2.0 */
/* Which price counts for a node, and what a run costs. */
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cost/machines.h"
#include "test.h"

static struct arena arena;

static struct machines table_of(const char *rows)
{
    struct machines t;
    struct err e;
    OK(machines_parse(&t, arena_printf(&arena, "machine,cores,memory_gib,price_per_hour\n%s", rows),
                      "m.csv", &arena, &e));
    return t;
}

/* Nodes that ran for so many hours each; nothing is known of their price. */
static struct run_info run_of(struct node_info *nodes, size_t n, double hours)
{
    for (size_t i = 0; i < n; i++) {
        nodes[i].id = arena_printf(&arena, "n%zu", i);
        nodes[i].machine = nodes[i].currency = "";
        nodes[i].price_per_hour = NAN;
        nodes[i].end.ns = (int64_t)(hours * 3600e9);
    }
    return (struct run_info){.nodes = nodes, .n_nodes = n};
}

/* No table of the user's: the tests see only what they set. */
static void hide_tables(void)
{
    setenv("HOME", test_tmpdir(), 1);
    unsetenv("FOOTPLATE_MACHINES");
}

TEST(a_price_set_by_the_caller_wins_over_the_recorded_one_and_that_over_the_table)
{
    const struct machines t = table_of("big,8,64,5\n");
    struct node_info node[1] = {0};
    const struct run_info info = run_of(node, 1, 1);
    struct pricing p = {.table = &t};
    CHECK(isnan(pricing_of_node(&p, &info, node, &arena).price_per_hour));
    node->machine = "big";
    NEAR(pricing_of_node(&p, &info, node, &arena).price_per_hour, 5, 0);
    node->price_per_hour = 3;
    NEAR(pricing_of_node(&p, &info, node, &arena).price_per_hour, 3, 0);
    p.price_per_hour = 2;
    NEAR(pricing_of_node(&p, &info, node, &arena).price_per_hour, 2, 0);
}

TEST(a_machine_set_by_the_caller_has_the_price_of_the_table)
{
    const struct machines t = table_of("big,8,64,5\nsmall,2,8,0.5\n");
    struct node_info node[1] = {0};
    const struct run_info info = run_of(node, 1, 1);
    node->machine = "big";
    node->price_per_hour = 3;
    const struct pricing p = {.table = &t, .machine = "small"};
    const struct node_price got = pricing_of_node(&p, &info, node, &arena);
    CHECK_STR(got.machine, "small");
    NEAR(got.price_per_hour, 0.5, 0);
    CHECK_STR(got.currency, "USD");
}

TEST(labels_of_an_imported_run_have_its_machine_and_price)
{
    struct node_info node[1] = {0};
    struct run_label labels[] = {{"machine", "mine"}, {"price_per_hour", "1.5"}};
    struct run_info info = run_of(node, 1, 2);
    info.labels = labels;
    info.n_labels = 2;
    hide_tables();
    CHECK_STR(pricing_machine(&info), "mine");
    NEAR(pricing_cost(&info), 3, 1e-9);
    labels[1].value = "cheap"; /* not a price */
    CHECK(isnan(pricing_cost(&info)));
}

TEST(the_cost_of_a_run_is_not_known_when_one_price_is_not)
{
    struct node_info node[2] = {{0}, {0}};
    const struct run_info info = run_of(node, 2, 0.5);
    hide_tables();
    node[0].price_per_hour = 4;
    CHECK(isnan(pricing_cost(&info)));
    CHECK(isnan(pricing_per_hour(&info)));
    node[1].price_per_hour = 2;
    NEAR(pricing_cost(&info), 3, 1e-9);
    NEAR(pricing_per_hour(&info), 6, 1e-9);
    CHECK(isnan(pricing_cost(&(struct run_info){0})));
}

TEST(sessions_of_one_node_cost_their_time_but_an_hour_of_it_costs_once)
{
    struct node_info node[2] = {{0}, {0}};
    const struct run_info info = run_of(node, 2, 1);
    hide_tables();
    node[1].id = node[0].id;
    node[0].price_per_hour = node[1].price_per_hour = 4;
    NEAR(pricing_cost(&info), 8, 1e-9);
    NEAR(pricing_per_hour(&info), 4, 1e-9);
}

TEST(the_machine_of_a_run_is_not_named_when_its_nodes_differ)
{
    struct node_info node[2] = {{0}, {0}};
    const struct run_info info = run_of(node, 2, 1);
    node[0].machine = "a";
    node[1].machine = "a";
    CHECK_STR(pricing_machine(&info), "a");
    node[1].machine = "b";
    CHECK_STR(pricing_machine(&info), "");
    node[1].currency = "EUR";
    CHECK_STR(pricing_currency(&info), "EUR");
}
