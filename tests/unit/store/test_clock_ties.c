/* SPDX-License-Identifier: Apache-2.0 */
/* Wall time from ties made by hand: jumps forward are followed, jumps back are not. */
#include "store/storekit.h"
#include "test.h"

#define START (1000000 * NS_PER_S) /* wall clock at monotonic zero */

static struct store *with_ties(const struct clock_tie *ties, size_t n)
{
    struct buf b = {0};
    struct store *s;
    struct err e;
    kit_group(&b, 0, "g", NS_PER_S, -1000000);
    kit_slot(&b, 0, 0, "gpu.util", "%", "gpu0", 1);
    for (int i = 0; i < 300; i++) {
        kit_row(&b, 0, 0);
        kit_cell(&b, 1);
    }
    for (size_t i = 0; i < n; i++)
        kit_tie(&b, ties[i].mono.ns, ties[i].wall.ns);
    kit_mkdir(kit_path("d"));
    kit_save_tail(kit_path("d"), &b, (struct clock_tie){{0}, {START}});
    buf_free(&b);
    OK(store_open(&s, kit_path("d/metrics.fp"), &e));
    return s;
}

static int64_t wall_s(const struct store *s, int64_t mono_s)
{
    return (store_wall(s, mono_s * 1000000).ns - START) / NS_PER_S;
}

static void never_backwards(const struct store *s)
{
    int64_t last = INT64_MIN;
    for (int64_t us = 0; us < 300000000; us += 10007) {
        const int64_t now = store_wall(s, us).ns;
        CHECK(now >= last);
        last = now;
    }
}

/* For every moment: asking from its wall time on finds it, and nothing before it. */
static void inverse(const struct store *s)
{
    for (int64_t us = 0; us < 300000000; us += 99991) {
        const wall_ns t = store_wall(s, us);
        CHECK_INT(store_mono_us(s, t), us);
        CHECK_INT(store_mono_us(s, (wall_ns){t.ns + 1}), us + 1);
    }
}

TEST(without_further_ties_the_header_maps_everything)
{
    struct store *s = with_ties(NULL, 0);
    CHECK_INT(wall_s(s, 0), 0);
    CHECK_INT(wall_s(s, 250), 250);
    inverse(s);
    store_close(s);
}

TEST(a_jump_forward_is_followed_from_its_tie_on)
{
    const struct clock_tie t[] = {{{100 * NS_PER_S}, {START + 3700 * NS_PER_S}}};
    struct store *s = with_ties(t, 1);
    CHECK_INT(wall_s(s, 99), 99);
    CHECK_INT(wall_s(s, 100), 3700);
    CHECK_INT(wall_s(s, 200), 3800);
    never_backwards(s);
    inverse(s);
    store_close(s);
}

TEST(a_jump_backward_is_not_followed)
{
    const struct clock_tie t[] = {
        {{100 * NS_PER_S}, {START - 5000 * NS_PER_S}},
        {{160 * NS_PER_S}, {START - 4940 * NS_PER_S}},
    };
    struct store *s = with_ties(t, 2);
    CHECK_INT(wall_s(s, 99), 99);
    CHECK_INT(wall_s(s, 100), 100);
    CHECK_INT(wall_s(s, 200), 200);
    never_backwards(s);
    store_close(s);
}

TEST(a_jump_back_and_forth_leaves_time_where_it_was)
{
    const struct clock_tie t[] = {
        {{50 * NS_PER_S}, {START - 1000 * NS_PER_S}},
        {{100 * NS_PER_S}, {START + 100 * NS_PER_S}},
        {{150 * NS_PER_S}, {START + 3750 * NS_PER_S}},
    };
    struct store *s = with_ties(t, 3);
    CHECK_INT(wall_s(s, 120), 120);
    CHECK_INT(wall_s(s, 150), 3750);
    never_backwards(s);
    inverse(s);
    store_close(s);
}

TEST(drift_below_ten_milliseconds_moves_nothing)
{
    struct clock_tie t[100];
    for (int i = 0; i < 100; i++)
        t[i] = (struct clock_tie){{i * NS_PER_S}, {START + i * NS_PER_S + (i % 3) * 3 * NS_PER_MS}};
    struct store *s = with_ties(t, 100);
    CHECK_INT(store_wall(s, 250000000).ns, START + 250 * NS_PER_S);
    inverse(s);
    store_close(s);
}

TEST(a_wall_time_that_the_jump_left_out_is_the_moment_of_the_jump)
{
    const struct clock_tie t[] = {{{100 * NS_PER_S}, {START + 3700 * NS_PER_S}}};
    struct store *s = with_ties(t, 1);
    CHECK_INT(store_mono_us(s, (wall_ns){START + 50 * NS_PER_S}), 50000000);
    CHECK_INT(store_mono_us(s, (wall_ns){START + 101 * NS_PER_S}), 100000000);
    CHECK_INT(store_mono_us(s, (wall_ns){START + 2000 * NS_PER_S}), 100000000);
    CHECK_INT(store_mono_us(s, (wall_ns){START + 3701 * NS_PER_S}), 101000000);
    store_close(s);
}

TEST(ties_made_of_extreme_numbers_do_no_harm)
{
    static const int64_t ends[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX};
    struct clock_tie t[36];
    for (int i = 0; i < 36; i++)
        t[i] = (struct clock_tie){{ends[i / 6]}, {ends[i % 6]}};
    struct store *s = with_ties(t, 36);
    for (int i = 0; i < 6; i++) {
        store_wall(s, ends[i]);
        store_mono_us(s, (wall_ns){ends[i]});
    }
    store_close(s);
}

/* ---- times that no clock shows ---- */

static bool walls_fit(const struct store *s)
{
    bool good = clock_fits(store_wall(s, s->t_first_us).ns) &&
                clock_fits(store_wall(s, s->t_last_us).ns) &&
                clock_fits(store_wall(s, INT64_MAX).ns) && clock_fits(store_wall(s, INT64_MIN).ns);
    for (uint32_t i = 0; i < s->n_blocks; i++)
        good = good && clock_fits(store_wall(s, s->blocks[i].t_first_us).ns) &&
               clock_fits(store_wall(s, s->blocks[i].t_last_us).ns);
    return good;
}

TEST(a_tie_that_no_clock_shows_is_left_out)
{
    const struct clock_tie t[] = {
        {{100 * NS_PER_S}, {INT64_MAX}},
        {{INT64_MIN}, {START}},
        {{120 * NS_PER_S}, {INT64_MIN}},
    };
    struct store *s = with_ties(t, 3);
    CHECK_INT(wall_s(s, 200), 200);
    CHECK(s->n_blocks == 1 && walls_fit(s));
    store_close(s);
}

TEST(blocks_whose_wall_time_no_clock_shows_are_damaged)
{
    /* Each time fits alone, but 100 s of monotonic time are 142 years and more. */
    const struct clock_tie t[] = {{{100 * NS_PER_S}, {CLOCK_MOST_NS}}};
    struct store *s = with_ties(t, 1);
    CHECK_INT(s->n_blocks, 0);
    CHECK_INT(s->n_series, 0);
    CHECK(s->n_losses == 1 && s->losses[0].id == LOSS_DAMAGED);
    CHECK(walls_fit(s));
    store_close(s);
}
