/* SPDX-License-Identifier: Apache-2.0 */
/* Runs in files against each other, as a recorder writes them. */
#include "base/json_write.h"
#include "base/mem.h"
#include "compare/compare.h"
#include "query/recordkit.h"
#include "test.h"

/* A run of one node and one rank: `steps` of them, each with some data loading and `ms` of work, a
 * little more or less. `batch` 0: it does not say. */
struct make {
    const char *name;
    int steps;
    int data_ms, work_ms, batch;
    const char *node;   /* more of node.json, with a comma behind */
    const char *folder; /* of the run; NULL: as its name */
};

static int64_t wobble(int i, int of) /* -2 % .. 2 % in steps, no two neighbours alike */
{
    return (i * 7919 % 41 - 20) * (int64_t)of * NS_PER_MS / 1000;
}

static void put_node_json(const char *run, const char *node, const char *more, int64_t from,
                          int64_t to)
{
    char json[512];
    snprintf(json, sizeof json,
             "{%s\"status\":\"finished\",\"start_ns\":%lld,\"end_ns\":%lld,\"exit_status\":0}",
             more ? more : "", (long long)(KIT_START + from), (long long)(KIT_START + to));
    kit_node(run, node, 1, json);
}

static const char *make_run(const struct make *m)
{
    const char *run = kit_run(m->folder ? m->folder : m->name, m->name,
                              m->folder ? m->folder : m->name, KIT_START);
    struct recordkit k = recordkit_open(run, "n1");
    int64_t t = NS_PER_S;
    recordkit_fact(k.events, 70, 70, "process.rank", 0);
    for (int i = 0; i < m->steps; i++) {
        const int64_t warm = i == 0 ? 5 : 1; /* the first one compiles */
        char text[128];
        snprintf(text, sizeof text, "D%lld N%d F%lld B%lld O1000000",
                 (long long)(m->data_ms * NS_PER_MS), m->batch,
                 (long long)(warm * (m->work_ms * NS_PER_MS / 2 + wobble(i, m->work_ms))),
                 (long long)(warm * m->work_ms * NS_PER_MS / 2));
        if (m->batch == 0)
            snprintf(text, sizeof text, "D%lld F%lld B%lld O1000000",
                     (long long)(m->data_ms * NS_PER_MS),
                     (long long)(warm * (m->work_ms * NS_PER_MS / 2 + wobble(i, m->work_ms))),
                     (long long)(warm * m->work_ms * NS_PER_MS / 2));
        t = recordkit_thread(k.events, 70, 70, t, text);
    }
    t += NS_PER_S;
    recordkit_close(&k, 0, t, "finished");
    put_node_json(run, "n1", m->node, 0, t);
    return run;
}

static void compare_with(const char *a, const char *b, struct compare_ask *ask, struct arena *arena,
                         struct compared *out)
{
    struct run *runs[2];
    struct err e;
    OK(run_open(&runs[0], a, &e));
    OK(run_open(&runs[1], b, &e));
    for (int s = 0; s < COMPARE_SIDES; s++) {
        ask->side[s].runs = &runs[s];
        ask->side[s].n = 1;
    }
    OK(compare_runs(ask, arena, out, &e));
    run_close(runs[0]);
    run_close(runs[1]);
}

static void compare_two(const char *a, const char *b, struct arena *arena, struct compared *out)
{
    struct compare_ask ask = {0};
    compare_with(a, b, &ask, arena, out);
}

static bool says(const char *text, const char *words)
{
    return strstr(text, words) != NULL;
}

TEST(a_run_against_itself_shows_no_difference)
{
    struct arena a = {0};
    struct compared c;
    const char *run = make_run(&(struct make){"one", 120, 10, 40, 0, NULL});
    compare_two(run, run, &a, &c);
    CHECK_INT(c.verdict, COMPARE_SAME);
    CHECK(c.same_run && c.same_hardware);
    CHECK(c.diff.at == 0 && c.diff.low == 0 && c.diff.high == 0);
    CHECK(says(c.sentence, "same run"));
    for (size_t i = 0; i < c.n_parts; i++)
        CHECK_INT(c.parts[i].verdict, COMPARE_SAME);
    for (size_t i = 0; i < c.n_findings; i++)
        CHECK(c.findings[i].change == FINDING_STAYED);
    arena_free(&a);
}

