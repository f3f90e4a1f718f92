/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/per_entity.h"
#include "test.h"

TEST(times_are_told_so_that_none_that_was_something_reads_as_nothing)
{
    struct arena a = {0};
    const struct judge j = {.arena = &a};
    CHECK_STR(judge_time(&j, 0), "0 ms");
    CHECK_STR(judge_time(&j, 24e-6), "24 µs");
    CHECK_STR(judge_time(&j, 0.0009), "900 µs");
    CHECK_STR(judge_time(&j, 0.25), "250 ms");
    CHECK_STR(judge_time(&j, 90), "90.0 s");
    arena_free(&a);
}
