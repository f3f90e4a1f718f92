/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a job from those of its ranks. */
#include "compare/compare_internal.h"
#include "test.h"

static struct step step_of(int64_t number, int64_t ms)
{
    return (struct step){
        .number = number, .mode = MODE_TRAIN, .dur_ns = ms * NS_PER_MS, .batch = -1};
}

static struct rank_steps rank_of(struct step *v, size_t n)
{
    return (struct rank_steps){.node = "n1", .steps = v, .n = n};
}

TEST(a_step_takes_as_long_as_its_slowest_rank)
{
    struct step a[] = {step_of(0, 10), step_of(1, 30)}, b[] = {step_of(0, 20), step_of(1, 5)};
    const struct rank_steps ranks[] = {rank_of(a, 2), rank_of(b, 2)};
    struct jobsteps j;
    struct arena arena = {0};
    b[0].part_ns[1] = 7 * NS_PER_MS;
    a[1].part_ns[0] = 9 * NS_PER_MS;
    jobsteps_of(ranks, 2, &arena, &j);
    CHECK_INT(j.n, 2);
    CHECK_INT(j.ranks, 2);
    NEAR(j.s[0], 0.020, 1e-12);
    NEAR(j.s[1], 0.030, 1e-12);
    NEAR(j.part_s[1][0], 0.007, 1e-12); /* the parts are those of the slowest */
    NEAR(j.part_s[1][1], 0, 1e-12);
    NEAR(j.part_s[0][1], 0.009, 1e-12);
    CHECK(j.part_s[2] == NULL && j.batch == NULL);
    arena_free(&arena);
}

TEST(ranks_are_tied_together_by_the_numbers_of_their_steps)
{
    struct step a[] = {step_of(5, 10), step_of(6, 10), step_of(8, 10)},
                b[] = {step_of(6, 40), step_of(7, 50), step_of(8, 60)};
    const struct rank_steps ranks[] = {rank_of(a, 3), rank_of(b, 3)};
    struct jobsteps j;
    struct arena arena = {0};
    jobsteps_of(ranks, 2, &arena, &j);
    CHECK_INT(j.n, 4);
    static const int64_t numbers[] = {5, 6, 7, 8}, ms[] = {10, 40, 50, 60};
    for (size_t i = 0; i < 4; i++) {
        CHECK_INT(j.number[i], numbers[i]);
        NEAR(j.s[i], (double)ms[i] / 1e3, 1e-12);
    }
    arena_free(&arena);
}

TEST(after_a_restart_steps_are_tied_together_by_their_order)
{
    struct step a[] = {step_of(0, 1), step_of(1, 2), step_of(0, 3), step_of(1, 4)},
                b[] = {step_of(0, 5), step_of(1, 6), step_of(0, 7), step_of(1, 8)};
    const struct rank_steps ranks[] = {rank_of(a, 4), rank_of(b, 4)};
    struct jobsteps j;
    struct arena arena = {0};
    jobsteps_of(ranks, 2, &arena, &j);
    CHECK_INT(j.n, 4);
    for (size_t i = 0; i < 4; i++)
        NEAR(j.s[i], (double)(5 + i) / 1e3, 1e-12);
    arena_free(&arena);
}

TEST(only_whole_training_steps_count)
{
    struct step a[] = {step_of(0, 10), step_of(1, 20), step_of(2, 30)};
    struct rank_steps rank = rank_of(a, 3);
    struct jobsteps j;
    struct arena arena = {0};
    a[1].mode = MODE_EVAL;
    a[2].cut = true;
    jobsteps_of(&rank, 1, &arena, &j);
    CHECK_INT(j.n, 1);
    jobsteps_of(&rank, 0, &arena, &j);
    CHECK_INT(j.n, 0);
    CHECK_INT(j.ranks, 0);
    arena_free(&arena);
}

