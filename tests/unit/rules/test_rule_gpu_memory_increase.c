/* SPDX-License-Identifier: Apache-2.0 */
#include "kit.h"

#define RULE_NAME "GPUMemoryIncrease"

static const struct verdict *judge_nodes(const struct kit_node *nodes, size_t n)
{
    return kit_verdict(&(struct kit){nodes, n}, RULE_NAME);
}

static void memory(struct moment *m, float percent)
{
    m->gpu[0][GPU_SIG_UTIL] = 80;
    m->gpu[0][GPU_SIG_MEM] = percent;
}

static void steps_up(size_t i, struct moment *m)
{
    memory(m, i < 600 ? 40 : 47.5f);
}

static void steps_up_less(size_t i, struct moment *m)
{
    memory(m, i < 600 ? 40 : 45);
}

static void flat(size_t i, struct moment *m)
{
    (void)i;
    memory(m, 40);
}

/* One point in 20 s: far below the increase from window to window. */
static void leaks(size_t i, struct moment *m)
{
    memory(m, 20 + (float)i / 40 + (float)kit_noise(i, 10) / 10);
}

static void leaks_fast(size_t i, struct moment *m)
{
    memory(m, 10 + (float)i * 0.6f);
}

/* Fills a cache and stays there. */
static void fills_up(size_t i, struct moment *m)
{
    memory(m, 60 - 40 * expf(-(float)i / 120));
}

TEST(a_step_up_is_one_finding_with_both_sides_of_the_step)
{
    const struct kit_node node = {"n0", steps_up, 1000, .gpus = 1};
    const struct verdict *v = judge_nodes(&node, 1);
    CHECK_INT(v->n_findings, 1);
    CHECK_STR(v->findings[0].message, "memory of gpu0 jumped from 40.0 % to 47.5 % within 10.0 s "
                                      "(threshold 5 percentage points), "
                                      "without a steady rise over the training loop");
    NEAR(kit_number(&v->findings[0], "increase"), 7.5, 1e-9);
    CHECK_INT(v->triggered, 1);
    CHECK(strstr(v->findings[0].advice, "new allocation"));
    CHECK_INT(v->datapoints, 1000);
}

TEST(a_step_of_exactly_the_increase_is_clear)
{
    const struct kit_node node = {"n0", steps_up_less, 1000, .gpus = 1};
    const char *const set[] = {"GPUMemoryIncrease.increase=4.9", NULL};
    CHECK_INT(judge_nodes(&node, 1)->state, RULE_CLEAR);
    CHECK_INT(kit_verdict(&(struct kit){&node, 1, set}, RULE_NAME)->state, RULE_ISSUE);
}

TEST(a_slow_leak_is_a_steady_climb_and_says_when_memory_is_full)
{
    const struct kit_node node = {"n0", leaks, 2000, .gpus = 1};
    const struct verdict *v = judge_nodes(&node, 1);
    CHECK_INT(v->n_findings, 1);
    CHECK(strstr(v->findings[0].message, "memory of gpu0 rose steadily, from 2"));
    NEAR(kit_number(&v->findings[0], "memory_before"), 20.5, 0.6);
    NEAR(kit_number(&v->findings[0], "memory_after"), 70.5, 0.6);
    CHECK(strstr(v->findings[0].advice, "leak"));
    NEAR(kit_number(&v->findings[0], "climb_per_hour"), 180, 2); /* a point in 20 s */
    CHECK(!strstr(v->findings[0].message, "full in"));           /* after the end: no deadline */
    for (size_t i = 0; i < v->findings[0].n_numbers; i++)
        CHECK(strcmp(v->findings[0].numbers[i].name, "full_in") != 0);
    v = kit_verdict(&(struct kit){&node, 1, .goes_on = true}, RULE_NAME);
    NEAR(kit_number(&v->findings[0], "full_in"), (100 - 70.5) * 20, 20);
    CHECK(strstr(v->findings[0].message, "; at this rate it is full in "));
}

TEST(a_fast_leak_is_one_finding_and_not_one_per_window)
{
    const struct kit_node node = {"n0", leaks_fast, 140, .gpus = 1};
    const struct verdict *v = judge_nodes(&node, 1);
    CHECK_INT(v->n_findings, 1);
    CHECK(strstr(v->findings[0].message, "rose steadily"));
    CHECK(strstr(v->findings[0].advice, "nearly full"));
    CHECK_INT(v->triggered, 13); /* of 14 windows next to each other */
}

TEST(memory_that_fills_up_and_stays_is_no_leak)
{
    const struct kit_node node = {"n0", fills_up, 2000, .gpus = 1};
    const struct verdict *v = judge_nodes(&node, 1);
    for (size_t i = 0; i < v->n_findings; i++)
        CHECK(!strstr(v->findings[i].message, "rose steadily"));
}

static void saw(size_t i, struct moment *m)
{
    memory(m, i / 100 % 2 ? 70 : 30);
}

