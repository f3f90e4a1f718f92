/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about training health, over books made by hand. Real programs with each of the problems are
 * in tests/py. */
#include <math.h>

#include "base/mem.h"
#include "query/health_book.h"
#include "rules/engine.h"
#include "test.h"

struct trial {
    struct health_book *book;
    int64_t rank;
    bool runs; /* it has not ended */
    struct arena arena;
    struct verdicts v;
};

/* They live as long as the test. */
static struct trial trials[2];
static size_t n_trials;

static struct trial *trial_open(void)
{
    struct trial *t = &trials[n_trials++];
    t->book = health_book_open();
    return t;
}

static void put(struct trial *t, uint64_t track, const char *name, int64_t step, double v)
{
    const struct book_value x = {.track = track,
                                 .pid = (uint32_t)(100 + t->rank),
                                 .rank = t->rank,
                                 .step = step,
                                 .at = {1000000000 + step * 1000000},
                                 .name = name,
                                 .v = v,
                                 .count = isfinite(v) ? (int64_t)v : 0};
    health_book_add(t->book, &x);
}

static void put_loss(struct trial *t, int64_t step, double v)
{
    put(t, HEALTH_SCALAR, "loss", step, v);
}

static void put_eval(struct trial *t, int64_t step, double v)
{
    const struct book_value x = {.track = HEALTH_SCALAR,
                                 .pid = (uint32_t)(100 + t->rank),
                                 .rank = t->rank,
                                 .mode = MODE_EVAL,
                                 .step = step,
                                 .at = {1000000000 + step * 1000000},
                                 .name = "loss",
                                 .v = v};
    health_book_add(t->book, &x);
}

static const struct verdict *verdict_of(struct trial *t, const char *rule)
{
    if (t->book) {
        struct engine *g = engine_open(NULL);
        const struct run_facts run = {.ended = !t->runs,
                                      .has_steps = true,
                                      .job_start = {1},
                                      .job_end = {600000000000},
                                      .loop_start = {2},
                                      .loop_end = {500000000000},
                                      .steady_start = {3}};
        const size_t node = engine_node(g, &(struct node_facts){.id = "a", .period_ns = 1});
        engine_health(g, node, t->book);
        t->book = NULL;
        engine_judge(g, &run, &t->arena, &t->v);
        engine_close(g);
    }
    for (size_t k = 0; k < RULE_N; k++)
        if (strcmp(rules[k]->name, rule) == 0)
            return &t->v.v[k];
    test_fail(__FILE__, __LINE__, "no rule %s", rule);
}

static const struct finding *finding_of(struct trial *t, const char *rule)
{
    const struct verdict *v = verdict_of(t, rule);
    if (v->state != RULE_ISSUE)
        test_fail(__FILE__, __LINE__, "%s is %s: %s", rule, rule_state_names[v->state], v->why);
    CHECK(v->n_findings == 1);
    return &v->findings[0];
}

static void check_says(const char *text, const char *part)
{
    if (!strstr(text, part))
        test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", text, part);
}