TEST(what_became_slower_is_called_and_named)
{
    struct arena a = {0};
    struct compared c;
    const char *before = make_run(&(struct make){"before", 120, 10, 40, 0, NULL}),
               *after = make_run(&(struct make){"after", 120, 30, 40, 0, NULL});
    compare_two(before, after, &a, &c);
    CHECK_INT(c.verdict, COMPARE_SLOWER);
    NEAR(c.diff.at, 20.0 / 51, 0.01);
    CHECK(c.steps_diff.low > 0.3 && c.steps_diff.high < 0.5);
    CHECK(c.diff.low > 0.15 && c.diff.low < 0.25); /* runs of the same code differ, too */
    CHECK(says(c.sentence, "slower") && says(c.sentence, "%"));
    CHECK_INT(c.side[COMPARE_A].warmup, 12);
    CHECK_INT(c.side[COMPARE_A].steps.count, 108);
    CHECK_STR(c.parts[0].part, "data");
    CHECK_INT(c.parts[0].verdict, COMPARE_SLOWER);
    NEAR(c.parts[0].diff_s.at, 0.020, 1e-4);
    CHECK_INT(c.parts[1].verdict, COMPARE_SAME); /* forward */
    compare_two(after, before, &a, &c);
    CHECK_INT(c.verdict, COMPARE_FASTER);
    arena_free(&a);
}

TEST(what_runs_of_the_same_code_may_differ_by_is_called_noise_with_one_run_a_side)
{
    struct arena a = {0};
    struct compared c;
    const char *before = make_run(
                   &(struct make){.name = "before", .steps = 300, .data_ms = 60, .work_ms = 40}),
               *after = make_run(
                   &(struct make){.name = "after", .steps = 300, .data_ms = 72, .work_ms = 40});
    compare_two(before, after, &a, &c);
    CHECK(c.steps_diff.low > 0.10); /* sure of these two runs, but not of their code */
    CHECK_INT(c.verdict, COMPARE_SAME);
    CHECK(c.may_be_noise);
    CHECK(says(c.sentence, "Possibly noise") && says(c.sentence, "differ by 15"));
    CHECK(says(c.why, "Three runs per group"));
    CHECK(c.detectable_share > 0.15);
    CHECK_INT(c.parts[0].verdict, COMPARE_SLOWER); /* 20 % more: data; */
    CHECK_INT(c.parts[1].verdict, COMPARE_SAME);
    arena_free(&a);
}

/* Others of the same name beside both: they differ by far less than 15 %. */
TEST(other_runs_of_the_same_name_show_how_much_runs_differ)
{
    struct arena a = {0};
    struct compared c;
    static const char *const folders[] = {"before-1", "before-2", "before-3", "after-1"};
    for (int i = 0; i < 3; i++)
        make_run(&(struct make){"before", 300, 60 + i % 2, 40, 0, NULL, folders[i]});
    const char *before = make_run(&(struct make){"before", 300, 60, 40, 0, NULL, "before-4"}),
               *after = make_run(&(struct make){"after", 300, 72, 40, 0, NULL, "after-1"});
    compare_two(before, after, &a, &c);
    CHECK_INT(c.spread.runs, 4);
    CHECK(c.spread.reach < 0.05);
    CHECK_INT(c.verdict, COMPARE_SLOWER);
    CHECK(says(c.why, "estimated from 4 runs"));
    arena_free(&a);
}

