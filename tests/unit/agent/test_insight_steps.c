/* SPDX-License-Identifier: Apache-2.0 */
/* test_insight_steps.c - events that come by become the steps that rules are given. */
#include <string.h>

#include "agent/insight_internal.h"
#include "test.h"

enum { STEP_NS = 1000, PID = 7, TRAINS = 1, OTHER = 2 };

static const struct clock_tie tie = {.mono = {0}, .wall = {1000000}};

/* `n` steps of one thread from the `from`-th on: forward, backward, optimizer, without a gap. */
static void train(struct step_buf *b, uint64_t tid, int64_t from, int64_t n)
{
    static const char *const names[] = {"forward", "backward", "optimizer"};
    const struct track t = {.kind = TRACK_THREAD, .pid = PID, .id = tid};
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < 3; k++) {
            const struct event v = {.kind = EVENT_SPAN,
                                    .name = names[k],
                                    .at = {(from + i) * STEP_NS + k * 300},
                                    .dur_ns = 300};
            step_buf_events(b, &t, &v, 1, tie);
        }
}

static size_t taken(struct step_buf *b, wall_ns *first)
{
    struct arena a = {0};
    struct step_news news;
    step_buf_take(b, tie, &a, &news);
    CHECK(news.n <= 1);
    const size_t n = news.n ? news.batches[0].n : 0;
    if (n)
        *first = news.batches[0].v[0].start;
    arena_free(&a);
    return n;
}

TEST(steps_are_handed_out_once_with_the_time_of_day)
{
    struct step_buf b = {0};
    wall_ns first = {0};
    train(&b, TRAINS, 0, 10);
    CHECK_INT(b.waiting, 30);
    CHECK_INT(taken(&b, &first), 8); /* the newest wait for what follows */
    CHECK_INT(first.ns, tie.wall.ns);
    CHECK_INT(b.waiting, 0);
    CHECK_INT(taken(&b, &first), 0);
    train(&b, TRAINS, 10, 10);
    CHECK_INT(taken(&b, &first), 10);
    CHECK_INT(first.ns, tie.wall.ns + 8 * STEP_NS);
    step_buf_free(&b);
}

TEST(what_another_thread_did_is_kept_while_it_is_little)
{
    struct step_buf b = {0};
    wall_ns first = {0};
    train(&b, TRAINS, 0, 100);
    train(&b, OTHER, 0, 50);
    CHECK_INT(taken(&b, &first), 98);
    train(&b, OTHER, 50, 100); /* it was that one */
    CHECK_INT(taken(&b, &first), 148);
    CHECK_INT(first.ns, tie.wall.ns);
    step_buf_free(&b);
}

TEST(what_another_thread_did_is_given_up_when_it_is_much)
{
    enum { ROUNDS = 20, MUCH = 5000 };
    struct step_buf b = {0};
    wall_ns first = {0};
    for (int64_t i = 0; i < ROUNDS; i++) {
        train(&b, TRAINS, i * MUCH, MUCH);
        train(&b, OTHER, i * MUCH, MUCH - 1);
        CHECK(taken(&b, &first) > 0);
        for (size_t k = 0; k < b.v[0].n_threads; k++)
            CHECK(steps_flow_held(b.v[0].threads[k].flow) < 5 * 3);
    }
    step_buf_free(&b);
}