static double jitter(int64_t i)
{
    uint64_t x = ((uint64_t)i + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    return (double)((x ^ (x >> 27)) >> 11) / (double)(UINT64_C(1) << 52) - 1;
}

/* A model that learns, with two matrices and a ReLU, sampled every 10 steps. */
static void healthy(struct trial *t, int64_t steps)
{
    put(t, HEALTH_PARAMETER_DIMS, "0.weight", 0, 2);
    put(t, HEALTH_PARAMETER_DIMS, "2.weight", 0, 2);
    put(t, HEALTH_PARAMETER_DIMS, "0.bias", 0, 1);
    for (int64_t i = 0; i < steps; i++) {
        put_loss(t, i, 2.3 * exp(-(double)i / 100) + 0.1 + 0.02 * jitter(i));
        put(t, HEALTH_SCALAR, "grad.norm", i, 1 + 0.2 * jitter(i));
        put(t, HEALTH_SCALAR, "lr", i, 0.01);
        put(t, HEALTH_SCALAR, "batch.hash", i, (double)(i * 7919));
        if (i % 10 || i < 0)
            continue;
        const char *const names[] = {"0.weight", "2.weight", "0.bias"};
        for (int k = 0; k < 3; k++) {
            put(t, HEALTH_GRADIENT_L2, names[k], i, 0.1 * (k + 1));
            put(t, HEALTH_WEIGHT_L2, names[k], i, 5);
            put(t, HEALTH_GRADIENT_ZEROS, names[k], i, 0.1);
            put(t, HEALTH_UPDATE_RATIO, names[k], i, 1e-3);
            put(t, HEALTH_WEIGHT_SUM, names[k], i, (double)(1000 * i + k));
        }
        put(t, HEALTH_OUTPUT_DEAD, "1", i, 0.1);
        put(t, HEALTH_INPUT_STD, "1", i, 0.9);
        put(t, HEALTH_INPUT_STD, "3", i, 0.3);
    }
}

static const char *const health_rules[] = {
    "NonFinite",
    "NoGradient",
    "RankDivergence",
    "LossNotDecreasing",
    "LossSpike",
    "GradientSpike",
    "Overfit",
    "LossScale",
    "DuplicatedData",
    "PoorWeightInitialization",
    "VanishingGradient",
    "ZeroGradient",
    "DeadRelu",
    "SaturatedActivation",
    "UpdateTooLarge",
    "UpdateTooSmall",
    "LowPrecisionUpdate",
};

TEST(a_run_without_health_data_is_not_evaluated_by_any_health_rule)
{
    struct trial *t = trial_open();
    for (size_t i = 0; i < COUNT_OF(health_rules); i++) {
        const struct verdict *v = verdict_of(t, health_rules[i]);
        CHECK(v->rule->health);
        CHECK_STR(rule_state_names[v->state], "not_evaluated");
        CHECK(*v->why);
    }
}

TEST(a_healthy_run_has_no_finding)
{
    struct trial *t = trial_open();
    healthy(t, 500);
    for (size_t i = 0; i < COUNT_OF(health_rules); i++)
        if (verdict_of(t, health_rules[i])->state == RULE_ISSUE)
            test_fail(__FILE__, __LINE__, "%s: %s", health_rules[i],
                      verdict_of(t, health_rules[i])->findings[0].message);
    CHECK(verdict_of(t, "NonFinite")->state == RULE_CLEAR);
    CHECK(verdict_of(t, "VanishingGradient")->state == RULE_CLEAR);
    CHECK(verdict_of(t, "Overfit")->state == RULE_NOT_EVALUATED);
}

TEST(a_loss_that_is_not_finite_names_the_step_and_the_module_of_its_origin)
{
    struct trial *t = trial_open();
    healthy(t, 150);
    put_loss(t, 150, NAN);
    put(t, HEALTH_SCALAR, "nonfinite.origin/forward/2", 150, 1);
    put(t, HEALTH_GRADIENT_NONFINITE, "0.weight", 150, 64);
    const struct finding *f = finding_of(t, "NonFinite");
    CHECK_INT(f->step, 150);
    CHECK_STR(f->module, "2");
    check_says(f->message,
               "the loss was not finite at step 150; it began in the output of module 2");
    CHECK(verdict_of(t, "NonFinite")->severity == SEVERITY_CRITICAL);
}

TEST(a_gradient_that_is_not_finite_is_found_before_the_loss)
{
    struct trial *t = trial_open();
    healthy(t, 150);
    put(t, HEALTH_SCALAR, "nonfinite.origin/backward/0..3", 150, 1);
    put(t, HEALTH_GRADIENT_NONFINITE, "0.weight", 150, 64);
    put_loss(t, 150, 0.3);
    put_loss(t, 151, NAN);
    const struct finding *f = finding_of(t, "NonFinite");
    CHECK_INT(f->step, 150);
    CHECK_STR(f->module, "0..3");
    check_says(f->message,
               "the gradient of 0.weight had 64 values that are not finite at step 150");
    check_says(f->message, "it began in the backward pass between 0 and 3");
}

TEST(a_loss_that_follows_gradients_which_are_not_finite_names_their_step_too)
{
    struct trial *t = trial_open();
    healthy(t, 150);
    put(t, HEALTH_SCALAR, "nonfinite.origin/backward/..3", 150, 1);
    put_loss(t, 150, 0.3);
    put_loss(t, 151, NAN);
    const struct finding *f = finding_of(t, "NonFinite");
    CHECK_INT(f->step, 150);
    check_says(f->message, "at step 151; it began at step 150 in the backward pass before 3");
}

TEST(an_origin_that_was_found_after_the_weights_were_lost_is_not_named)
{
    struct trial *t = trial_open();
    healthy(t, 150);
    put_loss(t, 150, NAN);
    put(t, HEALTH_SCALAR, "nonfinite.origin/forward/0", 152, 1);
    const struct finding *f = finding_of(t, "NonFinite");
    CHECK_INT(f->step, 150);
    CHECK(!f->module);
    check_says(f->message, "its origin is not known");
}

TEST(a_step_that_loss_scaling_skipped_is_not_a_finding)
{
    struct trial *t = trial_open();
    healthy(t, 100);
    put(t, HEALTH_SCALAR, "amp.scale", 50, 65536);
    put(t, HEALTH_GRADIENT_NONFINITE, "0.weight", 51, 3);
    put(t, HEALTH_SCALAR, "amp.scale", 51, 32768);
    CHECK(verdict_of(t, "NonFinite")->state == RULE_CLEAR);
    CHECK(verdict_of(t, "LossScale")->state == RULE_CLEAR);
}

TEST(values_that_are_not_finite_are_found_after_skipped_steps_of_many_parameters)
{
    struct trial *t = trial_open();
    char name[16];
    put(t, HEALTH_SCALAR, "amp.scale", 50, 65536);
    for (int64_t step = 51; step < 90; step++) {
        for (int k = 0; k < 64; k++) {
            snprintf(name, sizeof name, "%d.weight", k);
            put(t, HEALTH_GRADIENT_NONFINITE, name, step, 3);
        }
        put(t, HEALTH_SCALAR, "amp.scale", step, 65536 * pow(0.5, (double)step - 50));
    }
    put(t, HEALTH_GRADIENT_NONFINITE, "2.weight", 95, 4);
    put(t, HEALTH_GRADIENT_NONFINITE, "0.weight", 95, 4);
    const struct finding *f = finding_of(t, "NonFinite");
    CHECK_INT(f->step, 95);
    check_says(f->message, "the gradient of 2.weight had 4 values that are not finite at step 95");
}

TEST(a_first_step_that_loss_scaling_skipped_is_not_a_finding)
{
    struct trial *t = trial_open();
    put(t, HEALTH_GRADIENT_NONFINITE, "0.weight", 0, 3);
    put(t, HEALTH_SCALAR, "step.skipped", 0, 1);
    put(t, HEALTH_SCALAR, "amp.scale", 0, 32768);
    CHECK(verdict_of(t, "NonFinite")->state == RULE_CLEAR);
    check_says(verdict_of(t, "NonFinite")->why, "only in steps that loss scaling skipped");
}

TEST(a_scale_that_collapses_is_found)
{
    struct trial *t = trial_open();
    for (int64_t i = 0; i < 200; i++)
        put(t, HEALTH_SCALAR, "amp.scale", i, i < 100 ? 131072 : 131072 * pow(0.5, (double)i - 99));
    const struct finding *f = finding_of(t, "LossScale");
    CHECK_INT(f->step, 100);
    check_says(f->message, "skipped 100 of 200 steps");
}

TEST(a_loss_that_does_not_fall_is_found_at_the_end_and_not_early_while_it_runs)
{
    struct trial *t = trial_open(), *early = trial_open();
    for (int64_t i = 0; i < 300; i++) {
        put_loss(t, i, 2.3 + 0.05 * jitter(i));
        put_loss(early, i, 2.3 + 0.05 * jitter(i));
    }
    early->runs = true;
    check_says(finding_of(t, "LossNotDecreasing")->message, "did not decrease in 300 steps");
    CHECK(verdict_of(early, "LossNotDecreasing")->state == RULE_NOT_EVALUATED);
}

/* Adversaries: the loss of the one rises and has a spike when the other one wins. */
TEST(losses_of_adversaries_need_not_fall)
{
    struct trial *turns = trial_open(), *one = trial_open();
    for (int64_t i = 0; i < 500; i++) {
        const double loss = 0.5 + 0.001 * (double)i + 0.05 * jitter(i) + (i == 300 ? 20 : 0);
        put_loss(turns, i, loss);
        put(turns, HEALTH_SCALAR, "loss.1", i, 2 - loss);
        put_loss(one, i, loss);
    }
    CHECK(verdict_of(one, "LossNotDecreasing")->state == RULE_ISSUE);
    CHECK(verdict_of(one, "LossSpike")->state == RULE_ISSUE);
    CHECK(verdict_of(turns, "LossNotDecreasing")->state == RULE_NOT_EVALUATED);
    CHECK(verdict_of(turns, "LossSpike")->state == RULE_NOT_EVALUATED);
    check_says(verdict_of(turns, "LossSpike")->why, "several losses are trained in turn");
}

TEST(a_loss_below_zero_need_not_fall_but_may)
{
    struct trial *policy = trial_open(), *density = trial_open();
    for (int64_t i = 0; i < 500; i++) {
        put_loss(policy, i, 0.02 + jitter(i) + (i == 300 ? 20 : 0));
        put_loss(density, i, 5 - 0.02 * (double)i + jitter(i));
    }
    CHECK(verdict_of(policy, "LossNotDecreasing")->state == RULE_NOT_EVALUATED);
    check_says(verdict_of(policy, "LossNotDecreasing")->why, "negative in some steps");
    CHECK(verdict_of(policy, "LossSpike")->state == RULE_NOT_EVALUATED);
    CHECK(verdict_of(density, "LossNotDecreasing")->state == RULE_CLEAR);
    CHECK(verdict_of(density, "LossSpike")->state == RULE_CLEAR);
}

TEST(repeated_batches_are_found_where_one_of_eight_is_recorded)
{
    struct trial *t = trial_open();
    for (int64_t i = 0; i < 200; i += 8)
        put(t, HEALTH_SCALAR, "batch.hash", i, (double)(i / 8 % 2 + 5));
    check_says(finding_of(t, "DuplicatedData")->message, "only 2 of 25 batches");
}

TEST(losses_that_fall_but_vary_too_much_are_not_evaluated)
{
    struct trial *falls = trial_open(), *stays = trial_open();
    for (int64_t i = 0; i < 300; i += 8) { /* one of eight steps was recorded */
        const double tail = i == 16 || i == 280 ? 1 : 0;
        put_loss(falls, i, (i < 40 ? 0.45 : 0.3) + tail);
        put_loss(stays, i, 0.45 + tail + 0.0001 * (double)i);
    }
    CHECK(verdict_of(falls, "LossNotDecreasing")->state == RULE_NOT_EVALUATED);
    check_says(verdict_of(falls, "LossNotDecreasing")->why, "the losses vary too much");
    CHECK(verdict_of(stays, "LossNotDecreasing")->state == RULE_ISSUE);
}

TEST(a_loss_that_does_not_fall_is_explained_by_updates_that_are_too_small)
{
    struct trial *t = trial_open();
    put(t, HEALTH_PARAMETER_DIMS, "0.weight", 0, 2);
    for (int64_t i = 0; i < 300; i++) {
        put_loss(t, i, 2.3 + 0.05 * jitter(i));
        if (i % 10 == 0)
            put(t, HEALTH_UPDATE_RATIO, "0.weight", i, 1e-12);
    }
    CHECK(verdict_of(t, "UpdateTooSmall")->state == RULE_ISSUE);
    CHECK(verdict_of(t, "UpdateTooSmall")->severity == SEVERITY_WARNING);
    const struct finding *f = finding_of(t, "LossNotDecreasing");
    CHECK(f->n_explained_by == 1);
    CHECK_STR(f->explained_by[0], "UpdateTooSmall");
    CHECK(verdict_of(t, "LossNotDecreasing")->severity == SEVERITY_INFO);
}

TEST(updates_at_the_end_of_a_decay_may_be_small)
{
    struct trial *decays = trial_open(), *small = trial_open();
    for (int k = 0; k < 2; k++)
        put(k ? small : decays, HEALTH_PARAMETER_DIMS, "0.weight", 0, 2);
    for (int64_t i = 0; i < 3000; i++) {
        put(decays, HEALTH_SCALAR, "lr", i, i < 1000 ? 0.1 : 1e-8);
        put(small, HEALTH_SCALAR, "lr", i, 1e-8);
        if (i % 10 == 0) {
            put(decays, HEALTH_UPDATE_RATIO, "0.weight", i, i < 1000 ? 1e-3 : 1e-10);
            put(small, HEALTH_UPDATE_RATIO, "0.weight", i, 1e-10);
        }
    }
    CHECK(verdict_of(decays, "UpdateTooSmall")->state == RULE_CLEAR);
    CHECK(verdict_of(small, "UpdateTooSmall")->state == RULE_ISSUE);
}

TEST(a_loss_that_is_small_already_may_stand_still)
{
    struct trial *t = trial_open();
    put(t, HEALTH_PARAMETER_DIMS, "0.weight", 0, 2);
    for (int64_t i = 0; i < 300; i++) {
        put_loss(t, i, i < 20 ? 2.3 : 0.01);
        if (i % 10 == 0)
            put(t, HEALTH_UPDATE_RATIO, "0.weight", i, 1e-9);
    }
    CHECK(verdict_of(t, "UpdateTooSmall")->state == RULE_CLEAR);
}

TEST(a_loss_that_falls_within_a_few_steps_has_fallen)
{
    struct trial *t = trial_open();
    for (int64_t i = 0; i < 200; i++)
        put_loss(t, i, 1.1 + 8 * exp(-(double)i) + 0.02 * jitter(i));
    CHECK(verdict_of(t, "LossNotDecreasing")->state == RULE_CLEAR);
    struct trial *noise = trial_open();
    for (int64_t i = 0; i < 200; i++)
        put_loss(noise, i, 1.1 + (i == 0 ? 0.5 : 0.2 * jitter(i)));
    CHECK(verdict_of(noise, "LossNotDecreasing")->state == RULE_ISSUE);
}

TEST(updates_of_more_than_a_tenth_are_too_large)
{
    struct trial *t = trial_open();
    put(t, HEALTH_PARAMETER_DIMS, "0.weight", 0, 2);
    put(t, HEALTH_PARAMETER_DIMS, "0.bias", 0, 1);
    for (int64_t i = 0; i < 100; i += 10) {
        put(t, HEALTH_UPDATE_RATIO, "0.weight", i, 0.3);
        put(t, HEALTH_UPDATE_RATIO, "0.bias", i, 5);
    }
    const struct finding *f = finding_of(t, "UpdateTooLarge");
    CHECK_STR(f->module, "0.weight");
    check_says(f->message, "in 1 of 1 parameters: 0.weight");
}

TEST(a_parameter_that_begins_as_zeros_does_not_change_too_much)
{
    struct trial *t = trial_open();
    const char *const names[] = {"place", "a", "b", "c", "d"};
    for (int k = 0; k < 5; k++)
        put(t, HEALTH_PARAMETER_DIMS, names[k], 0, 2);
    for (int64_t i = 0; i < 60; i += 10)
        for (int k = 0; k < 5; k++)
            put(t, HEALTH_UPDATE_RATIO, names[k], i, k ? (i < 20 ? 0.5 : 1e-3) : 0.2);
    CHECK(verdict_of(t, "UpdateTooLarge")->state == RULE_CLEAR);
}

TEST(gradients_that_fade_towards_the_input_have_vanished)
{
    struct trial *t = trial_open();
    char name[16];
    for (int k = 0; k < 13; k++) {
        snprintf(name, sizeof name, "%d.weight", 2 * k);
        put(t, HEALTH_PARAMETER_DIMS, name, 0, 2);
    }
    for (int64_t i = 0; i < 300; i += 10)
        for (int k = 0; k < 13; k++) {
            snprintf(name, sizeof name, "%d.weight", 2 * k);
            put(t, HEALTH_GRADIENT_L2, name, i, pow(10, k - 12));
            put(t, HEALTH_WEIGHT_L2, name, i, 1);
        }
    const struct finding *f = finding_of(t, "VanishingGradient");
    CHECK_STR(f->module, "0.weight");
    check_says(f->message, "of 13 parameters");
}

TEST(biases_without_a_gradient_have_not_vanished)
{
    struct trial *t = trial_open();
    healthy(t, 300);
    for (int64_t i = 0; i < 300; i += 10)
        put(t, HEALTH_GRADIENT_L2, "4.bias", i, 1e-12);
    CHECK(verdict_of(t, "VanishingGradient")->state == RULE_CLEAR);
}

TEST(dead_units_explain_gradients_that_are_zero)
{
    struct trial *t = trial_open();
    put(t, HEALTH_PARAMETER_DIMS, "0.weight", 0, 2);
    for (int64_t i = 0; i < 100; i += 10) {
        put(t, HEALTH_OUTPUT_DEAD, "1", i, 1);
        put(t, HEALTH_GRADIENT_ZEROS, "0.weight", i, 1);
    }
    CHECK_STR(finding_of(t, "DeadRelu")->module, "1");
    const struct finding *f = finding_of(t, "ZeroGradient");
    CHECK_STR(f->explained_by[0], "DeadRelu");
}

TEST(a_finding_about_tensors_names_the_first_step_at_which_one_was_beyond_the_limit)
{
    struct trial *t = trial_open();
    put(t, HEALTH_PARAMETER_DIMS, "0.weight", 0, 2);
    put(t, HEALTH_PARAMETER_DIMS, "2.weight", 0, 2);
    for (int64_t i = 0; i < 100; i += 10) {
        put(t, HEALTH_OUTPUT_DEAD, "1", i, i < 40 ? 0.2 : 1);
        put(t, HEALTH_UPDATE_RATIO, "0.weight", i, i == 0 || i >= 30 ? 0.5 : 0.001);
        put(t, HEALTH_WEIGHT_L2, "0.weight", i, 1);
        put(t, HEALTH_GRADIENT_L2, "0.weight", i, i < 20 ? 1 : 1e-9);
        put(t, HEALTH_WEIGHT_L2, "2.weight", i, 1);
        put(t, HEALTH_GRADIENT_L2, "2.weight", i, 1);
    }
    CHECK_INT(finding_of(t, "DeadRelu")->step, 40);
    CHECK_INT(finding_of(t, "UpdateTooLarge")->step, 30); /* the first steps do not count */
    CHECK_INT(finding_of(t, "VanishingGradient")->step, 20);
}

TEST(units_that_are_dead_in_the_first_samples_only_are_fine)
{
    struct trial *t = trial_open();
    for (int64_t i = 0; i < 100; i += 10)
        put(t, HEALTH_OUTPUT_DEAD, "1", i, i < 40 ? 1 : 0.2);
    CHECK(verdict_of(t, "DeadRelu")->state == RULE_CLEAR);
}

TEST(saturated_values_are_found_by_their_median)
{
    struct trial *t = trial_open();
    for (int64_t i = 0; i < 100; i += 10) {
        put(t, HEALTH_OUTPUT_SATURATED, "1", i, 0.89);
        put(t, HEALTH_OUTPUT_SATURATED, "3", i, 0.3);
    }
    check_says(finding_of(t, "SaturatedActivation")->message, "in 1 of 2 modules: 1");
}

TEST(signals_that_fade_from_layer_to_layer_are_a_poor_initialization)
{
    struct trial *t = trial_open();
    for (int k = 0; k < 8; k++) {
        char name[8];
        snprintf(name, sizeof name, "%d", k);
        put(t, HEALTH_INPUT_STD, name, 0, 0.1 * pow(0.1, k));
    }
    const struct finding *f = finding_of(t, "PoorWeightInitialization");
    CHECK_INT(f->step, 0);
    CHECK_STR(f->module, "7");
}

TEST(updates_that_sixteen_bits_round_away_are_found)
{
    struct trial *t = trial_open();
    for (int64_t i = 0; i < 100; i += 10)
        put(t, HEALTH_UPDATE_UNCHANGED, "0.weight", i, 0.96);
    CHECK(verdict_of(t, "LowPrecisionUpdate")->state == RULE_ISSUE);
}

TEST(an_optimizer_without_gradients_is_critical_after_ten_steps)
{
    struct trial *t = trial_open(), *few = trial_open();
    for (int64_t i = 5; i < 25; i++)
        put(t, HEALTH_SCALAR, "grad.missing", i, 8);
    for (int64_t i = 0; i < 40; i++) {
        put(few, HEALTH_SCALAR, "lr", i, 0.1);
        if (i % 2 == 0)
            put(few, HEALTH_SCALAR, "grad.missing", i, 8);
    }
    const struct finding *f = finding_of(t, "NoGradient");
    CHECK_INT(f->step, 5);
    check_says(f->message, "none of the 8 parameters");
    CHECK(verdict_of(t, "NoGradient")->severity == SEVERITY_CRITICAL);
    CHECK(verdict_of(few, "NoGradient")->state == RULE_CLEAR);
}

TEST(an_optimizer_without_gradients_is_found_where_one_in_eight_steps_is_recorded)
{
    struct trial *t = trial_open(), *turns = trial_open();
    for (int64_t i = 0; i < 400; i += 8) {
        put(t, HEALTH_SCALAR, "lr", i, 0.1);
        if (i >= 200)
            put(t, HEALTH_SCALAR, "grad.missing", i, 8);
        put(turns, HEALTH_SCALAR, "lr", i, 0.1); /* the second optimizer skips every other turn */
        put(turns, HEALTH_SCALAR, "lr.1", i + 4, 0.1);
        if (i % 16)
            put(turns, HEALTH_SCALAR, "grad.missing", i + 4, 8);
    }
    const struct finding *f = finding_of(t, "NoGradient");
    CHECK_INT(f->step, 200);
    check_says(f->message, "in 25 recorded steps, from step 200 on");
    CHECK(verdict_of(turns, "NoGradient")->state == RULE_CLEAR);
}

TEST(an_evaluation_loss_that_rises_while_the_training_loss_falls_is_overfitting)
{
    struct trial *t = trial_open(), *good = trial_open();
    for (int64_t i = 0; i < 600; i++) {
        put_loss(t, i, 1.7 * exp(-(double)i / 50));
        put_loss(good, i, 1.7 * exp(-(double)i / 50));
        if (i % 50 == 49) {
            put_eval(t, i, 1.78 + (double)(i - 49) / 250);
            put_eval(good, i, 1e-3 * (1 + (double)i / 600));
        }
    }
    const struct finding *f = finding_of(t, "Overfit");
    CHECK_INT(f->step, 49);
    CHECK(verdict_of(good, "Overfit")->state == RULE_CLEAR);
}

TEST(evaluations_without_a_training_loss_say_nothing_about_overfitting)
{
    struct trial *t = trial_open();
    for (int64_t i = 0; i < 20; i++)
        put_eval(t, i, 0.5 + 0.1 * (double)i);
    CHECK(verdict_of(t, "Overfit")->state == RULE_NOT_EVALUATED);
    CHECK_STR(verdict_of(t, "Overfit")->why, "no training loss was recorded");
}

TEST(two_batches_in_turn_are_duplicates_and_one_batch_is_all_of_the_data)
{
    struct trial *two = trial_open(), *one = trial_open();
    for (int64_t i = 0; i < 200; i++) {
        put(two, HEALTH_SCALAR, "batch.hash", i, (double)(i % 2 + 5));
        put(one, HEALTH_SCALAR, "batch.hash", i, 5);
    }
    check_says(finding_of(two, "DuplicatedData")->message, "only 2 of 200 batches");
    CHECK_INT(finding_of(two, "DuplicatedData")->step, 0);
    CHECK(verdict_of(one, "DuplicatedData")->state == RULE_CLEAR);
}

/* Three ranks of DDP; rank 2 records every second step. `each`: they have different data. */
static void three_ranks(struct trial *t, bool each, int64_t batches)
{
    for (t->rank = 0; t->rank < 3; t->rank++)
        for (int64_t i = 0; i < 100; i++) {
            const int64_t own = each ? 1000 * t->rank : 0;
            if (t->rank < 2 || i % 2 == 0)
                put(t, HEALTH_SCALAR, "batch.hash", i, (double)(own + i % batches + 5));
            if (t->rank == 0)
                put(t, HEALTH_WEIGHT_L2, "0.weight", i, 3);
            put(t, HEALTH_WEIGHT_SUM, "0.weight", i, (double)i);
        }
}

TEST(replicas_that_have_the_same_batches_are_found)
{
    struct trial *same = trial_open(), *each = trial_open();
    three_ranks(same, false, 1000);
    three_ranks(each, true, 1000);
    const struct finding *f = finding_of(same, "DuplicatedData");
    CHECK_STR(f->entity, "rank 1");
    CHECK_STR(f->message, "rank 0 had the same batch as 2 other ranks in 100 of 100 steps");
    CHECK(verdict_of(each, "DuplicatedData")->state == RULE_CLEAR);
}

TEST(one_batch_on_all_ranks_is_a_benchmark)
{
    struct trial *t = trial_open();
    three_ranks(t, false, 1);
    CHECK(verdict_of(t, "DuplicatedData")->state == RULE_CLEAR);
}

TEST(a_parameter_that_differs_in_one_bit_on_a_rank_is_found)
{
    struct trial *t = trial_open(), *same = trial_open();
    for (int rank = 0; rank < 2; rank++) {
        t->rank = same->rank = rank;
        for (int64_t i = 0; i < 120; i += 10) {
            put(t, HEALTH_WEIGHT_SUM, "0.weight", i, (double)(i + 7));
            put(t, HEALTH_WEIGHT_SUM, "2.weight", i, (double)(i + 9 + (rank == 1 && i >= 50)));
            put(same, HEALTH_WEIGHT_SUM, "0.weight", i, (double)(i + 7));
        }
    }
    const struct finding *f = finding_of(t, "RankDivergence");
    CHECK_INT(f->step, 50);
    CHECK_STR(f->module, "2.weight");
    CHECK_STR(f->entity, "rank 1");
    CHECK(verdict_of(t, "RankDivergence")->severity == SEVERITY_CRITICAL);
    CHECK(verdict_of(same, "RankDivergence")->state == RULE_CLEAR);
}

TEST(the_rank_that_measures_is_compared_wherever_it_comes)
{
    struct trial *t = trial_open();
    for (t->rank = 1; t->rank >= 0; t->rank--)
        for (int64_t i = 0; i < 120; i += 10) {
            if (t->rank == 0)
                put(t, HEALTH_WEIGHT_L2, "0.weight", i, 3);
            put(t, HEALTH_WEIGHT_SUM, "0.weight", i, (double)(i + 7 + (t->rank == 1 && i >= 50)));
        }
    const struct finding *f = finding_of(t, "RankDivergence");
    CHECK_INT(f->step, 50);
    check_says(f->advice, "one of the ranks"); /* which one cannot be known */
}

/* Parameter 0.weight of four ranks, which changes on one of them at step 50. */
static void one_of_four_drifts(struct trial *t, int64_t odd)
{
    for (t->rank = 0; t->rank < 4; t->rank++)
        for (int64_t i = 0; i < 120; i += 10) {
            if (t->rank == 0)
                put(t, HEALTH_WEIGHT_L2, "0.weight", i, 3);
            put(t, HEALTH_WEIGHT_SUM, "0.weight", i, (double)(i + 7 + (t->rank == odd && i >= 50)));
        }
}

TEST(of_four_ranks_the_one_that_differs_from_the_others_is_named)
{
    struct trial *first = trial_open(), *third = trial_open();
    one_of_four_drifts(first, 0);
    one_of_four_drifts(third, 2);
    CHECK_STR(finding_of(first, "RankDivergence")->entity, "rank 0");
    check_says(finding_of(first, "RankDivergence")->message,
               "of rank 0 is not that of the other 3");
    CHECK_STR(finding_of(third, "RankDivergence")->entity, "rank 2");
    check_says(finding_of(third, "RankDivergence")->advice, "faulty GPU or memory of rank 2");
}

TEST(ranks_that_have_shards_or_models_of_their_own_are_not_compared)
{
    struct trial *t = trial_open();
    for (t->rank = 0; t->rank < 2; t->rank++)
        for (int64_t i = 0; i < 120; i += 10) {
            put(t, HEALTH_WEIGHT_L2, "0.weight", i, 3);
            put(t, HEALTH_WEIGHT_SUM, "0.weight", i, (double)(i + 7 + t->rank));
        }
    CHECK(verdict_of(t, "RankDivergence")->state == RULE_NOT_EVALUATED);
}

TEST(a_finding_of_all_ranks_is_one_finding_about_the_first)
{
    struct trial *t = trial_open();
    for (t->rank = 3; t->rank >= 0; t->rank--)
        for (int64_t i = 0; i < 300; i++)
            put_loss(t, i, 2.3 + 0.05 * jitter(i));
    const struct finding *f = finding_of(t, "LossNotDecreasing");
    CHECK_STR(f->entity, "rank 0");
    check_says(f->message, "(on 4 ranks)");
}

/* A noisy loss, of which one value of the first ten and one later are as far out; `high` is that.
 */
static void noisy(struct trial *t, double high)
{
    for (int64_t i = 0; i < 300; i++)
        put_loss(t, i, i == 7 ? 1.4 : i == 114 ? high : 0.5 + 0.08 * jitter(i));
}

TEST(one_loss_that_is_not_above_twice_the_first_ones_is_no_spike)
{
    struct trial *t = trial_open(), *spike = trial_open();
    noisy(t, 2.5);
    noisy(spike, 3.1);
    CHECK(verdict_of(t, "LossSpike")->state == RULE_CLEAR);
    CHECK_INT(finding_of(spike, "LossSpike")->step, 114);
}

TEST(losses_far_apart_that_stand_out_are_no_spike_where_few_steps_are_recorded)
{
    struct trial *t = trial_open();
    noisy(t, 1.3);
    for (int64_t i = 300; i < 1500; i += 20)
        put_loss(t, i, i % 60 == 0 ? 1.3 : 0.5 + 0.08 * jitter(i));
    CHECK(verdict_of(t, "LossSpike")->state == RULE_CLEAR);
}
