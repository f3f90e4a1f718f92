/* SPDX-License-Identifier: Apache-2.0 */
/* What rules on steps and events keep: sums, sets and the longest. */
#include "base/mem.h"
#include "rules/per_entity.h"
#include "rules/seconds.h"
#include "rules/step_spread.h"
#include "test.h"

#define S NS_PER_S

static struct step step(int64_t number, int64_t start, int64_t dur_ns)
{
    return (struct step){.number = number, .start = {start}, .dur_ns = dur_ns};
}

/* ---- seconds ---- */

TEST(a_span_marks_every_second_that_it_touches_and_no_other)
{
    struct seconds s = {0};
    seconds_mark(&s, (wall_ns){10 * S + 1}, 2 * S); /* 10.000000001 .. 12.000000001 */
    CHECK(seconds_next(&s, 9) == 10 && seconds_next(&s, 11) == 11);
    CHECK(seconds_next(&s, 12) == 12 && seconds_next(&s, 13) != 13);
    seconds_mark(&s, (wall_ns){20 * S}, S); /* its end belongs to the next second */
    CHECK(seconds_next(&s, 20) == 20 && seconds_next(&s, 21) != 21);
    seconds_mark(&s, (wall_ns){30 * S}, 0);
    CHECK(seconds_next(&s, 30) == 30);
    seconds_memory(&s, STATE_FREE);
}

TEST(the_next_second_is_found_across_words_and_chunks)
{
    struct seconds s = {0};
    const int64_t at[] = {3, 63, 64, 4095, 4096, 100000};
    for (size_t i = 0; i < COUNT_OF(at); i++)
        seconds_mark(&s, (wall_ns){at[i] * S}, 0);
    int64_t t = 0;
    for (size_t i = 0; i < COUNT_OF(at); i++, t++) {
        t = seconds_next(&s, t);
        CHECK_INT(t, at[i]);
    }
    CHECK(seconds_next(&s, 100001) == INT64_MAX);
    seconds_memory(&s, STATE_FREE);
}

TEST(sets_of_seconds_join_to_their_union)
{
    struct seconds a = {0}, b = {0};
    uint64_t of;
    seconds_mark(&a, (wall_ns){5000 * S}, 10 * S);
    seconds_mark(&b, (wall_ns){5005 * S}, 10 * S);
    seconds_mark(&b, (wall_ns){10 * S}, S);
    seconds_add_all(&a, &b);
    CHECK_INT(seconds_touched(&a, (wall_ns){0}, 10000 * S, &of), 16);
    CHECK_INT(of, 10000);
    seconds_memory(&a, STATE_FREE);
    seconds_memory(&b, STATE_FREE);
}

/* ---- longest ---- */

TEST(the_longest_are_kept_whatever_the_order_they_came_in)
{
    struct longest a = {0}, b = {0};
    struct arena arena = {0};
    size_t n;
    for (int64_t i = 0; i < 1000; i++) {
        const struct step up = step(i, i * S, (i * 7919 % 1000) * NS_PER_MS);
        const struct step down =
            step(999 - i, (999 - i) * S, ((999 - i) * 7919 % 1000) * NS_PER_MS);
        longest_add(&a, 10, &up, up.dur_ns);
        longest_add(&b, 10, &down, down.dur_ns);
    }
    struct long_step *x = longest_over(&a, 989e6, &arena, &n), *y;
    CHECK_INT(n, 10);
    for (size_t i = 1; i < n; i++)
        CHECK(x[i - 1].start_ns < x[i].start_ns && x[i].dur_ns >= 990 * NS_PER_MS);
    y = longest_over(&b, 989e6, &arena, &n);
    CHECK_INT(n, 10);
    for (size_t i = 0; i < n; i++)
        CHECK(memcmp(&x[i], &y[i], sizeof *x) == 0);
    longest_memory(&a, STATE_FREE);
    longest_memory(&b, STATE_FREE);
    arena_free(&arena);
}