TEST(batches_add_up_over_ranks_and_are_not_known_when_one_is_not)
{
    struct step a[] = {step_of(0, 10), step_of(1, 20)}, b[] = {step_of(0, 10), step_of(1, 20)};
    const struct rank_steps ranks[] = {rank_of(a, 2), rank_of(b, 2)};
    struct jobsteps j;
    struct arena arena = {0};
    a[0].batch = a[1].batch = 32;
    b[0].batch = b[1].batch = 16;
    jobsteps_of(ranks, 2, &arena, &j);
    CHECK(j.batch && j.batch[0] == 48 && j.batch[1] == 48);
    b[1].batch = -1;
    jobsteps_of(ranks, 2, &arena, &j);
    CHECK(j.batch == NULL);
    arena_free(&arena);
}

TEST(a_step_counts_by_its_iteration_and_its_parts_add_up_to_it)
{
    struct step a[] = {step_of(0, 10), step_of(1, 10)};
    const struct rank_steps rank = rank_of(a, 2);
    const size_t between = iteration_parts() - 1;
    struct jobsteps j;
    struct arena arena = {0};
    size_t sync = 0;
    while (strcmp(iteration_part_name(sync), "sync") != 0)
        sync++;
    a[0].part_ns[0] = 6 * NS_PER_MS;
    a[0].part_ns[sync] = 4 * NS_PER_MS;
    a[0].between_ns = 20 * NS_PER_MS;
    a[0].between_sync_ns = 15 * NS_PER_MS;
    a[1].between_ns = -1; /* the last one: nothing comes after it */
    jobsteps_of(&rank, 1, &arena, &j);
    CHECK_STR(iteration_part_name(between), "between");
    NEAR(j.s[0], 0.030, 1e-12);
    NEAR(j.part_s[sync][0], 0.019, 1e-12);
    NEAR(j.part_s[between][0], 0.005, 1e-12);
    NEAR(j.part_s[0][0] + j.part_s[sync][0] + j.part_s[between][0], j.s[0], 1e-12);
    NEAR(j.s[1], 0.010, 1e-12);
    NEAR(j.part_s[between][1], 0, 1e-12);
    arena_free(&arena);
}

/* Each rank waits for its GPU at another step: the longest of each number would be 4 times 40. */
TEST(iterations_of_ranks_that_run_ahead_add_up_to_the_time_of_the_loop)
{
    static const int64_t ms[2][4] = {{40, 2, 2, 36}, {2, 38, 38, 2}};
    struct step v[2][4];
    struct rank_steps ranks[2];
    struct jobsteps j;
    struct arena arena = {0};
    for (int r = 0; r < 2; r++) {
        int64_t at = 0;
        for (int k = 0; k < 4; k++) {
            v[r][k] = step_of(k, 1);
            v[r][k].start.ns = at * NS_PER_MS;
            v[r][k].between_ns = (ms[r][k] - 1) * NS_PER_MS;
            at += ms[r][k];
        }
        ranks[r] = rank_of(v[r], 4);
    }
    jobsteps_of(ranks, 2, &arena, &j);
    double sum = 0;
    for (size_t i = 0; i < j.n; i++)
        sum += j.s[i];
    NEAR(sum, 0.080, 1e-12);
    arena_free(&arena);
}

TEST(warm_up_or_a_detail_window_of_one_rank_marks_the_step_of_the_job)
{
    struct step a[] = {step_of(0, 10), step_of(1, 20), step_of(2, 20)},
                b[] = {step_of(0, 10), step_of(1, 20), step_of(2, 20)};
    const struct rank_steps ranks[] = {rank_of(a, 3), rank_of(b, 3)};
    struct jobsteps j;
    struct arena arena = {0};
    a[0].warmup = true;
    b[1].disturbed = true;
    jobsteps_of(ranks, 2, &arena, &j);
    CHECK(j.warmup[0] && !j.warmup[1] && !j.warmup[2]);
    CHECK(!j.disturbed[0] && j.disturbed[1] && !j.disturbed[2]);
    arena_free(&arena);
}
