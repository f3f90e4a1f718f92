/* SPDX-License-Identifier: Apache-2.0 */
#include "kit.h"
#include "rules/rule_internal.h"

#define RULE_NAME "LoadBalancing"

static const struct verdict *judge_nodes(const struct kit_node *nodes, size_t n)
{
    return kit_verdict(&(struct kit){nodes, n}, RULE_NAME);
}

static void gpus(struct moment *m, float a, float b)
{
    m->gpu[0][GPU_SIG_UTIL] = a;
    m->gpu[1][GPU_SIG_UTIL] = b;
}

static void uneven(size_t i, struct moment *m)
{
    (void)i;
    gpus(m, 90, 30);
}

static void even(size_t i, struct moment *m)
{
    const float v = (float)(60 + kit_noise(i, 40));
    gpus(m, v, v);
}

/* Of 100 sweeps the second GPU idles in so many. */
static void idles(size_t i, struct moment *m, size_t of_100)
{
    gpus(m, 90, i % 100 < of_100 ? 10 : 90);
}

static void idles_7(size_t i, struct moment *m)
{
    idles(i, m, 7);
}

static void idles_8(size_t i, struct moment *m)
{
    idles(i, m, 8);
}

TEST(two_gpus_with_nothing_in_common_are_one_apart_and_both_named)
{
    const struct kit_node node = {"n0", uneven, 1000, .gpus = 2};
    const struct verdict *v = judge_nodes(&node, 1);
    CHECK_INT(v->n_findings, 1);
    const struct finding *f = &v->findings[0];
    CHECK_STR(f->entity, "gpu1");
    CHECK_STR(f->message,
              "gpu1 (mean 30 %) and gpu0 (mean 90 %) were unevenly loaded: the Jensen-Shannon "
              "distance of their utilization histograms was 1.00 (threshold 0.2)");
    NEAR(kit_number(f, "distance"), 1, 1e-12);
    NEAR(kit_number(f, "mean_difference"), 60, 1e-9);
    NEAR(f->lost_gpu_s, 500 * 0.6, 1e-6);
    NEAR(f->lost_s, 500 * (1 - 60.0 / 90), 1e-6);
    CHECK_INT(v->violations, 1);
    CHECK_INT(v->datapoints, 1000);
}

/* By the formula: P is all in one bin, Q has 1 - q there. */
static double distance(double q)
{
    const double m = q / 2;
    const double both = -m * log2(m) - (1 - m) * log2(1 - m);
    return sqrt(both - (-q * log2(q) - (1 - q) * log2(1 - q)) / 2);
}

TEST(just_below_the_threshold_is_clear_and_just_above_is_not)
{
    const struct kit_node below = {"n0", idles_7, 1000, .gpus = 2};
    const struct kit_node above = {"n0", idles_8, 1000, .gpus = 2};
    CHECK(distance(0.07) < 0.2 && distance(0.08) > 0.2);
    CHECK_STR(judge_nodes(&below, 1)->why, "2 GPUs in use, distance at most 0.19 (threshold 0.2)");
    NEAR(kit_number(&judge_nodes(&above, 1)->findings[0], "distance"), distance(0.08), 1e-12);
}

static void nearly_alike(size_t i, struct moment *m)
{
    (void)i;
    gpus(m, 92, 93);
}

TEST(two_steady_gpus_one_point_apart_share_the_work)
{
    const struct kit_node node = {"n0", nearly_alike, 1000, .gpus = 2};
    CHECK_INT(judge_nodes(&node, 1)->state, RULE_CLEAR);
}

static void turns(size_t i, struct moment *m)
{
    gpus(m, i / 3 % 2 ? 95 : 0, i / 3 % 2 ? 0 : 95);
}

TEST(gpus_that_take_turns_are_found_though_their_histograms_are_the_same)
{
    const struct kit_node node = {"n0", turns, 1200, .gpus = 2};
    const struct verdict *v = judge_nodes(&node, 1);
    CHECK_INT(v->n_findings, 1);
    CHECK(strstr(v->findings[0].message, "took turns"));
    NEAR(kit_number(&v->findings[0], "distance"), 0, 1e-9);
    NEAR(kit_number(&v->findings[0], "gap"), 95, 1e-9);
    NEAR(kit_number(&v->findings[0], "gap_by_chance"), 47.5, 1e-9);
}

/* Both flicker, neither knows of the other. */
static void flickers(size_t i, struct moment *m)
{
    gpus(m, kit_noise(i, 2) ? 95 : 0, kit_noise(i + 1000000, 2) ? 95 : 0);
}

TEST(gpus_that_flicker_independently_do_not_take_turns)
{
    const struct kit_node node = {"n0", flickers, 1200, .gpus = 2};
    CHECK_INT(judge_nodes(&node, 1)->state, RULE_CLEAR);
}

static void busy(size_t i, struct moment *m)
{
    gpus(m, (float)(85 + kit_noise(i, 5)), (float)(85 + kit_noise(i + 77, 5)));
}

static void slack(size_t i, struct moment *m)
{
    gpus(m, (float)(85 + kit_noise(i, 5)), 40);
}

