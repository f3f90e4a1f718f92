/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "ring/ring_proc.h"
#include "ring/ring_read.h"
#include "test.h"

TEST(times_between_two_ties_lie_on_the_line_between_them)
{
    struct ring_clock c = {0};
    ring_clock_add(&c, (struct ring_tie){1000, 5000});
    ring_clock_add(&c, (struct ring_tie){2000, 5500});
    ring_clock_add(&c, (struct ring_tie){3000, 7500}); /* the clock was slewed */
    CHECK_INT(ring_clock_at(&c, 1000).ns, 5000);
    CHECK_INT(ring_clock_at(&c, 1500).ns, 5250);
    CHECK_INT(ring_clock_at(&c, 2000).ns, 5500);
    CHECK_INT(ring_clock_at(&c, 2500).ns, 6500);
    CHECK_INT(ring_clock_at(&c, 3000).ns, 7500);
    CHECK_INT(ring_clock_at(&c, 500).ns, 4750);  /* before the first: at its rate */
    CHECK_INT(ring_clock_at(&c, 4000).ns, 8750); /* after the last: at the rate of late */
}

TEST(ties_that_go_backwards_are_ignored_and_old_ones_make_room)
{
    struct ring_clock c = {0};
    for (unsigned i = 1; i <= 3 * RING_TIES; i++) {
        ring_clock_add(&c, (struct ring_tie){i * 100, i * 50});
        ring_clock_add(&c, (struct ring_tie){i * 100 - 50, i * 50 + 7});
        ring_clock_add(&c, (struct ring_tie){i * 100 + 50, i * 50 - 7});
    }
    CHECK_INT(c.n, RING_TIES);
    CHECK_INT(c.tie[RING_TIES - 1].ticks, 300 * RING_TIES);
    CHECK_INT(ring_clock_at(&c, 100 * RING_TIES).ns, 50 * RING_TIES);
}

TEST(any_number_of_ticks_has_an_answer)
{
    struct ring_clock c = {0};
    static const uint64_t ticks[] = {0, 1, UINT64_MAX, 1ull << 63, (1ull << 63) - 1, 12345};
    for (int ties = 0; ties < 3; ties++) {
        for (size_t i = 0; i < sizeof ticks / sizeof ticks[0]; i++)
            ring_clock_at(&c, ticks[i]);
        ring_clock_add(&c, (struct ring_tie){1000 + (uint64_t)ties, INT64_MAX - 5 + ties});
    }
}

TEST(the_counter_of_this_machine_reads_as_its_monotonic_clock)
{
    struct ring_clock c;
    if (!ring_tsc_usable())
        SKIP("this CPU has no invariant counter");
    ring_clock_start(&c);
    int64_t worst = 0;
    for (int i = 0; i < 60; i++) {
        usleep(5000);
        ring_clock_tick(&c);
        int64_t nearest = INT64_MAX;
        for (int k = 0; k < 5; k++) { /* a preemption in between is not the clock's fault */
            const uint64_t ticks = ring_tsc();
            const int64_t off = llabs(ring_clock_at(&c, ticks).ns - (int64_t)ring_mono_ns());
            nearest = off < nearest ? off : nearest;
        }
        worst = nearest > worst ? nearest : worst;
    }
    CHECK(worst < 20 * NS_PER_US);
}
