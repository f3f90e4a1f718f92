/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "tables/opsview.h"
#include "test.h"

TEST(the_last_steps_of_each_process_stay_and_the_others_are_counted)
{
    struct step_row steps[7];
    for (size_t i = 0; i < COUNT_OF(steps); i++)
        steps[i] = (struct step_row){.of = {.node = "n", .pid = i < 4 ? 1 : 2}, .step = (int64_t)i};
    struct breakdown b = {.steps = steps, .n_steps = COUNT_OF(steps)};
    breakview_keep_last(&b, 4);
    CHECK_INT(b.n_steps, 4);
    CHECK_INT(b.earlier_steps, 3);
    CHECK_INT(b.steps[0].step, 2);
    CHECK_INT(b.steps[1].step, 3);
    CHECK_INT(b.steps[2].step, 5);
    CHECK_INT(b.steps[3].step, 6);
}

TEST(steps_that_are_few_enough_all_stay)
{
    struct step_row steps[2] = {{.of = {.node = "n"}}, {.of = {.node = "n"}}};
    struct breakdown b = {.steps = steps, .n_steps = 2};
    breakview_keep_last(&b, 2);
    CHECK_INT(b.n_steps, 2);
    CHECK_INT(b.earlier_steps, 0);
}

TEST(a_share_of_no_time_is_zero)
{
    NEAR(time_share(5, 10), 0.5, 0);
    NEAR(time_share(5, 0), 0, 0);
}

TEST(json_has_only_the_tables_that_are_requested)
{
    struct arena a = {0};
    struct buf out = {0};
    struct jw j = {.out = &out};
    const struct breakdown b = {0};
    breakview_json(&j, &b, 1u << BREAK_DEVICES, &a);
    buf_u8(&out, 0);
    CHECK(strstr((const char *)out.p, "\"devices\":[]"));
    CHECK(!strstr((const char *)out.p, "\"streams\""));
    buf_free(&out);
    arena_free(&a);
}
