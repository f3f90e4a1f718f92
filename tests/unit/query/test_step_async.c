/* SPDX-License-Identifier: Apache-2.0 */
/* Iterations of loops that run ahead of the GPU. */
#include "base/mem.h"
#include "query/steps.h"
#include "test.h"

enum { MS = 1000000 };

TEST(iterations_of_an_even_loop_stay_as_they_are)
{
    const int64_t ns[] = {30 * MS, 31 * MS, 29 * MS, 30 * MS};
    int64_t out[COUNT_OF(ns)];
    iteration_groups(ns, COUNT_OF(ns), out);
    for (size_t i = 0; i < COUNT_OF(ns); i++)
        CHECK_INT(out[i], ns[i]);
}

TEST(a_loop_that_runs_ahead_and_then_waits_has_the_pace_of_the_gpu)
{
    int64_t ns[100], out[100];
    for (size_t i = 0; i < COUNT_OF(ns); i++)
        ns[i] = i % 20 == 19 ? 43 * MS : 1 * MS;
    iteration_groups(ns, COUNT_OF(ns), out);
    /* The first group has what ran ahead before it, too; the last one nothing behind it. */
    for (size_t i = 0; i < 99; i++)
        CHECK(out[i] >= 2 * MS && out[i] < 4 * MS);
}

TEST(a_wait_after_which_the_host_runs_ahead_is_no_long_iteration)
{
    int64_t ns[60], out[60];
    for (size_t i = 0; i < COUNT_OF(ns); i++)
        ns[i] = i == 30 ? 100 * MS : i > 30 && i <= 40 ? 1 * MS : 10 * MS;
    iteration_groups(ns, COUNT_OF(ns), out);
    CHECK_INT(out[29], 10 * MS);
    for (size_t i = 30; i <= 40; i++)
        CHECK_INT(out[i], 10 * MS);
    CHECK_INT(out[41], 10 * MS);
}

TEST(a_long_iteration_among_usual_ones_stays_long)
{
    int64_t ns[60], out[60];
    for (size_t i = 0; i < COUNT_OF(ns); i++)
        ns[i] = i == 30 ? 300 * MS : 10 * MS;
    iteration_groups(ns, COUNT_OF(ns), out);
    CHECK_INT(out[30], 300 * MS);
    CHECK_INT(out[31], 10 * MS);
}

TEST(a_stall_in_a_loop_that_runs_ahead_is_shared_by_its_own_group_only)
{
    int64_t ns[200], out[200];
    for (size_t i = 0; i < COUNT_OF(ns); i++)
        ns[i] = i == 119 ? 2000 * MS : i % 20 == 19 ? 43 * MS : 1 * MS;
    iteration_groups(ns, COUNT_OF(ns), out);
    CHECK(out[119] > 90 * MS);
    CHECK(out[50] < 5 * MS && out[150] < 5 * MS);
}

TEST(no_group_reaches_across_what_is_left_out)
{
    const int64_t ns[] = {10 * MS, 40 * MS, -1, 1 * MS, 10 * MS};
    int64_t out[COUNT_OF(ns)];
    iteration_groups(ns, COUNT_OF(ns), out);
    for (size_t i = 0; i < COUNT_OF(ns); i++)
        CHECK_INT(out[i], ns[i]);
    iteration_groups(ns, 0, out);
}

/* Train steps of 10 ms with an evaluation of a usual length between them, and a first step that
 * took a second. */
TEST(steps_are_paced_by_their_mode_and_warm_up_is_left_out)
{
    struct step v[40] = {0};
    struct step_pace pace = {0};
    for (size_t i = 0; i < COUNT_OF(v); i++) {
        v[i].mode = i >= 20 && i < 30 ? MODE_EVAL : MODE_TRAIN;
        v[i].dur_ns = v[i].mode == MODE_EVAL ? 1 * MS : 8 * MS;
        v[i].between_ns = v[i].mode == MODE_EVAL ? 0 : 2 * MS;
    }
    v[0].dur_ns = 1000 * MS;
    v[0].warmup = true;
    v[39].between_ns = -1;
    step_pace_see(&pace, v, COUNT_OF(v));
    step_pace_done(&pace);
    step_pace_give(&pace, 0, v, COUNT_OF(v));
    step_pace_free(&pace);
    CHECK_INT(v[0].paced_ns, 0);
    CHECK_INT(v[1].paced_ns, 10 * MS);
    CHECK_INT(v[19].paced_ns, 10 * MS);
    CHECK_INT(v[20].paced_ns, 1 * MS);
    CHECK_INT(v[39].paced_ns, 8 * MS);
}