TEST(two_runs_of_one_name_are_judged_by_the_others_and_not_by_themselves)
{
    struct arena a = {0};
    struct compared c;
    make_run(&(struct make){"job", 300, 60, 40, 0, NULL, "job-1"});
    make_run(&(struct make){"job", 300, 61, 40, 0, NULL, "job-2"});
    const char *x = make_run(&(struct make){"job", 300, 60, 40, 0, NULL, "job-4"}),
               *y = make_run(&(struct make){"job", 300, 90, 40, 0, NULL, "job-5"});
    compare_two(x, y, &a, &c);
    CHECK_INT(c.spread.runs, 0); /* two others are too few */
    make_run(&(struct make){"job", 300, 60, 40, 0, NULL, "job-3"});
    compare_two(x, y, &a, &c);
    CHECK_INT(c.spread.runs, 3);
    CHECK_INT(c.verdict, COMPARE_SLOWER);
    arena_free(&a);
}

/* Others of the same code beside A only: they count in both orders. */
TEST(swapped_runs_of_two_folders_learn_from_the_same_runs)
{
    struct arena a = {0};
    struct compared there, back;
    static const char *const folders[] = {"one/job-1", "one/job-2", "one/job-3"};
    kit_mkdir(kit_path("one"));
    kit_mkdir(kit_path("two"));
    for (int i = 0; i < 3; i++)
        make_run(&(struct make){"job", 300, 60 + i % 2, 40, 0, NULL, folders[i]});
    const char *x = make_run(&(struct make){"job", 300, 60, 40, 0, NULL, "one/job-4"}),
               *y = make_run(&(struct make){"job", 300, 90, 40, 0, NULL, "two/job-5"});
    compare_two(x, y, &a, &there);
    compare_two(y, x, &a, &back);
    CHECK_INT(there.spread.runs, 3);
    CHECK_INT(back.spread.runs, 3);
    NEAR(there.spread.reach, back.spread.reach, 1e-12);
    CHECK_INT(there.verdict, COMPARE_SLOWER);
    CHECK_INT(back.verdict, COMPARE_FASTER);
    arena_free(&a);
}

TEST(several_runs_a_side_show_themselves_how_much_runs_differ)
{
    struct arena a = {0};
    struct compared c;
    struct run *runs[6];
    struct err e;
    for (int i = 0; i < 6; i++) {
        char name[16];
        snprintf(name, sizeof name, "g%d", i);
        OK(run_open(&runs[i],
                    make_run(&(struct make){name, 100, 60 + i % 2 + (i < 3 ? 0 : 8), 40, 0, NULL}),
                    &e));
    }
    const struct compare_ask ask = {
        .side = {[COMPARE_A] = {&runs[0], 3, 0}, [COMPARE_B] = {&runs[3], 3, 0}}};
    OK(compare_runs(&ask, &a, &c, &e));
    CHECK_INT(c.verdict, COMPARE_SLOWER); /* 8 %: one run a side would not show it */
    CHECK(!c.may_be_noise && c.spread.reach == 0);
    for (size_t i = 0; i < 6; i++)
        run_close(runs[i]);
    arena_free(&a);
}

TEST(runs_of_different_length_are_compared_over_the_steps_that_both_have)
{
    struct arena a = {0};
    struct compared c;
    const char *few = make_run(&(struct make){"few", 30, 10, 40, 0, NULL}),
               *many = make_run(&(struct make){"many", 300, 10, 40, 0, NULL});
    compare_two(few, many, &a, &c);
    CHECK_INT(c.verdict, COMPARE_SAME);
    CHECK_INT(c.side[COMPARE_A].steps.count, 27);
    CHECK_INT(c.side[COMPARE_B].steps.count, 27);
    CHECK_INT(c.side[COMPARE_B].runs[0].steps, 300);
    arena_free(&a);
}

TEST(a_run_with_a_single_step_cannot_be_compared_and_says_so)
{
    struct arena a = {0};
    struct compared c;
    const char *one = make_run(&(struct make){"one", 1, 10, 40, 0, NULL}),
               *many = make_run(&(struct make){"many", 300, 10, 80, 0, NULL});
    compare_two(one, many, &a, &c);
    CHECK_INT(c.verdict, COMPARE_NOT);
    CHECK(says(c.sentence, "A 1,") && says(c.sentence, "at least 10 common steps"));
    CHECK(isnan(c.diff.low) && isnan(c.detectable_share));
    CHECK(c.n_phases > 2 && c.n_uses > 0); /* the rest is there */
    arena_free(&a);
}

