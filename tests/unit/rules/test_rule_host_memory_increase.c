/* SPDX-License-Identifier: Apache-2.0 */
#include "kit.h"

#define RULE_NAME "HostMemoryIncrease"
#define GIB       (INT64_C(1) << 30)

static const float MIB = 1 << 20;

static const struct verdict *judge_nodes(const struct kit_node *nodes, size_t n)
{
    return kit_verdict(&(struct kit){nodes, n}, RULE_NAME);
}

static void leaks_by(size_t i, struct moment *m, float mib_per_s)
{
    const float noise = (float)kit_noise(i, 20);
    m->v[SIG_JOB_RSS] = (2000 + (float)i / 2 * mib_per_s + noise) * MIB;
    m->v[SIG_MEM] = m->v[SIG_JOB_RSS] / (float)(64 * GIB) * 100 + 10;
}

static void leaks(size_t i, struct moment *m)
{
    leaks_by(i, m, 10);
}

/* 64 GiB are 51 h away, and 500 s bring 8 %. */
static void leaks_slowly(size_t i, struct moment *m)
{
    leaks_by(i, m, 0.3f);
}

static void steady(size_t i, struct moment *m)
{
    leaks_by(i, m, 0);
}

static void limited(size_t i, struct moment *m)
{
    leaks_slowly(i, m);
    m->v[SIG_CGROUP_MEM_LIMIT] = (float)(4 * GIB);
}

static void steps_up(size_t i, struct moment *m)
{
    leaks_by(i, m, 0);
    m->v[SIG_JOB_RSS] += i < 500 ? 0 : 2000 * MIB;
}

static void fills_up(size_t i, struct moment *m)
{
    leaks_by(i, m, 0);
    m->v[SIG_JOB_RSS] += 2000 * MIB * (1 - expf(-(float)i / 150));
}

TEST(a_leak_is_found_and_says_when_the_node_is_full)
{
    const struct kit_node node = {"n0", leaks, 1000, .memory_bytes = 64 * GIB};
    const struct verdict *v = kit_verdict(&(struct kit){&node, 1, .goes_on = true}, RULE_NAME);
    CHECK_INT(v->n_findings, 1);
    const struct finding *f = &v->findings[0];
    CHECK(strstr(f->message, "resident memory of the job rose steadily, from "));
    CHECK(strstr(f->message, "it reaches the node's memory of 64.0 GiB in 1 h") ||
          strstr(f->message, "it reaches the node's memory of 64.0 GiB in 8"));
    CHECK(strstr(f->advice, "save a checkpoint within "));
    NEAR(kit_number(f, "climb_per_hour") / (double)MIB, 36000, 200);
    /* 90 % of 64 GiB less the 7 GiB in use, at 10 MiB/s */
    NEAR(kit_number(f, "limit_in"), (64 * 1024 * 0.9 - 7010) / 10, 60);
}

TEST(after_the_end_a_leak_has_a_limit_and_no_deadline)
{
    const struct kit_node node = {"n0", leaks, 1000, .memory_bytes = 64 * GIB};
    const struct finding *f = &judge_nodes(&node, 1)->findings[0];
    CHECK(strstr(f->message, "; the node's memory is 64.0 GiB"));
    CHECK(!strstr(f->message, "at this rate"));
    CHECK(!strstr(f->advice, "within"));
}

TEST(a_climb_that_is_days_from_the_limit_is_left_alone)
{
    const struct kit_node node = {"n0", leaks_slowly, 1000, .memory_bytes = 64 * GIB};
    const char *const set[] = {"HostMemoryIncrease.horizon=60h", NULL};
    CHECK_INT(judge_nodes(&node, 1)->state, RULE_CLEAR);
    CHECK_INT(kit_verdict(&(struct kit){&node, 1, set}, RULE_NAME)->state, RULE_ISSUE);
}

