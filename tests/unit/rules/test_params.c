/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "rules/params.h"
#include "rules/rule.h"
#include "test.h"

static struct arena life;

static struct rule_params fresh(void)
{
    struct rule_params p;
    rule_params_init(&p, &life);
    return p;
}

static const struct param_value *value_of(const struct rule_params *p, enum rule_id rule,
                                          const char *name)
{
    for (size_t k = 0; rules[rule]->params[k].name; k++)
        if (strcmp(rules[rule]->params[k].name, name) == 0)
            return &p->v[rule][k];
    test_fail(__FILE__, __LINE__, "no parameter %s", name);
}

static const char *refused(const char *text)
{
    struct rule_params p = fresh(), before = fresh();
    struct err *e = arena_new(&life, struct err);
    CHECK_INT(rule_params_set(&p, text, e), ERR_USAGE);
    CHECK(memcmp(p.v, before.v, RULE_N * sizeof *p.v) == 0);
    return e->msg;
}

TEST(every_rule_has_few_parameters_with_defaults_within_their_bounds)
{
    for (size_t i = 0; i < RULE_N; i++) {
        size_t k = 0;
        for (; rules[i]->params && rules[i]->params[k].name; k++) {
            const struct param *p = &rules[i]->params[k];
            CHECK(p->unit == PARAM_WORD || (p->otherwise >= p->lo && p->otherwise <= p->hi));
            CHECK(p->help && *p->help);
            CHECK((p->unit == PARAM_WORD) == (p->words != NULL));
            CHECK(!strchr(p->name, '=') && !strchr(p->name, '.'));
            CHECK(strcmp(p->name, "patience") != 0 || p->unit == PARAM_POINTS);
        }
        CHECK(k <= RULE_PARAMS_MOST);
        CHECK(!strchr(rules[i]->name, '_') && !strchr(rules[i]->name, '.'));
        CHECK(rules[i]->judge);
    }
}

TEST(a_rule_about_the_whole_job_leaves_out_no_sweeps)
{
    const struct param_value v[RULE_PARAMS_MOST] = {{0}};
    CHECK(rule_patience(&rule_low_gpu_utilization, v) == &v[3]);
    CHECK(rule_patience(&rule_eval_heavy, v) == NULL);
    CHECK(rule_patience(&rule_unused_gpu, v) == NULL); /* whose parameter is for runs that go on */
}

TEST(no_two_rules_have_one_name)
{
    for (size_t i = 0; i < RULE_N; i++)
        CHECK(rule_find(rules[i]->name) == rules[i]);
}

TEST(a_parameter_is_set_by_either_way_of_writing_it)
{
    struct rule_params p = fresh();
    struct err e;
    OK(rule_params_set(&p, "LowGPUUtilization.threshold_p95=40", &e));
    OK(rule_params_set(&p, "ProfilerReport.LowGPUUtilization_threshold_p5=4.5%", &e));
    NEAR(value_of(&p, RULE_low_gpu_utilization, "threshold_p95")->v, 40, 0);
    NEAR(value_of(&p, RULE_low_gpu_utilization, "threshold_p5")->v, 4.5, 0);
    CHECK(value_of(&p, RULE_low_gpu_utilization, "threshold_p5")->set);
    CHECK(!value_of(&p, RULE_low_gpu_utilization, "window")->set);
}

TEST(points_may_be_a_time)
{
    struct rule_params p = fresh();
    struct err e;
    const struct param_value *v = value_of(&p, RULE_low_gpu_utilization, "window");
    CHECK_INT(param_points(v, 100 * NS_PER_MS), 500);
    CHECK_INT(param_ns(v, 100 * NS_PER_MS), 50 * NS_PER_S);
    OK(rule_params_set(&p, "LowGPUUtilization.window=60s", &e));
    CHECK_INT(param_points(v, 100 * NS_PER_MS), 600);
    CHECK_INT(param_points(v, 500 * NS_PER_MS), 120);
    CHECK_INT(param_ns(v, 500 * NS_PER_MS), 60 * NS_PER_S);
}