TEST(a_run_without_steps_cannot_be_compared_and_the_rest_is_told)
{
    struct arena a = {0};
    struct compared c;
    const char *none = make_run(&(struct make){"none", 0, 10, 40, 0, NULL}),
               *many = make_run(&(struct make){"many", 300, 10, 80, 0, NULL});
    compare_two(none, many, &a, &c);
    CHECK_INT(c.verdict, COMPARE_NOT);
    CHECK(says(c.sentence, "A has no training steps"));
    CHECK(c.n_losses > 0);
    const struct compared_phase *total = &c.phases[c.n_phases - 1];
    CHECK_STR(total->phase, "total");
    NEAR(total->s[COMPARE_A], 2, 1e-6);
    compare_two(none, none, &a, &c);
    CHECK_INT(c.verdict, COMPARE_NOT);
    CHECK(says(c.sentence, "neither run has training steps"));
    arena_free(&a);
}

TEST(chosen_steps_are_compared_without_a_warm_up)
{
    struct arena a = {0};
    struct compared c;
    struct compare_ask ask = {.has_range = true, .from = 10, .to = 59};
    const char *run = make_run(&(struct make){"one", 120, 10, 40, 0, NULL}),
               *other = make_run(&(struct make){"two", 120, 10, 40, 0, NULL});
    compare_with(run, other, &ask, &a, &c);
    CHECK_INT(c.side[COMPARE_A].steps.count, 50);
    CHECK_INT(c.side[COMPARE_A].warmup, 0);
    arena_free(&a);
}

TEST(other_hardware_is_said)
{
    struct arena a = {0};
    struct compared c;
    const char *small = make_run(&(struct make){"small", 60, 10, 40, 0,
                                                "\"cores\":8,\"memory_bytes\":68719476736,"}),
               *large = make_run(&(struct make){
                   "large", 60, 10, 20, 0,
                   "\"cores\":96,\"memory_bytes\":68719476736,\"gpus\":[{\"entity\":\"gpu0\","
                   "\"name\":\"H100\"}],"});
    compare_two(small, large, &a, &c);
    CHECK(!c.same_hardware);
    CHECK_INT(c.n_hardware, 2);
    CHECK_STR(c.hardware[0], "the nodes of A have 8 cores, those of B 96 cores");
    CHECK(says(c.hardware[1], "no GPU, those of B 1 x H100"));
    CHECK_INT(c.verdict, COMPARE_FASTER);
    CHECK(says(c.why, "The hardware differs"));
    arena_free(&a);
}

TEST(what_the_runs_of_a_group_lack_or_have_differently_is_said_of_a_run)
{
    struct arena a = {0};
    struct compared c;
    struct run *runs[3];
    struct err e;
    const char *const made[] = {make_run(&(struct make){"small", 60, 10, 40, 0, "\"cores\":8,"}),
                                make_run(&(struct make){"none", 0, 10, 40, 0, "\"cores\":16,"}),
                                make_run(&(struct make){"large", 60, 10, 40, 0, "\"cores\":96,"})};
    for (size_t i = 0; i < COUNT_OF(runs); i++)
        OK(run_open(&runs[i], made[i], &e));
    const struct compare_ask ask = {
        .side = {[COMPARE_A] = {&runs[0], 2, 0}, [COMPARE_B] = {&runs[2], 1, 0}}};
    OK(compare_runs(&ask, &a, &c, &e));
    CHECK_STR(c.hardware[0], "the nodes of A have 8 cores or 16 cores, those of B 96 cores");
    CHECK(says(c.sentence, "a run of A has no training steps"));
    for (size_t i = 0; i < COUNT_OF(runs); i++)
        run_close(runs[i]);
    arena_free(&a);
}