TEST(the_limit_of_the_control_group_is_nearer_than_that_of_the_node)
{
    const struct kit_node node = {"n0", limited, 1000, .memory_bytes = 64 * GIB};
    const struct verdict *v = judge_nodes(&node, 1);
    CHECK_INT(v->n_findings, 1);
    CHECK(strstr(v->findings[0].message, "the cgroup limit is 4.00 GiB"));
}

TEST(a_step_and_a_cache_that_fills_up_are_no_leaks)
{
    const struct kit_node step = {"n0", steps_up, 1000, .memory_bytes = 64 * GIB};
    const struct kit_node cache = {"n0", fills_up, 1000, .memory_bytes = 64 * GIB};
    const struct kit_node flat = {"n0", steady, 1000, .memory_bytes = 64 * GIB};
    CHECK_INT(judge_nodes(&step, 1)->state, RULE_CLEAR);
    CHECK_INT(judge_nodes(&cache, 1)->state, RULE_CLEAR);
    CHECK_INT(judge_nodes(&flat, 1)->state, RULE_CLEAR);
}

static void silent(size_t i, struct moment *m)
{
    (void)i;
    m->v[SIG_CPU] = 1;
}

TEST(too_short_without_memory_or_without_a_limit_is_not_evaluated)
{
    const struct kit_node brief = {"n0", leaks, 30, .memory_bytes = 64 * GIB};
    const struct kit_node mute = {"n0", silent, 1000, .memory_bytes = 64 * GIB};
    const struct kit_node unlimited = {"n0", leaks, 1000};
    const struct kit_node patient = {"n0", leaks, 100, .memory_bytes = 64 * GIB};
    CHECK_STR(judge_nodes(&brief, 1)->why, "needs 50 readings (25.0 s of training), has 30");
    CHECK_STR(judge_nodes(&mute, 1)->why, "the job's memory was not recorded");
    CHECK_STR(judge_nodes(&unlimited, 1)->why,
              "neither a memory limit nor the node's memory size is known");
    CHECK_STR(kit_verdict(&(struct kit){&patient, 1, .no_steps = true}, RULE_NAME)->why,
              "needs 120 readings (60.0 s), has 100");
}

TEST(the_leaking_node_is_named)
{
    const struct kit_node nodes[] = {{"a", steady, 1000, .memory_bytes = 64 * GIB},
                                     {"b", leaks, 1000, .memory_bytes = 64 * GIB}};
    const struct verdict *v = judge_nodes(nodes, 2);
    CHECK_INT(v->n_findings, 1);
    CHECK_STR(v->findings[0].node, "b");
}

/* 50 MiB of 2000 in 500 s, and 150 more to the limit. */
static void creeps(size_t i, struct moment *m)
{
    leaks_by(i, m, 0.1f);
    m->v[SIG_CGROUP_MEM_LIMIT] = 2200 * MIB;
}

TEST(a_climb_by_less_than_the_increase_is_left_alone)
{
    const struct kit_node node = {"n0", creeps, 1000, .memory_bytes = 64 * GIB};
    const char *const set[] = {"HostMemoryIncrease.increase=2", NULL};
    CHECK_INT(judge_nodes(&node, 1)->state, RULE_CLEAR);
    CHECK_INT(kit_verdict(&(struct kit){&node, 1, set}, RULE_NAME)->state, RULE_ISSUE);
}

static void lively(size_t i, struct moment *m)
{
    leaks(i, m);
    if (kit_noise(i + 4, 3) == 0)
        m->v[SIG_JOB_RSS] = NAN;
    if (kit_noise(i / 10, 3) == 0)
        m->v[SIG_CGROUP_MEM_LIMIT] = (float)(8 * GIB);
}

TEST(cuts_do_not_matter)
{
    const struct kit_node nodes[] = {{"a", lively, 1500, .memory_bytes = 64 * GIB},
                                     {"b", leaks, 70, .memory_bytes = 64 * GIB}};
    kit_cuts_do_not_matter(&(struct kit){nodes, 2}, RULE_NAME);
}
