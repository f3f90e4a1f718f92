/* SPDX-License-Identifier: Apache-2.0 */
#include "kit.h"

#define RULE_NAME "GPUThrottling"

static const struct verdict *judge_nodes(const struct kit_node *nodes, size_t n)
{
    return kit_verdict(&(struct kit){nodes, n}, RULE_NAME);
}

static void held(size_t i, struct moment *m, size_t of_100, float bits)
{
    const bool now = i % 100 < of_100;
    m->gpu[0][GPU_SIG_UTIL] = 95;
    m->gpu[0][GPU_SIG_THROTTLE] = now ? bits : 1; /* else: idle, which is no throttling */
    m->gpu[0][GPU_SIG_CLOCK] = now ? 1200 : 1600;
}

static void hot(size_t i, struct moment *m)
{
    held(i, m, 20, 0x20);
}

static void capped(size_t i, struct moment *m)
{
    held(i, m, 30, 0x04);
}

static void hot_5(size_t i, struct moment *m)
{
    held(i, m, 5, 0x40);
}

static void hot_6(size_t i, struct moment *m)
{
    held(i, m, 6, 0x40);
}

/* Idle, set clocks, sync boost, display: not throttling. */
static void harmless(size_t i, struct moment *m)
{
    held(i, m, 100, 0x01 + 0x02 + 0x10 + 0x100);
}

TEST(heat_is_found_with_the_clock_that_it_cost)
{
    const struct kit_node node = {"n0", hot, 1000, .gpus = 1};
    const struct verdict *v = judge_nodes(&node, 1);
    CHECK_INT(v->n_findings, 1);
    CHECK_STR(v->findings[0].message,
              "the clock of gpu0 was reduced for 20 % of the time (threshold 5 %): temperature "
              "(driver) 20 %; average clock 1200 MHz, 25 % below the usual 1600 MHz");
    NEAR(kit_number(&v->findings[0], "clock_lost_pct"), 25, 1e-9);
    NEAR(v->findings[0].lost_s, 100 * 0.25, 1e-9); /* 200 sweeps of 500 ms */
    CHECK(strstr(v->findings[0].advice, "cooling"));
    CHECK_INT(v->findings[0].n_ranges, 10);
    CHECK_INT(v->violations, 200);
}

TEST(a_power_limit_whose_default_is_not_known_is_information)
{
    const struct kit_node node = {"n0", capped, 1000, .gpus = 1};
    const struct verdict *v = judge_nodes(&node, 1);
    CHECK_INT(v->state, RULE_CLEAR);
    CHECK_STR(v->why, "gpu0 ran at its power limit for 30 % of the time; nothing else reduced a "
                      "clock for more than 5 %");
}

static void capped_at_default(size_t i, struct moment *m)
{
    capped(i, m);
    m->gpu[0][GPU_SIG_POWER_LIMIT] = 700;
    m->gpu[0][GPU_SIG_POWER_DEFAULT] = 700;
}

TEST(the_default_power_limit_is_information_and_no_issue)
{
    const struct kit_node node = {"n0", capped_at_default, 1000, .gpus = 1};
    const struct verdict *v = judge_nodes(&node, 1);
    CHECK_INT(v->state, RULE_CLEAR);
    CHECK_INT(v->severity, SEVERITY_INFO);
    CHECK(strstr(v->why, "gpu0 ran at its power limit of 700 W (the default) for 30 %"));
    CHECK_INT(v->n_findings, 0);
}

/* The limits are read now and then. */
static void capped_below(size_t i, struct moment *m)
{
    capped(i, m);
    if (i % 60 == 7) {
        m->gpu[0][GPU_SIG_POWER_LIMIT] = 400;
        m->gpu[0][GPU_SIG_POWER_DEFAULT] = 700;
    }
}

TEST(a_power_limit_below_the_default_is_a_warning_that_names_both)
{
    const struct kit_node node = {"n0", capped_below, 1000, .gpus = 1};
    const struct verdict *v = judge_nodes(&node, 1);
    CHECK(v->severity > SEVERITY_INFO);
    CHECK(strstr(v->findings[0].message, "power limit 400 W, below the default of 700"));
    CHECK(strstr(v->findings[0].advice, "Raise the power limit to the default"));
    kit_cuts_do_not_matter(&(struct kit){&node, 1}, RULE_NAME);
}

