/* SPDX-License-Identifier: Apache-2.0 */
/* Items that a thread makes ahead: each once, in order, never in a slot that is in use. */
#include <stdatomic.h>
#include <stdint.h>

#include "base/thread.h"
#include "test.h"

enum { SLOTS = 3 };

struct numbers {
    uint64_t next, end;
    uint64_t v[SLOTS];
    atomic_uint calls_after_end;
};

static bool make_number(void *ctx, size_t slot)
{
    struct numbers *n = ctx;
    if (n->next == n->end) {
        atomic_fetch_add(&n->calls_after_end, 1);
        return false;
    }
    n->v[slot] = n->next++;
    return true;
}

static void every_number_comes(bool threaded)
{
    struct numbers n = {.end = 20000};
    struct ahead *a = ahead_open(make_number, &n, SLOTS, threaded);
    uint64_t want = 0;
    for (size_t slot; ahead_next(a, &slot); want++) {
        CHECK(slot < SLOTS);
        CHECK_INT(n.v[slot], want);
        if (want % 1000 == 0)
            for (volatile int i = 0; i < 100000; i++) /* the thread catches up */
                CHECK(i < 100000);
        CHECK_INT(n.v[slot], want);
    }
    size_t slot;
    CHECK_INT(want, n.end);
    CHECK(!ahead_next(a, &slot));
    ahead_close(a);
    CHECK_INT(n.calls_after_end, 1);
}

TEST(every_item_comes_once_in_order_and_stays_until_the_next)
{
    every_number_comes(true);
}

TEST(without_a_thread_items_are_made_when_they_are_asked_for)
{
    struct numbers n = {.end = 10};
    struct ahead *a = ahead_open(make_number, &n, SLOTS, false);
    size_t slot;
    CHECK_INT(n.next, 0);
    CHECK(ahead_next(a, &slot));
    CHECK_INT(n.next, 1);
    ahead_close(a);
    every_number_comes(false);
}

TEST(nothing_to_make_is_an_end)
{
    struct numbers n = {0};
    struct ahead *a = ahead_open(make_number, &n, SLOTS, true);
    size_t slot;
    CHECK(!ahead_next(a, &slot));
    ahead_close(a);
}

TEST(it_can_be_closed_at_any_time)
{
    for (unsigned taken = 0; taken < 5; taken++) {
        struct numbers n = {.end = UINT64_MAX};
        struct ahead *a = ahead_open(make_number, &n, SLOTS, true);
        for (size_t i = 0, slot; i < taken; i++)
            CHECK(ahead_next(a, &slot));
        ahead_close(a);
        CHECK(n.next <= taken + SLOTS);
    }
    ahead_close(NULL);
}
