/* SPDX-License-Identifier: Apache-2.0 */
#include "kit.h"
#include "rules/rule_internal.h"

#define RULE_NAME "CPUBottleneck"

static const struct verdict *judge_nodes(const struct kit_node *nodes, size_t n)
{
    return kit_verdict(&(struct kit){nodes, n}, RULE_NAME);
}

/* In so many of 100 sweeps a GPU waits for one hot core. */
static void waits(size_t i, struct moment *m, size_t of_100)
{
    const bool waits = i % 100 < of_100;
    m->v[SIG_CPU] = 24;
    m->v[SIG_CPU_PEAK] = waits ? 97 : 60;
    m->gpu[0][GPU_SIG_UTIL] = 80;
    m->gpu[1][GPU_SIG_UTIL] = waits ? 4 : 75;
}

static void waits_70(size_t i, struct moment *m)
{
    waits(i, m, 70);
}

static void waits_50(size_t i, struct moment *m)
{
    waits(i, m, 50);
}

static void waits_51(size_t i, struct moment *m)
{
    waits(i, m, 51);
}

static void never_waits(size_t i, struct moment *m)
{
    waits(i, m, 0);
}

TEST(a_gpu_that_waits_for_a_core_in_70_percent_of_the_snapshots_is_found)
{
    const struct kit_node node = {"n0", waits_70, 1000, .gpus = 2, .cores = 16};
    const struct verdict *v = judge_nodes(&node, 1);
    CHECK_INT(v->state, RULE_ISSUE);
    CHECK_INT(v->n_findings, 1);
    const struct finding *f = &v->findings[0];
    CHECK_STR(f->message, "in 70 % of 1000 readings (threshold 50 %), a GPU in use was below 10 % "
                          "while CPU utilization was above 90 % (one core: 70 %)");
    CHECK(strstr(f->advice, "more cores will not help"));
    CHECK(strstr(f->advice, "(this node has 16 cores)"));
    NEAR(kit_number(f, "bottleneck_pct"), 70, 0);
    NEAR(kit_number(f, "hot_core_pct"), 70, 0);
    NEAR(kit_number(f, "hot_node_pct"), 0, 0);
    CHECK_INT(v->violations, 700);
    CHECK_INT(v->datapoints, 1000);
    NEAR(f->lost_s, 350, 1e-9);     /* 700 sweeps of 500 ms */
    NEAR(f->lost_gpu_s, 350, 1e-9); /* of one of the two GPUs */
}

TEST(exactly_the_threshold_is_clear_and_says_how_close_it_was)
{
    const struct kit_node node = {"n0", waits_50, 1000, .gpus = 2};
    const struct verdict *v = judge_nodes(&node, 1);
    CHECK_INT(v->state, RULE_CLEAR);
    CHECK_STR(v->why, "at most 50 % of the readings of a node (n0; threshold 50 %)");
}

TEST(just_above_the_threshold_is_an_issue)
{
    const struct kit_node node = {"n0", waits_51, 1000, .gpus = 2};
    CHECK_INT(judge_nodes(&node, 1)->state, RULE_ISSUE);
}

static void node_is_hot(size_t i, struct moment *m)
{
    waits(i, m, 80);
    m->v[SIG_CPU] = i % 100 < 80 ? 96 : 30;
}

TEST(a_busy_node_is_told_from_a_busy_core)
{
    const struct kit_node node = {"n0", node_is_hot, 1000, .gpus = 2, .cores = 8};
    const struct verdict *v = judge_nodes(&node, 1);
    CHECK_INT(v->n_findings, 1);
    NEAR(kit_number(&v->findings[0], "hot_node_pct"), 80, 0);
    NEAR(kit_number(&v->findings[0], "hot_core_pct"), 0, 0);
    CHECK(strstr(v->findings[0].advice, "use more cores"));
}

static void limits_are_not_crossed(size_t i, struct moment *m)
{
    (void)i;
    m->v[SIG_CPU] = 90;
    m->v[SIG_CPU_PEAK] = 90;
    m->gpu[0][GPU_SIG_UTIL] = 5;
}

static void gpu_is_at_its_limit(size_t i, struct moment *m)
{
    (void)i;
    m->v[SIG_CPU] = 95;
    m->gpu[0][GPU_SIG_UTIL] = 10;
}

