/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "cost/rightsize.h"
#include "test.h"

#define HEAD "machine,gpus,gpu,gpu_memory_gib,gpu_tflops,cores,memory_gib,price_per_hour\n"
#define BIG  "big,4,V100,16,125,32,244,14.688\n"

static struct arena arena;

static struct machines table_of(const char *rows)
{
    struct machines t;
    struct err e;
    OK(machines_parse(&t, arena_printf(&arena, HEAD "%s", rows), "m.csv", &arena, &e));
    return t;
}

/* `n` nodes that are the table's first machine, all used alike. */
static const struct right_size *sized(const struct machines *t, size_t n, double gpu,
                                      double gpu_memory, double cpu, double memory)
{
    struct used_node *v = arena_array(&arena, struct used_node, n);
    for (size_t i = 0; i < n; i++)
        v[i] = (struct used_node){t->v[0], {gpu, gpu_memory, cpu, memory}};
    return rightsize(t, v, n, 2, &arena);
}

static const struct right_size *sized_of(const char *rows, size_t n, double gpu, double gpu_memory,
                                         double cpu, double memory)
{
    const struct machines t = table_of(rows);
    return sized(&t, n, gpu, gpu_memory, cpu, memory);
}

TEST(three_machines_of_four_idle_gpus_become_fewer_and_smaller_ones)
{
    const struct right_size *r = sized_of(BIG "small,1,L4,24,121,16,64,1.654\n"
                                              "tiny,1,L4,24,121,4,16,1.127\n",
                                          3, 13, 32, 24, 12);
    CHECK(r != NULL);
    CHECK_STR(r->best.machine->name, "small");
    CHECK_INT(r->best.n, 2);
    NEAR(r->best.price_per_hour, 3.308, 1e-9);
    NEAR(r->best.saving, 1 - 3.308 / (3 * 14.688), 1e-9);
    NEAR(r->best.pct[RES_GPU], 13. * 12 * 125 / (2 * 121), 1e-9);
    NEAR(r->best.pct[RES_CPU], 24. * 96 / 32, 1e-9);
    NEAR(r->best.pct[RES_MEMORY], 12. * 732 / 128, 1e-9);
    NEAR(r->best.pct[RES_GPU_MEMORY], 32. * 16 / 24, 1e-9);
    CHECK_STR(r->alike.machine->name, "big");
    CHECK_INT(r->alike.n, 1);
    CHECK_STR(r->now, "3 x big");
    CHECK(strstr(
        r->why,
        "2 x small would suffice instead of 3 x big: 3.308 USD per hour instead of 44.064,"));
    CHECK(strstr(r->why, "6.62 USD instead of 88.13 USD for a run as long"));
    CHECK(strstr(r->why, "With the same GPUs: 1 x big"));
    arena_free(&arena);
}

TEST(a_run_that_uses_a_resource_well_is_left_alone)
{
    CHECK(!sized_of(BIG, 3, 71, 10, 10, 10));
    CHECK(!sized_of(BIG, 3, 10, 10, 71, 10));
    CHECK(!sized_of(BIG, 3, 10, 10, NAN, 10));
    CHECK(sized_of(BIG, 3, 10, 10, 10, 10) != NULL);
    arena_free(&arena);
}

TEST(every_resource_keeps_head_room)
{
    const char *rows = BIG "half,2,V100,16,125,16,122,7\n";
    CHECK_STR(sized_of(rows, 1, 42, 84, 42, 42)->best.machine->name, "half");
    CHECK(!sized_of(rows, 1, 43, 84, 42, 42)); /* 86 % of its GPUs, and so on */
    CHECK(!sized_of(rows, 1, 42, 86, 42, 42));
    CHECK(!sized_of(rows, 1, 42, 84, 43, 42));
    CHECK(!sized_of(rows, 1, 42, 84, 42, 43));
    arena_free(&arena);
}

TEST(memory_that_was_not_measured_is_said)
{
    CHECK(strstr(sized_of(BIG, 3, 10, 10, 10, NAN)->why, "memory was not measured, so check"));
    CHECK(strstr(sized_of(BIG, 3, 10, NAN, 10, 10)->why, "GPU memory was not measured, so check"));
    arena_free(&arena);
}

TEST(without_a_price_only_fewer_of_the_same_are_proposed)
{
    struct machines t = table_of(BIG "small,1,L4,24,121,64,256,0.01\n");
    t.v[0].price_per_hour = NAN;
    const struct right_size *r = sized(&t, 4, 10, 10, 10, 10);
    CHECK_STR(r->best.machine->name, "big");
    CHECK_INT(r->best.n, 1);
    NEAR(r->best.saving, 0.75, 1e-9);
    CHECK(strstr(r->why, "75 % cheaper"));
    arena_free(&arena);
}

TEST(gpus_whose_worth_is_not_known_are_not_compared_with_others)
{
    CHECK(!sized_of("odd,4,Odd,16,,32,244,14\nsmall,4,L4,24,121,32,244,1\n", 1, 10, 10, 10, 10));
    CHECK(sized_of("odd,4,Odd,16,,32,244,14\nsmall,2,Odd,16,,32,244,1\n", 1, 10, 10, 10, 10));
    arena_free(&arena);
}

TEST(a_job_without_gpus_gets_a_smaller_machine_without_gpus)
{
    const struct right_size *r = sized_of(
        "m24,0,,,,96,384,5.53\nm4,0,,,,16,64,0.922\nm12,0,,,,48,192,2.765\n", 1, NAN, NAN, 20, 20);
    CHECK_STR(r->best.machine->name, "m12"); /* of 16 cores it would use 120 % */
    CHECK(isnan(r->best.pct[RES_GPU]) && isnan(r->best.pct[RES_GPU_MEMORY]));
    arena_free(&arena);
}

TEST(what_saves_next_to_nothing_is_not_proposed)
{
    CHECK(!sized_of("a,0,,,,8,32,1\nb,0,,,,8,32,0.91\n", 1, NAN, NAN, 20, 20));
    CHECK(sized_of("a,0,,,,8,32,1\nb,0,,,,8,32,0.89\n", 1, NAN, NAN, 20, 20));
    arena_free(&arena);
}
