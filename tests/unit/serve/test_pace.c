/* SPDX-License-Identifier: Apache-2.0 */
/* When what is done over and over is done again. */
#include "serve/limits.h"
#include "test.h"

#define LEAST (900 * NS_PER_MS)

static int64_t pause_after(int64_t took_ns)
{
    const mono_ns begin = {5 * NS_PER_S};
    return mono_diff(pace_next(begin, mono_add(begin, took_ns), LEAST), begin);
}

TEST(what_takes_little_is_done_again_after_the_least_pause)
{
    CHECK_INT(pause_after(0), LEAST);
    CHECK_INT(pause_after(5 * NS_PER_MS), LEAST);
    CHECK_INT(pause_after(45 * NS_PER_MS), LEAST);
}

TEST(what_takes_long_takes_a_twentieth_of_the_time)
{
    CHECK_INT(pause_after(46 * NS_PER_MS), 920 * NS_PER_MS);
    CHECK_INT(pause_after(NS_PER_S), 20 * NS_PER_S);
    CHECK_INT(pause_after(60 * NS_PER_S), 20 * 60 * NS_PER_S);
}

/* Things that take so long each, done whenever it is allowed, and looked at every so often. Hands
 * back how many of them were done in a minute. */
static int64_t done_in_a_minute(int64_t took_ns, int64_t look_ns)
{
    mono_ns next = {0};
    int64_t n = 0;
    for (mono_ns now = {NS_PER_S}; now.ns < 61 * NS_PER_S; now = mono_add(now, look_ns))
        while (now.ns >= next.ns) {
            next = pace_share(next, now, mono_add(now, took_ns), 2 * NS_PER_S);
            now = mono_add(now, took_ns);
            n++;
        }
    return n;
}

TEST(many_things_share_a_twentieth_of_the_time)
{
    CHECK_INT(done_in_a_minute(100 * NS_PER_MS, 100 * NS_PER_MS), 31);
    CHECK_INT(done_in_a_minute(3 * NS_PER_S, 10 * NS_PER_MS), 2);
}

TEST(who_looks_seldom_may_make_up_for_it_but_not_for_a_long_silence)
{
    const int64_t often = done_in_a_minute(5 * NS_PER_MS, 10 * NS_PER_MS);
    const int64_t seldom = done_in_a_minute(5 * NS_PER_MS, NS_PER_S);
    CHECK(seldom > often * 9 / 10 && seldom <= often + 20);
    CHECK(done_in_a_minute(5 * NS_PER_MS, 10 * NS_PER_S) < often / 3);
}