TEST(a_reading_at_its_threshold_is_neither_hot_nor_low)
{
    const struct kit_node cool = {"n0", limits_are_not_crossed, 500, .gpus = 1};
    const struct kit_node fine = {"n0", gpu_is_at_its_limit, 500, .gpus = 1};
    CHECK_INT(judge_nodes(&cool, 1)->violations, 0);
    CHECK_INT(judge_nodes(&fine, 1)->violations, 0);
    CHECK_INT(judge_nodes(&fine, 1)->datapoints, 500);
}

TEST(one_bad_node_of_two_is_not_hidden_by_the_good_one)
{
    const struct kit_node nodes[] = {{"a", never_waits, 1000, .gpus = 2},
                                     {"b", waits_70, 1000, .gpus = 2}};
    const struct verdict *v = judge_nodes(nodes, 2);
    CHECK_INT(v->n_findings, 1);
    CHECK_STR(v->findings[0].node, "b");
    CHECK_INT(v->datapoints, 2000);
}

TEST(a_run_shorter_than_its_patience_is_not_evaluated)
{
    const struct kit_node node = {"n0", waits_70, 312, .gpus = 2};
    const struct verdict *v = kit_verdict(&(struct kit){&node, 1, .no_steps = true}, RULE_NAME);
    CHECK_INT(v->state, RULE_NOT_EVALUATED);
    CHECK_STR(v->why, "needs 1000 readings (8 min 20 s), has 312");
}

static void no_cpu(size_t i, struct moment *m)
{
    (void)i;
    m->gpu[0][GPU_SIG_UTIL] = 5;
}

static void gpu_never_used(size_t i, struct moment *m)
{
    (void)i;
    m->v[SIG_CPU] = 99;
    m->gpu[0][GPU_SIG_UTIL] = 0;
    m->gpu[0][GPU_SIG_PROCESSES] = 0;
}

TEST(without_readings_it_says_what_is_missing)
{
    const struct kit_node silent = {"n0", no_cpu, 500, .gpus = 1};
    const struct kit_node unused = {"n0", gpu_never_used, 500, .gpus = 1};
    const struct kit_node none = {"n0", gpu_never_used, 500, .gpus = 0};
    CHECK_STR(judge_nodes(&silent, 1)->why,
              "needs 10 readings with a GPU in use and CPU utilization (5.0 s of training), has 0");
    CHECK_STR(judge_nodes(&unused, 1)->why, "the job did not use a GPU");
    CHECK_INT(judge_nodes(&none, 1)->state, RULE_NOT_EVALUATED);
}

static void unused_beside_busy(size_t i, struct moment *m)
{
    (void)i;
    m->v[SIG_CPU] = 99;
    m->gpu[0][GPU_SIG_UTIL] = 85;
    m->gpu[1][GPU_SIG_UTIL] = 0;
}

TEST(a_gpu_that_was_never_used_is_no_evidence)
{
    const struct kit_node node = {"n0", unused_beside_busy, 500, .gpus = 2};
    CHECK_INT(judge_nodes(&node, 1)->state, RULE_CLEAR);
}

static void used_late(size_t i, struct moment *m)
{
    m->v[SIG_CPU] = 99;
    m->gpu[0][GPU_SIG_UTIL] = 85;
    m->gpu[1][GPU_SIG_UTIL] = i < 700 ? 0 : 60;
}

TEST(a_gpu_that_is_used_late_counts_from_the_start)
{
    const struct kit_node node = {"n0", used_late, 1000, .gpus = 2};
    const struct verdict *v = judge_nodes(&node, 1);
    CHECK_INT(v->violations, 700);
    CHECK_INT(v->findings[0].n_ranges, 1);
    NEAR(v->findings[0].lost_s, 350, 1e-9);
}

static void waits_beside_unused(size_t i, struct moment *m)
{
    waits_70(i, m);
    m->gpu[2][GPU_SIG_UTIL] = 0;
}

TEST(gpu_time_lost_is_that_of_gpus_in_use)
{
    const struct kit_node node = {"n0", waits_beside_unused, 1000, .gpus = 3};
    NEAR(judge_nodes(&node, 1)->findings[0].lost_gpu_s, 350, 1e-9);
}