TEST(batches_that_differ_are_compared_by_sample)
{
    struct arena a = {0};
    struct compared c;
    const char *small = make_run(&(struct make){"small", 120, 10, 40, 32, NULL}),
               *large = make_run(&(struct make){"large", 120, 15, 60, 64, NULL});
    compare_two(small, large, &a, &c);
    CHECK_INT(c.basis, BASIS_SAMPLE);
    CHECK_INT(c.verdict, COMPARE_FASTER); /* though a step takes half as long again */
    NEAR(c.diff.at, 76.0 / 51 / 2 - 1, 0.01);
    CHECK(c.side[COMPARE_A].batch == 32 && c.side[COMPARE_B].batch == 64);
    CHECK(says(c.why, "samples"));
    arena_free(&a);
}

static const char *make_cluster(const char *name, int machines, int64_t seconds)
{
    const char *run = kit_run(name, name, name, KIT_START);
    for (int i = 0; i < machines; i++) {
        char node[16];
        snprintf(node, sizeof node, "n%d", i);
        struct recordkit k = recordkit_open(run, node);
        recordkit_close(&k, 0, seconds * NS_PER_S, "finished");
    }
    return run;
}

TEST(the_worked_example_of_the_field_comes_out_right)
{
    struct arena a = {0};
    struct compared c;
    struct compare_ask ask = {.side = {{.price_per_hour = 14.688}, {.price_per_hour = 3.825}}};
    const char *before = make_cluster("before", 3, 503), *after = make_cluster("after", 2, 502);
    compare_with(before, after, &ask, &a, &c);
    NEAR(c.cost[COMPARE_A], 6.16, 1e-9);
    NEAR(c.cost[COMPARE_B], 1.07, 1e-9);
    NEAR(c.saving, 5.09, 1e-9);
    NEAR(c.saving_share * 100, 82.6, 0.05);
    CHECK(c.side[COMPARE_A].machines == 3 && c.side[COMPARE_B].machines == 2);
    CHECK(c.side[COMPARE_A].price_per_hour == 14.688);
    arena_free(&a);
}

TEST(without_a_price_there_is_no_cost)
{
    struct arena a = {0};
    struct compared c;
    const char *run = make_cluster("one", 1, 10);
    compare_two(run, run, &a, &c);
    CHECK(isnan(c.cost[COMPARE_A]) && isnan(c.saving) && isnan(c.saving_share));
    CHECK(c.n_losses > 0);
    arena_free(&a);
}

TEST(findings_that_came_and_went_are_told)
{
    struct arena a = {0};
    struct compared c;
    bool went = false;
    const char *starved = make_run(&(struct make){"starved", 200, 200, 40, 0, NULL}),
               *fed = make_run(&(struct make){"fed", 200, 1, 40, 0, NULL});
    compare_two(starved, fed, &a, &c);
    for (size_t i = 0; i < c.n_findings; i++)
        went |= c.findings[i].change == FINDING_WENT &&
                strcmp(c.findings[i].rule->name, "Dataloader") == 0;
    CHECK(went);
    arena_free(&a);
}

TEST(the_json_of_the_same_runs_is_the_same_to_the_byte)
{
    struct buf b[2] = {0};
    const char *before = make_run(&(struct make){"before", 120, 10, 40, 0, NULL}),
               *after = make_run(&(struct make){"after", 120, 12, 40, 0, NULL});
    for (int k = 0; k < 2; k++) {
        struct arena a = {0};
        struct compared c;
        struct jw j = {.out = &b[k]};
        compare_two(before, after, &a, &c);
        jw_object(&j, NULL);
        compare_json(&j, &c);
        jw_end(&j);
        arena_free(&a);
    }
    CHECK(b[0].len > 1000 && b[0].len == b[1].len && memcmp(b[0].p, b[1].p, b[0].len) == 0);
    buf_free(&b[0]);
    buf_free(&b[1]);
}

TEST(a_group_without_runs_is_refused)
{
    struct arena a = {0};
    struct compared c;
    struct err e;
    CHECK_INT(compare_runs(&(struct compare_ask){0}, &a, &c, &e), ERR_USAGE);
    CHECK(says(e.msg, "1 to 64 runs"));
    arena_free(&a);
}