/* At the default limit nearly always, at 1500 MHz; a tenth of the time it is heat, at 1200. */
static void hot_at_the_limit(size_t i, struct moment *m)
{
    const bool hot_now = i % 100 < 10;
    held(i, m, 100, hot_now ? 0x20 + 0x04 : 0x04);
    m->gpu[0][GPU_SIG_CLOCK] = i == 0 ? 1980 : hot_now ? 1200 : 1500;
    m->gpu[0][GPU_SIG_POWER_LIMIT] = 700;
    m->gpu[0][GPU_SIG_POWER_DEFAULT] = 700;
}

TEST(heat_counts_alone_and_its_clock_is_that_of_the_same_limit)
{
    const struct kit_node node = {"n0", hot_at_the_limit, 1000, .gpus = 1};
    const struct verdict *v = judge_nodes(&node, 1);
    CHECK_INT(v->n_findings, 1);
    CHECK_INT(v->violations, 100);
    NEAR(kit_number(&v->findings[0], "held_pct"), 10, 1e-9);
    NEAR(kit_number(&v->findings[0], "clock_usual"), 1500, 1e-9);
    CHECK(kit_number(&v->findings[0], "clock_lost_pct") < 20.1);
    CHECK(strstr(v->findings[0].advice, "cooling"));
}

TEST(five_percent_is_clear_and_six_is_not)
{
    const struct kit_node below = {"n0", hot_5, 1000, .gpus = 1};
    const struct kit_node above = {"n0", hot_6, 1000, .gpus = 1};
    CHECK_INT(judge_nodes(&below, 1)->state, RULE_CLEAR);
    CHECK_STR(judge_nodes(&below, 1)->why,
              "clock reduced for at most 5.0 % of the time (threshold 5 %)");
    CHECK_INT(judge_nodes(&above, 1)->state, RULE_ISSUE);
}

TEST(harmless_reasons_do_not_count)
{
    const struct kit_node node = {"n0", harmless, 1000, .gpus = 1};
    CHECK_INT(judge_nodes(&node, 1)->state, RULE_CLEAR);
}

static void no_clock(size_t i, struct moment *m)
{
    hot(i, m);
    m->gpu[0][GPU_SIG_CLOCK] = NAN;
}

static void silent(size_t i, struct moment *m)
{
    (void)i;
    m->gpu[0][GPU_SIG_UTIL] = 95;
}

TEST(what_was_not_recorded_is_said_and_not_zero)
{
    const struct kit_node blind = {"n0", no_clock, 1000, .gpus = 1};
    const struct kit_node mute = {"n0", silent, 1000, .gpus = 1};
    const struct kit_node brief = {"n0", hot, 10, .gpus = 1};
    CHECK(strstr(judge_nodes(&blind, 1)->findings[0].message, "clock not recorded"));
    CHECK(isnan(judge_nodes(&blind, 1)->findings[0].lost_s));
    CHECK_STR(judge_nodes(&mute, 1)->why, "clock throttle reasons were not reported");
    CHECK_STR(judge_nodes(&brief, 1)->why, "needs 20 readings (10.0 s of training), has 10");
}

TEST(the_hot_node_is_named)
{
    const struct kit_node nodes[] = {{"a", hot_5, 1000, .gpus = 1}, {"b", hot, 1000, .gpus = 1}};
    const struct verdict *v = judge_nodes(nodes, 2);
    CHECK_INT(v->n_findings, 1);
    CHECK_STR(v->findings[0].node, "b");
}

static void lively(size_t i, struct moment *m)
{
    held(i, m, 0, 0);
    m->gpu[0][GPU_SIG_THROTTLE] =
        kit_noise(i, 9) ? (float)(kit_noise(i / 60, 2) * kit_noise(i / 4, 512)) : NAN;
    m->gpu[0][GPU_SIG_CLOCK] = (float)(1000 + kit_noise(i + 1, 700));
}

TEST(cuts_do_not_matter)
{
    const struct kit_node nodes[] = {{"a", lively, 1500, .gpus = 1}, {"b", hot_6, 600, .gpus = 1}};
    kit_cuts_do_not_matter(&(struct kit){nodes, 2}, RULE_NAME);
}
