/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank slows the others down, by what each does from one wait to the next. Backward is where
 * these ranks wait: it lasts until the last one is through. */
#include <stdlib.h>

#include "base/mem.h"
#include "query/frontier.h"
#include "test.h"

enum { MS = 1000000, RANKS_MOST = 64, NONE = RANKS_MOST, SEEDS = 1000 };

struct group {
    struct frontier_rank ranks[RANKS_MOST];
    size_t n;
    struct arena a;
};

/* Parts of one step of a rank; backward is the work in it. */
struct parts {
    int64_t data, forward, backward, optimizer; /* ms, or ns times MS */
};

static void group_open(struct group *g, size_t n)
{
    *g = (struct group){.n = n};
}

static void group_close(struct group *g)
{
    for (size_t i = 0; i < g->n; i++)
        free(g->ranks[i].v);
    arena_free(&g->a);
}

static void see(struct frontier_rank *r, int64_t number, struct parts ns)
{
    struct step s = {.number = number, .mode = MODE_TRAIN};
    s.part_ns[step_part_of(EV_DATA)] = ns.data;
    s.part_ns[step_part_of(EV_FORWARD)] = ns.forward;
    s.part_ns[step_part_of(EV_BACKWARD)] = ns.backward;
    s.part_ns[step_part_of(EV_OPTIMIZER)] = ns.optimizer;
    s.dur_ns = ns.data + ns.forward + ns.backward + ns.optimizer;
    frontier_see(r, &s, 1);
}

static bool conclude(struct group *g, struct frontier *out)
{
    const struct frontier_rank *ranks[RANKS_MOST];
    for (size_t i = 0; i < g->n; i++)
        ranks[i] = &g->ranks[i];
    return frontier_of(ranks, g->n, &g->a, out);
}

/* One rank's loader is slow: it does not wait, and the others wait for it as long as it is late.
 * The step of rank `without` was not recorded. */
static void see_slow_loader(struct group *g, size_t slow, int64_t number, size_t without)
{
    for (size_t i = 0; i < g->n; i++)
        if (i != without)
            see(&g->ranks[i], number,
                i == slow ? (struct parts){40 * MS, 30 * MS, 32 * MS, 8 * MS}
                          : (struct parts){10 * MS, 30 * MS, 62 * MS, 8 * MS});
}

static void check_slow_loader(const struct frontier *f, size_t slow)
{
    CHECK_INT(f->trust, FRONTIER_SURE);
    CHECK_INT(f->rank, slow);
    CHECK_STR(frontier_stage_name(f->stage), "data");
    NEAR(f->iteration_s, 0.110, 1e-6);
    NEAR(f->excess_s, 0.030, 1e-6);
    NEAR(f->stage_s, 0.040, 1e-6);
    NEAR(f->usual_s, 0.010, 1e-6);
    NEAR(f->waited_s, 0.030, 1e-6);
    NEAR(f->led, 1, 1e-9);
    CHECK(!f->in_comm);
}

TEST(a_slow_loader_is_found_although_backward_is_the_longest_part)
{
    static const size_t sizes[] = {2, 4, 8, 64};
    for (size_t k = 0; k < COUNT_OF(sizes); k++) {
        struct group g;
        struct frontier f;
        group_open(&g, sizes[k]);
        const size_t slow = g.n / 2;
        for (int64_t i = 1; i <= 41; i++)
            see_slow_loader(&g, slow, i, NONE);
        CHECK(conclude(&g, &f));
        CHECK_INT(f.steps, 40); /* what is before the first step is not known */
        check_slow_loader(&f, slow);
        group_close(&g);
    }
}

TEST(steps_that_one_rank_lacks_do_not_count)
{
    struct group g;
    struct frontier f;
    group_open(&g, 4);
    for (int64_t i = 1; i <= 100; i++)
        see_slow_loader(&g, 2, i, i % 10 ? NONE : 1);
    CHECK(conclude(&g, &f));
    CHECK_INT(f.steps, 80); /* nor do those after them: what rank 1 did before is not known */
    check_slow_loader(&f, 2);
    group_close(&g);
}

TEST(less_than_twenty_common_steps_say_nothing)
{
    struct group g;
    struct frontier f;
    group_open(&g, 4);
    for (int64_t i = 1; i <= 100; i++)
        see_slow_loader(&g, 2, i, NONE);
    g.ranks[1].n = 19;
    CHECK(!conclude(&g, &f));
    g.ranks[1].n = 20;
    CHECK(conclude(&g, &f));
    group_close(&g);
}

/* From 0 to below 1. */
static double next_random(uint64_t *s)
{
    *s = *s * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*s >> 33) / (double)(UINT64_C(1) << 31);
}

static int64_t noisy(uint64_t *seed, int64_t ns, double by)
{
    return (int64_t)((double)ns * (1 + by * (next_random(seed) - 0.5)));
}

/* How far each part may be from its mean, as a share of it. */
struct noise {
    double data, other;
};

/* All ranks do the same, each part a little faster or slower each time. */
static void see_equal(struct group *g, uint64_t *seed, int64_t number, struct noise by)
{
    struct parts p[RANKS_MOST];
    int64_t last = 0;
    for (size_t i = 0; i < g->n; i++) {
        p[i] = (struct parts){noisy(seed, 10 * MS, by.data), noisy(seed, 30 * MS, by.other), 0,
                              noisy(seed, 8 * MS, by.other)};
        const int64_t own = p[i].data + p[i].forward + g->ranks[i].optimizer_us * 1000LL;
        p[i].backward = -own;
        last = MAX_OF(last, own);
    }
    for (size_t i = 0; i < g->n; i++) {
        p[i].backward += last + 32 * MS;
        see(&g->ranks[i], number, p[i]);
    }
}

/* Of SEEDS groups, those of which one rank is said to slow the others down. */
static int count_alarms(size_t n, struct noise by)
{
    int alarms = 0;
    for (uint64_t i = 1; i <= SEEDS; i++) {
        struct group g;
        struct frontier f;
        uint64_t seed = i * UINT64_C(0x9e3779b97f4a7c15);
        group_open(&g, n);
        for (int64_t number = 1; number <= 31; number++)
            see_equal(&g, &seed, number, by);
        CHECK(conclude(&g, &f));
        alarms += f.trust == FRONTIER_SURE;
        group_close(&g);
    }
    return alarms;
}

TEST(equal_ranks_are_no_stragglers)
{
    static const size_t sizes[] = {2, 8, 64};
    static const struct noise noises[] = {{0.02, 0.02}, {0.6, 0.6}, {1.8, 0.02}};
    for (size_t k = 0; k < COUNT_OF(sizes); k++)
        for (size_t i = 0; i < COUNT_OF(noises); i++) {
            const int alarms = count_alarms(sizes[k], noises[i]);
            CHECK(alarms <= 1);
        }
}
