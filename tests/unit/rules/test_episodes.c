/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/windows.h"
#include "test.h"

static wall_ns s(int64_t seconds)
{
    return (wall_ns){seconds * NS_PER_S};
}

TEST(moments_near_each_other_are_one_episode)
{
    struct episodes e = {0};
    episodes_add(&e, s(100), NS_PER_S);
    episodes_add(&e, s(131), NS_PER_S); /* 30 s behind the end of the one before */
    episodes_add(&e, s(163), NS_PER_S); /* 31 s */
    CHECK_INT(e.n, 2);
    CHECK_INT(e.v[0].from_ns, s(100).ns);
    CHECK_INT(e.v[0].to_ns, s(132).ns);
    CHECK_INT(e.v[0].count, 2);
    CHECK_INT(e.v[0].held_ns, 2 * NS_PER_S);
    CHECK_INT(episodes_held_ns(&e), 3 * NS_PER_S);
    episodes_memory(&e, STATE_FREE);
}

TEST(ranges_are_the_episodes)
{
    struct arena a = {0};
    struct episodes e = {0};
    episodes_add(&e, s(1), NS_PER_S);
    episodes_add(&e, s(100), 5 * NS_PER_S);
    struct verdict v = {.arena = &a};
    struct finding f = {.n_ranges = 0};
    finding_in(&v, &f, &e);
    CHECK_INT(f.n_ranges, 2);
    CHECK_INT(f.ranges[1].start.ns, s(100).ns);
    CHECK_INT(f.ranges[1].end.ns, s(105).ns);
    episodes_memory(&e, STATE_FREE);
    arena_free(&a);
}