TEST(of_equally_long_steps_the_earlier_are_kept)
{
    struct longest l = {0};
    struct arena arena = {0};
    size_t n;
    for (int64_t i = 9; i >= 0; i--) {
        const struct step s = step(i, i * S, S);
        longest_add(&l, 3, &s, s.dur_ns);
    }
    const struct long_step *x = longest_over(&l, 0, &arena, &n);
    CHECK_INT(n, 3);
    CHECK(x[0].number == 0 && x[1].number == 1 && x[2].number == 2);
    longest_memory(&l, STATE_FREE);
    arena_free(&arena);
}

/* ---- spread ---- */

TEST(mean_and_deviation_leave_out_the_first_step_even_if_it_comes_last)
{
    struct step_spread x = {0};
    const struct step first = step(0, 0, 1000 * S);
    for (int64_t i = 1; i <= 4; i++) {
        const struct step s = step(i, i * S, i * NS_PER_MS);
        step_spread_add(&x, &s);
    }
    step_spread_add(&x, &first);
    CHECK_INT(x.n, 4);
    CHECK_INT(x.first.number, 0);
    NEAR(step_spread_mean(&x), 2.5e-3, 1e-12);
    NEAR(step_spread_sigma(&x), 1.1180339887e-3, 1e-12);
    NEAR(step_spread_quantile(&x, 1), 4e-3, 1e-9);
    step_spread_memory(&x, STATE_FREE);
}

TEST(a_million_equal_steps_have_no_deviation)
{
    struct step_spread x = {0};
    for (int64_t i = 0; i < 1000000; i++) {
        const struct step s = step(i, i * S, 3600 * S + 1);
        step_spread_add(&x, &s);
    }
    CHECK(step_spread_sigma(&x) == 0);
    NEAR(step_spread_mean(&x), 3600, 0);
    step_spread_memory(&x, STATE_FREE);
}

/* ---- at once ---- */

TEST(workers_at_work_at_once_are_counted_by_their_median)
{
    struct at_once a = {0};
    for (int64_t t = 0; t < 600; t++) {
        at_once_add(&a, (wall_ns){1000 * S + t * S}, S);
        if (t < 400)
            at_once_add(&a, (wall_ns){1000 * S + t * S + S / 3}, S / 2);
    }
    NEAR(at_once_median(&a), 1.5, 1e-6);
    at_once_memory(&a, STATE_FREE);
    CHECK(at_once_median(&a) == 0);
}

TEST(a_fetch_that_reaches_over_pieces_counts_in_each_of_them)
{
    struct at_once a = {0};
    at_once_add(&a, (wall_ns){5 * S}, 30 * S); /* half of the first and of the last piece */
    NEAR(at_once_median(&a), 0.5, 1e-6);
    at_once_add(&a, (wall_ns){0}, 5 * S);
    NEAR(at_once_median(&a), 1, 1e-6);
    at_once_memory(&a, STATE_FREE);
}

/* ---- ranks ---- */

struct counted_rank {
    struct rank_head head;
    int n;
};

TEST(a_rank_that_tells_its_number_late_keeps_its_state_and_its_place)
{
    struct node_state t = {0};
    const struct state_spec spec = {.rank_size = sizeof(struct counted_rank)};
    const struct rule_view c = {.spec = &spec};
    struct rule_rank a = {-1, -1, 20}, b = {0, 0, 10};
    ((struct counted_rank *)state_rank(&t, &c, &a))->n = 5;
    ((struct counted_rank *)state_rank(&t, &c, &b))->n = 1;
    a.rank = 1;
    ((struct counted_rank *)state_rank(&t, &c, &a))->n += 2;
    CHECK_INT(t.n_ranks, 2);
    const struct counted_rank *first = t.ranks[0], *second = t.ranks[1];
    CHECK_INT(first->head.id.rank, 0);
    CHECK_INT(second->head.id.rank, 1);
    CHECK_INT(second->n, 7);
    state_keep(&t, STATE_FREE);
}