TEST(a_saw_is_told_a_few_times_and_counted)
{
    const struct kit_node node = {"n0", saw, 3000, .gpus = 1};
    const struct verdict *v = judge_nodes(&node, 1);
    CHECK_INT(v->n_findings, 10);
    CHECK_INT(v->triggered, 15);
    CHECK_STR(v->remarks[0], "memory of gpu0 on n0 jumped 15 times; the first 10 are listed");
}

static void no_memory(size_t i, struct moment *m)
{
    (void)i;
    m->gpu[0][GPU_SIG_UTIL] = 80;
}

TEST(too_short_and_without_memory_are_not_evaluated)
{
    const struct kit_node brief = {"n0", steps_up, 1, .gpus = 1};
    const struct kit_node silent = {"n0", no_memory, 900, .gpus = 1};
    const struct kit_node patient = {"n0", steps_up, 312, .gpus = 1};
    CHECK_STR(judge_nodes(&brief, 1)->why, "needs 2 readings (1.0 s of training), has 1");
    CHECK_STR(kit_verdict(&(struct kit){&brief, 1, .goes_on = true}, RULE_NAME)->why,
              "needs 15 readings (7.5 s of training), has 1");
    CHECK_STR(judge_nodes(&silent, 1)->why, "GPU memory was not reported");
    CHECK_STR(kit_verdict(&(struct kit){&patient, 1, .no_steps = true}, RULE_NAME)->why,
              "needs 1000 readings (8 min 20 s), has 312");
}

TEST(what_came_before_the_loop_does_not_count_and_is_not_said_to)
{
    const struct kit_node node = {"n0", steps_up, 30, .gpus = 1};
    const struct kit late = {&node, 1, .loop_after_ns = 12 * NS_PER_S, .goes_on = true};
    CHECK_STR(kit_verdict(&late, RULE_NAME)->why,
              "needs 15 readings of the training loop (7.5 s), has 6");
}

TEST(fifteen_points_suffice_while_a_run_goes_on)
{
    const struct kit_node node = {"n0", flat, 15, .gpus = 1};
    CHECK_INT(kit_verdict(&(struct kit){&node, 1, .goes_on = true}, RULE_NAME)->state, RULE_CLEAR);
}

/* ---- the job's own memory ---- */

#define GIB (1024.0f * 1024 * 1024)

/* The job leaks; somebody else frees as much. The driver tells of the job every ten sweeps. */
static void leak_behind_another(size_t i, struct moment *m)
{
    memory(m, 50);
    m->gpu[0][GPU_SIG_MEM_TOTAL] = 100 * GIB;
    if (i % 10 == 0)
        m->gpu[0][GPU_SIG_JOB_MEM] = (10 + (float)i / 25) * GIB;
}

TEST(a_leak_of_the_job_is_found_while_another_process_frees_memory)
{
    const struct kit_node node = {"n0", leak_behind_another, 1000, .gpus = 1};
    const struct verdict *v = judge_nodes(&node, 1);
    CHECK_INT(v->n_findings, 1);
    CHECK(strstr(v->findings[0].message, "the job's memory on gpu0 rose steadily, from 10"));
    kit_cuts_do_not_matter(&(struct kit){&node, 1}, RULE_NAME);
}

/* Somebody else takes memory, the job does not. */
static void another_grows(size_t i, struct moment *m)
{
    memory(m, i < 500 ? 30 : 80);
    m->gpu[0][GPU_SIG_MEM_TOTAL] = 100 * GIB;
    if (i % 10 == 0)
        m->gpu[0][GPU_SIG_JOB_MEM] = 20 * GIB;
}

TEST(memory_that_another_process_takes_is_no_growth_of_the_job)
{
    const struct kit_node node = {"n0", another_grows, 1000, .gpus = 1};
    CHECK_INT(judge_nodes(&node, 1)->state, RULE_CLEAR);
    kit_cuts_do_not_matter(&(struct kit){&node, 1}, RULE_NAME);
}

/* A step of the job's own, which is read too rarely to be seen step by step. */
static void job_steps_up(size_t i, struct moment *m)
{
    another_grows(i, m);
    if (i % 10 == 0)
        m->gpu[0][GPU_SIG_JOB_MEM] = (i < 500 ? 20 : 70) * GIB;
}

TEST(a_step_of_the_job_is_found_by_that_of_its_gpu)
{
    const struct kit_node node = {"n0", job_steps_up, 1000, .gpus = 1};
    const struct verdict *v = judge_nodes(&node, 1);
    CHECK_INT(v->n_findings, 1);
    CHECK(strstr(v->findings[0].message, "memory of gpu0 jumped from 30.0 % to 80.0 %"));
}

/* Where the driver sees no process of the job, it tells of none. */
static void job_not_seen(size_t i, struct moment *m)
{
    another_grows(i, m);
    if (i % 10 == 0)
        m->gpu[0][GPU_SIG_JOB_MEM] = 0;
}