TEST(what_does_not_exist_is_named_with_what_does)
{
    CHECK(strstr(
        refused("LowGPUUtilisation.window=5"),
        "unknown rule 'LowGPUUtilisation'; did you mean LowGPUUtilization? All rules: BatchSize"));
    CHECK_STR(refused("LowGPUUtilization.threshold=5"),
              "LowGPUUtilization has no parameter 'threshold'; its parameters: threshold_p95, "
              "threshold_p5, window, patience");
    CHECK_STR(refused("OverallSystemUsage.x=5"), "OverallSystemUsage has no parameters");
    CHECK(strstr(refused("nonsense"), "is not of the form Rule.parameter=value"));
    CHECK(strstr(refused("ProfilerReport.nonsense=1"), "ProfilerReport.Rule_parameter=value"));
}

TEST(values_out_of_bounds_or_in_another_unit_are_refused)
{
    CHECK_STR(refused("LowGPUUtilization.threshold_p95=101"),
              "LowGPUUtilization.threshold_p95: 101 is out of range (0 to 100 %)");
    CHECK_STR(refused("LowGPUUtilization.threshold_p95=-1"),
              "LowGPUUtilization.threshold_p95: -1 is out of range (0 to 100 %)");
    CHECK_STR(refused("LowGPUUtilization.threshold_p95=60s"),
              "LowGPUUtilization.threshold_p95: '60s' is not a number in %");
    CHECK_STR(refused("LowGPUUtilization.threshold_p95=nan"),
              "LowGPUUtilization.threshold_p95: 'nan' is not a number in %");
    CHECK_STR(refused("LowGPUUtilization.window=5%"),
              "LowGPUUtilization.window: '5%' is not a number of readings or a time such as 60s");
    CHECK_STR(refused("LowGPUUtilization.window=0s"),
              "LowGPUUtilization.window: a time must be between 0.01 s and 30 days");
    CHECK_STR(refused("LowGPUUtilization.window=2.5"),
              "LowGPUUtilization.window: 2.5 is not a whole number");
    CHECK_STR(refused("LowGPUUtilization.window="),
              "LowGPUUtilization.window: '' is not a number of readings or a time such as 60s");
}

TEST(words_are_refused_with_those_that_there_are)
{
    for (size_t i = 0; i < RULE_N; i++)
        for (size_t k = 0; rules[i]->params && rules[i]->params[k].name; k++) {
            char text[128];
            if (rules[i]->params[k].unit != PARAM_WORD)
                continue;
            snprintf(text, sizeof text, "%s.%s=nonsense", rules[i]->name, rules[i]->params[k].name);
            CHECK(strstr(refused(text), "'nonsense' is not one of "));
            CHECK(strstr(refused(text), rules[i]->params[k].words[0]));
        }
}

static const char *text_of(enum rule_id rule, const char *name, const char *set)
{
    static char text[PARAM_TEXT_LEN];
    struct arena a = {0};
    struct rule_params p;
    struct err e;
    size_t k = 0;
    rule_params_init(&p, &a);
    if (set)
        OK(rule_params_set_one(&p, rules[rule]->name, name, set, &e));
    while (strcmp(rules[rule]->params[k].name, name) != 0)
        k++;
    param_text(&rules[rule]->params[k], &p.v[rule][k], text, sizeof text);
    arena_free(&a);
    return text;
}

TEST(values_are_shown_with_their_unit_and_times_in_the_largest_that_fits)
{
    CHECK_STR(text_of(RULE_low_gpu_utilization, "threshold_p95", NULL), "70 %");
    CHECK_STR(text_of(RULE_low_gpu_utilization, "window", NULL), "500 readings");
    CHECK_STR(text_of(RULE_low_gpu_utilization, "window", "90s"), "90 s");
    CHECK_STR(text_of(RULE_low_gpu_utilization, "window", "500ms"), "500 ms");
    CHECK_STR(text_of(RULE_host_memory_increase, "horizon", NULL), "24 h");
    CHECK_STR(text_of(RULE_host_memory_increase, "horizon", "0"), "0 s");
    CHECK_STR(text_of(RULE_stalled_training, "threshold", NULL), "30 min");
    CHECK_STR(text_of(RULE_max_initialization_time, "threshold", NULL), "20 min");
    CHECK_STR(text_of(RULE_step_outlier, "mode", NULL), "none");
    CHECK_STR(text_of(RULE_load_balancing, "threshold", NULL), "0.2");
}

TEST(no_number_is_named_twice_in_a_rules_table_of_labels)
{
    for (size_t i = 0; i < RULE_N; i++)
        for (const struct number_label *l = rules[i]->labels; l->name; l++) {
            CHECK(l->label != NULL);
            for (const struct number_label *m = rules[i]->labels; m < l; m++)
                CHECK(strcmp(m->name, l->name) != 0);
        }
}