/* Three GPUs of which one is used late, one fails now and then; hot in ways that change. */
static void lively(size_t i, struct moment *m)
{
    m->v[SIG_CPU] = (float)(kit_noise(i / 40, 50) + 60);
    m->v[SIG_CPU_PEAK] = (float)(kit_noise(i / 3 + 7777, 30) + 80);
    m->gpu[0][GPU_SIG_UTIL] = (float)(kit_noise(i / 30 + 31, 3) ? 0 : 90);
    m->gpu[1][GPU_SIG_UTIL] = i < 900 ? 0 : (float)kit_noise(i, 100);
    m->gpu[2][GPU_SIG_UTIL] = kit_noise(i + 5, 4) ? (float)(kit_noise(i / 100, 2) * 50) : NAN;
    m->gpu[3][GPU_SIG_UTIL] = 0;
}

TEST(cuts_do_not_matter)
{
    const struct kit_node nodes[] = {{"a", lively, 1500, .gpus = 4, .cores = 4},
                                     {"b", waits_70, 900, .gpus = 2}};
    kit_cuts_do_not_matter(&(struct kit){nodes, 2}, RULE_NAME);
}

TEST(parameters_set_by_the_user_are_the_ones_that_count)
{
    const struct kit_node node = {"n0", waits_50, 1000, .gpus = 2};
    const char *const set[] = {"CPUBottleneck.threshold=40", NULL};
    const char *const hotter[] = {"CPUBottleneck.threshold=40", "CPUBottleneck.cpu_threshold=98",
                                  NULL};
    CHECK_INT(kit_verdict(&(struct kit){&node, 1, set}, RULE_NAME)->state, RULE_ISSUE);
    CHECK_INT(kit_verdict(&(struct kit){&node, 1, hotter}, RULE_NAME)->state, RULE_CLEAR);
}

enum { MANY_GPUS = RULE_GPUS_MOST, MANY_SWEEPS = 700 };

/* In sweep i the GPU with number i mod 64 is low, so each bit of a set is met. */
TEST(every_one_of_64_gpus_is_told_apart)
{
    static float util[MANY_GPUS][MANY_SWEEPS], cpu[MANY_SWEEPS];
    static wall_ns at[MANY_SWEEPS];
    static char names[MANY_GPUS][8];
    struct gpu_sweeps gpus[MANY_GPUS] = {0};
    struct param_value p[8];
    struct bottleneck b = {0};
    for (size_t i = 0; i < MANY_SWEEPS; i++) {
        at[i].ns = (int64_t)i * NS_PER_S;
        cpu[i] = i % 2 ? 99 : 10;
        for (size_t g = 0; g < MANY_GPUS; g++)
            util[g][i] = i % MANY_GPUS == g ? 5 : 80;
    }
    for (size_t g = 0; g < MANY_GPUS; g++) {
        snprintf(names[g], sizeof names[g], "gpu%zu", g);
        gpus[g] = (struct gpu_sweeps){.entity = names[g], .v = {[GPU_SIG_UTIL] = util[g]}};
    }
    for (size_t k = 0; rule_cpu_bottleneck.params[k].name; k++)
        p[k] = (struct param_value){.v = rule_cpu_bottleneck.params[k].otherwise};
    const struct rule_view c = {.p = p, .spec = rule_cpu_bottleneck.spec};
    const struct sweeps s = {.n = MANY_SWEEPS,
                             .at = at,
                             .period_ns = NS_PER_S,
                             .v = {[SIG_CPU] = cpu},
                             .gpus = gpus,
                             .n_gpus = MANY_GPUS};
    state_sweeps(&b, &c, &s);
    CHECK_INT(b.n_rows, 1);
    CHECK_INT(b.row[0].gpus, GPUS_LOW);
    CHECK_INT(b.row[0].hot[0], MANY_SWEEPS / 2);
    for (size_t g = 0; g < MANY_GPUS; g++)
        CHECK_INT(((const struct bottleneck_gpu *)state_gpu(&b, g))->waited_ns,
                  g % 2 ? (MANY_SWEEPS - g + MANY_GPUS - 1) / MANY_GPUS * NS_PER_S : 0);
    state_keep(&b, STATE_FREE);
}