TEST(a_job_that_the_driver_cannot_see_is_judged_by_the_device)
{
    const struct kit_node node = {"n0", job_not_seen, 1000, .gpus = 1};
    CHECK_INT(judge_nodes(&node, 1)->n_findings, 1);
}

static void activity_alone(size_t i, struct moment *m)
{
    m->gpu[0][GPU_SIG_UTIL] = 80;
    m->gpu[0][GPU_SIG_MEM_CTRL] = i < 500 ? 20 : 40;
}

TEST(without_occupancy_the_activity_of_the_controller_counts_and_is_said_to)
{
    const struct kit_node node = {"n0", activity_alone, 1000, .gpus = 1};
    const struct verdict *v = judge_nodes(&node, 1);
    CHECK_INT(v->n_findings, 1);
    CHECK(
        strstr(v->findings[0].message, "memory controller activity (memory use was not recorded)"));
}

TEST(the_node_whose_memory_grows_is_named)
{
    const struct kit_node nodes[] = {{"a", flat, 1000, .gpus = 1},
                                     {"b", steps_up, 1000, .gpus = 1}};
    const struct verdict *v = judge_nodes(nodes, 2);
    CHECK_INT(v->n_findings, 1);
    CHECK_STR(v->findings[0].node, "b");
}

TEST(a_window_given_as_a_duration_means_the_same_at_any_interval)
{
    const char *const set[] = {"GPUMemoryIncrease.window=5s", NULL};
    const struct kit_node slow = {"n0", steps_up, 1000, .gpus = 1};
    const struct kit_node fast = {"n0", steps_up, 1000, .gpus = 1, .period_ns = 100 * NS_PER_MS};
    CHECK(strstr(kit_verdict(&(struct kit){&slow, 1, set}, RULE_NAME)->findings[0].message,
                 "within 10.0 s"));
    CHECK(strstr(kit_verdict(&(struct kit){&fast, 1, set}, RULE_NAME)->findings[0].message,
                 "within 10.0 s"));
}

static void steps_twice(size_t i, struct moment *m)
{
    memory(m, i < 600 ? 40 : i < 610 ? 47 : 54);
}

TEST(rises_that_follow_each_other_are_one_from_the_first_to_the_last)
{
    const struct kit_node node = {"n0", steps_twice, 1000, .gpus = 1};
    const struct verdict *v = judge_nodes(&node, 1);
    CHECK_INT(v->n_findings, 1);
    NEAR(kit_number(&v->findings[0], "memory_before"), 40, 1e-9);
    NEAR(kit_number(&v->findings[0], "memory_after"), 54, 1e-9);
    CHECK_INT(v->triggered, 2);
}

static void steps_in_a_gap(size_t i, struct moment *m)
{
    steps_up(i, m);
    m->skip = i >= 595 && i < 625;
}

/* Three readings of a window of ten. */
static void spike_in_a_gap(size_t i, struct moment *m)
{
    memory(m, i >= 600 && i < 603 ? 90 : 40);
    if (i >= 603 && i < 610)
        m->gpu[0][GPU_SIG_MEM] = NAN;
}

TEST(windows_on_both_sides_of_a_gap_and_those_hardly_read_are_not_compared)
{
    const struct kit_node gap = {"n0", steps_in_a_gap, 1000, .gpus = 1};
    const struct kit_node spike = {"n0", spike_in_a_gap, 1000, .gpus = 1};
    CHECK_INT(judge_nodes(&gap, 1)->state, RULE_CLEAR);
    CHECK_INT(judge_nodes(&spike, 1)->state, RULE_CLEAR);
}

static void unused_steps_up(size_t i, struct moment *m)
{
    flat(i, m);
    m->gpu[1][GPU_SIG_UTIL] = 0;
    m->gpu[1][GPU_SIG_MEM] = i < 500 ? 1 : 80;
}

TEST(a_gpu_never_used_is_left_out)
{
    const struct kit_node node = {"n0", unused_steps_up, 1000, .gpus = 2};
    CHECK_INT(judge_nodes(&node, 1)->state, RULE_CLEAR);
}

static void lively(size_t i, struct moment *m)
{
    m->skip = kit_noise(i / 25 + 6, 12) == 0;
    memory(m, 20 + (float)(kit_noise(i / 37, 5) * 8) + (float)kit_noise(i, 20) / 10);
    m->gpu[1][GPU_SIG_UTIL] = i > 500 ? 20 : 0;
    m->gpu[1][GPU_SIG_MEM] = kit_noise(i / 5, 9) ? 10 + (float)i / 50 : NAN;
}

TEST(cuts_do_not_matter)
{
    const struct kit_node nodes[] = {{"a", lively, 1500, .gpus = 2}, {"b", leaks, 300, .gpus = 1}};
    const char *const set[] = {"GPUMemoryIncrease.window=50", NULL};
    kit_cuts_do_not_matter(&(struct kit){nodes, 2}, RULE_NAME);
    kit_cuts_do_not_matter(&(struct kit){nodes, 2, set}, RULE_NAME);
}
