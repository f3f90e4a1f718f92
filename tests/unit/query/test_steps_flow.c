/* SPDX-License-Identifier: Apache-2.0 */
/* test_steps_flow.c - steps while they come are the steps of the whole. */
#include "base/mem.h"
#include "query/stepkit.h"
#include "query/steps.h"
#include "store/storekit.h"
#include "test.h"

static const char *const loops[] = {
    "D3 N8 F2 B2 O1 .1 ",     "D3 F2 B2 D3 F2 B2 O1 ",  "Z1 F2 B2 O1 .2 ",
    "F2 B2 O1:0 F1 B1 O1:1 ", "D2 F2 .1 B2(C1) O1 K3 ", "S9:1(D2 F1 B1) .2 ",
};

static int by_end(const void *a, const void *b)
{
    const struct run_event *x = a, *y = b;
    const int64_t s = x->event.at.ns + x->event.dur_ns, t = y->event.at.ns + y->event.dur_ns;
    return (s > t) - (s < t);
}

/* A loop of `steps` rounds with an evaluation in the middle, where the loop has a loader. */
static void make(struct stepkit *k, const char *loop, size_t steps)
{
    for (size_t i = 0; i < steps; i++) {
        stepkit_add(k, loop);
        if (i == steps / 2 && *loop == 'D')
            stepkit_add(k, strchr(loop, 'N') ? "L1 D1 N8 E2 D1 N8 E2 L1 " : "L1 D1 E2 D1 E2 L1 ");
    }
}

static const char *whole(const struct stepkit *k, struct arena *a)
{
    struct step *v;
    size_t n;
    steps_derive(k->v, k->n, a, &v, &n);
    for (size_t i = 0; i < n; i++)
        v[i].start.ns -= KIT_WALL; /* back to the monotonic clock */
    return kit_steps_text(v, n);
}

static void append(struct step *all, size_t *n_all, const struct step *v, size_t n)
{
    memcpy(all + *n_all, v, n * sizeof *v);
    *n_all += n;
}

TEST(steps_that_come_in_pieces_are_those_of_the_whole)
{
    struct kit_random r = {7};
    for (size_t round = 0; round < 60; round++) {
        struct stepkit k = {0};
        struct arena a = {0};
        make(&k, loops[round % COUNT_OF(loops)], 3 + kit_below(&r, 30));
        const char *wanted = arena_strdup(&a, whole(&k, &a));
        qsort(k.v, k.n, sizeof *k.v, by_end); /* as the ring tells them */
        struct steps_flow *f = steps_flow_open();
        struct step *all = arena_array(&a, struct step, k.n), *v;
        size_t n_all = 0, n;
        for (size_t i = 0; i < k.n; i++) {
            steps_flow_add(f, &k.v[i].event, 1);
            if (kit_below(&r, 9) == 0) {
                steps_flow_take(f, false, &a, &v, &n);
                append(all, &n_all, v, n);
            }
        }
        steps_flow_take(f, true, &a, &v, &n);
        append(all, &n_all, v, n);
        CHECK_STR(kit_steps_text(all, n_all), wanted);
        steps_flow_close(f);
        arena_free(&a);
        stepkit_free(&k);
    }
}

TEST(the_newest_steps_wait_for_what_follows)
{
    struct stepkit k = {0};
    struct arena a = {0};
    struct step *v;
    size_t n;
    stepkit_add(&k, "D3 F2 B2 O1 D3 F2 B2 O1 D3 F2 B2 O1 ");
    struct steps_flow *f = steps_flow_open();
    for (size_t i = 0; i < k.n; i++)
        steps_flow_add(f, &k.v[i].event, 1);
    steps_flow_take(f, false, &a, &v, &n);
    CHECK_INT(n, 1);
    steps_flow_take(f, true, &a, &v, &n);
    CHECK_INT(n, 2);
    CHECK_INT(v[0].number, 1);
    CHECK_INT(steps_flow_marked(f), 12);
    steps_flow_close(f);
    arena_free(&a);
    stepkit_free(&k);
}
