/* SPDX-License-Identifier: Apache-2.0 */
/* The rows and the list of `footplate steps`. */
#include <string.h>

#include "query/recordkit.h"
#include "tables/stepsview.h"
#include "test.h"

struct viewed_steps {
    struct run *run;
    struct arena arena;
    struct steps_view v;
};

static const struct steps_ask all = {.last = SIZE_MAX, .rank = -1, .modes = STEPS_ALL_MODES};

/* Two ranks with two training steps and one evaluation step each. */
static const char *make_run(void)
{
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    for (uint32_t rank = 0; rank < 2; rank++) {
        const uint32_t pid = 70 + rank;
        recordkit_fact(k.events, pid, pid, "process.rank", rank);
        recordkit_thread(k.events, pid, pid, 1000, "D5 F3 B4 O1 D5 F3 B4 O1 D2 E3 .9");
    }
    recordkit_close(&k, 0, NS_PER_S, "finished");
    return run;
}

static void view(struct viewed_steps *x, const char *path, const struct steps_ask *ask)
{
    struct err e;
    *x = (struct viewed_steps){0};
    OK(run_open(&x->run, path, &e));
    OK(stepsview_read(&x->v, x->run, ask, &x->arena, &e));
}

static void view_free(struct viewed_steps *x)
{
    run_close(x->run);
    arena_free(&x->arena);
}

TEST(every_rank_has_a_row_for_each_mode_and_all_its_steps)
{
    struct viewed_steps x;
    view(&x, make_run(), &all);
    CHECK(x.v.why == NULL);
    CHECK_INT(x.v.n_rows, 4);
    CHECK_INT(x.v.n_items, 6);
    CHECK_INT(x.v.rows[0].stats.mode, MODE_TRAIN);
    CHECK_INT(x.v.rows[0].stats.count, 2);
    CHECK_INT(x.v.rows[1].stats.mode, MODE_EVAL);
    CHECK_INT(x.v.rows[2].rank->rank, 1);
    view_free(&x);
}

TEST(the_last_steps_of_each_rank_and_one_mode_can_be_selected)
{
    struct viewed_steps x;
    const struct steps_ask last = {.last = 1, .rank = -1, .modes = 1u << MODE_TRAIN};
    view(&x, make_run(), &last);
    CHECK_INT(x.v.n_rows, 2);
    CHECK_INT(x.v.n_items, 2);
    CHECK_INT(x.v.items[0].step->number, 1);
    CHECK_INT(x.v.items[1].step->number, 1);
    view_free(&x);
}

TEST(a_part_of_a_view_is_what_reading_with_the_same_request_gives)
{
    struct viewed_steps x, y;
    struct steps_view part;
    struct err e;
    const struct steps_ask ask = {.last = 1, .rank = 1, .modes = STEPS_ALL_MODES};
    const char *path = make_run();
    view(&x, path, &all);
    view(&y, path, &ask);
    OK(stepsview_cut(&part, &x.v, &ask, &x.arena, &e));
    CHECK_INT(part.n_rows, y.v.n_rows);
    CHECK_INT(part.n_items, y.v.n_items);
    CHECK_INT(part.items[0].step->start.ns, y.v.items[0].step->start.ns);
    CHECK_INT(part.rows[0].rank->rank, 1);
    view_free(&x);
    view_free(&y);
}

TEST(a_rank_without_steps_is_not_found_and_the_message_names_those_there_are)
{
    struct viewed_steps x;
    struct steps_view out;
    struct err e;
    const struct steps_ask ask = {.last = 1, .rank = 9, .modes = STEPS_ALL_MODES};
    view(&x, make_run(), &all);
    CHECK_INT(stepsview_read(&out, x.run, &ask, &x.arena, &e), ERR_NOT_FOUND);
    CHECK(strstr(e.msg, "no steps of rank 9; it has ranks 0 to 1"));
    CHECK_INT(stepsview_cut(&out, &x.v, &ask, &x.arena, &e), ERR_NOT_FOUND);
    view_free(&x);
}

TEST(a_run_without_events_says_why_it_has_no_steps)
{
    struct viewed_steps x;
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    recordkit_close(&k, 0, NS_PER_S, "finished");
    view(&x, run, &all);
    CHECK_STR(x.v.why, "no process reported events");
    CHECK_INT(x.v.n_rows, 0);
    CHECK(strstr(steps_none_text(x.v.info, x.v.why, &x.arena), "footplate.step()"));
    view_free(&x);
}

TEST(events_that_mark_no_step_are_the_reason_for_no_steps)
{
    struct viewed_steps x;
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    recordkit_thread(k.events, 7, 7, 100, "U5 U5");
    recordkit_close(&k, 0, NS_PER_S, "finished");
    view(&x, run, &all);
    CHECK(strstr(x.v.why, "none of them mark a step"));
    view_free(&x);
}

TEST(json_has_the_parts_of_a_step_in_seconds)
{
    struct viewed_steps x;
    struct buf out = {0};
    struct jw j = {.out = &out};
    view(&x, make_run(), &all);
    stepsview_json(&j, &x.v);
    buf_u8(&out, 0);
    CHECK(strstr((const char *)out.p, "\"mode\":\"eval\""));
    CHECK(strstr((const char *)out.p, "\"count\":2"));
    NEAR(steps_item_part_s(&x.v.items[0], 0), 5e-9, 1e-12);
    buf_free(&out);
    view_free(&x);
}