TEST(a_gpu_that_differs_from_those_of_other_nodes_is_found_on_its_node)
{
    const struct kit_node nodes[] = {
        {"a", busy, 600, .gpus = 2}, {"b", slack, 600, .gpus = 2}, {"c", busy, 600, .gpus = 2}};
    const struct verdict *v = judge_nodes(nodes, 3);
    CHECK_INT(v->n_findings, 1);
    CHECK_STR(v->findings[0].node, "b");
    CHECK_STR(v->findings[0].entity, "gpu1");
    CHECK(strstr(v->findings[0].message, "gpu1 of b"));
    CHECK_INT(v->violations, 5); /* it and each of the others */
}

static void unused_beside(size_t i, struct moment *m)
{
    (void)i;
    gpus(m, 90, 0);
}

TEST(a_gpu_never_used_is_left_out)
{
    const struct kit_node node = {"n0", unused_beside, 600, .gpus = 2};
    CHECK_STR(judge_nodes(&node, 1)->why, "needs two GPUs in use, has 1");
}

TEST(too_short_is_not_evaluated)
{
    const struct kit_node brief = {"n0", uneven, 30, .gpus = 2};
    const struct kit_node patient = {"n0", uneven, 312, .gpus = 2};
    CHECK_STR(judge_nodes(&brief, 1)->why, "needs 50 readings (25.0 s of training), has 30");
    CHECK_STR(kit_verdict(&(struct kit){&patient, 1, .no_steps = true}, RULE_NAME)->why,
              "needs 1000 readings (8 min 20 s), has 312");
}

static void turns_half_read(size_t i, struct moment *m)
{
    turns(i, m);
    if (i % 2)
        m->gpu[1][GPU_SIG_UTIL] = NAN;
}

TEST(sweeps_in_which_one_was_not_read_say_nothing_about_turns)
{
    const struct kit_node node = {"n0", turns_half_read, 1200, .gpus = 2};
    NEAR(kit_number(&judge_nodes(&node, 1)->findings[0], "gap"), 95, 1e-9);
}

static void edges(size_t i, struct moment *m)
{
    static const float at[] = {0, 2.4f, 2.5f, 7.4f, 97.4f, 97.5f, 100, 100};
    gpus(m, at[i % 8], 50);
}

TEST(bins_lie_around_multiples_of_five_and_hundred_is_in_the_last)
{
    const struct kit_node node = {"n0", edges, 80, .gpus = 2};
    const struct plot_row *r = kit_row(judge_nodes(&node, 1), "GPU utilization", "n0 gpu0");
    CHECK_INT(r->n, 21);
    NEAR(r->v[0], 20, 0);
    NEAR(r->v[1], 20, 0);
    NEAR(r->v[19], 10, 0);
    NEAR(r->v[20], 30, 0);
}

static void lively(size_t i, struct moment *m)
{
    gpus(m, (float)kit_noise(i / 7, 100), i > 800 ? (float)kit_noise(i / 5 + 99, 60) : 0);
    m->gpu[2][GPU_SIG_UTIL] = kit_noise(i, 5) ? 100 - m->gpu[0][GPU_SIG_UTIL] : NAN;
}

static void rough_turns(size_t i, struct moment *m)
{
    const float v = (float)(70 + kit_noise(i, 30));
    gpus(m, i / 3 % 2 ? v : 0, i / 3 % 2 ? 0 : v);
}

TEST(cuts_do_not_matter)
{
    const struct kit_node nodes[] = {{"a", lively, 1500, .gpus = 3},
                                     {"b", rough_turns, 700, .gpus = 2}};
    kit_cuts_do_not_matter(&(struct kit){nodes, 2}, RULE_NAME);
    const struct kit_node same = {"n0", even, 700, .gpus = 2};
    kit_cuts_do_not_matter(&(struct kit){&same, 1}, RULE_NAME);
}

TEST(the_mean_difference_of_two_gpus_is_that_of_the_sweeps_in_which_both_were_read)
{
    enum { N = 1000 };
    static float util[3][N];
    static wall_ns at[N];
    struct gpu_sweeps gpus[3] = {0};
    struct gaps g = {0};
    double sum[3] = {0};
    size_t n[3] = {0};
    for (size_t i = 0; i < N; i++) { /* the first two are always read, and as far apart as can be */
        util[0][i] = i % 2 ? 100 : 0;
        util[1][i] = i < 300 ? 100 - util[0][i] : (float)kit_noise(i, 1001) / 10;
        util[2][i] = i % 5 ? (float)kit_noise(i + N, 101) : NAN;
        for (size_t b = 1, k = 0; b < 3; b++)
            for (size_t a = 0; a < b; a++, k++)
                if (!isnan(util[a][i]) && !isnan(util[b][i])) {
                    sum[k] += fabs((double)util[a][i] - (double)util[b][i]);
                    n[k]++;
                }
    }
    for (size_t k = 0; k < 3; k++)
        gpus[k].v[GPU_SIG_UTIL] = util[k];
    const struct sweeps s = {.n = N, .at = at, .gpus = gpus, .n_gpus = 3};
    gaps_add(&g, &s);
    for (size_t b = 1, k = 0; b < 3; b++)
        for (size_t a = 0; a < b; a++, k++) {
            CHECK_INT(g.v[k].n, n[k]);
            NEAR(gaps_mean(&g, a, b), sum[k] / (double)n[k], 1e-3);
        }
    gaps_memory(&g, STATE_FREE);
}
