/* SPDX-License-Identifier: Apache-2.0 */
/* Which iterations are compared and by which clock, on readings made by hand. */
#include "base/mem.h"
#include "compare/compare_internal.h"
#include "test.h"

enum { STEPS = 60 };

/* One run a side, all of it in memory. */
struct pair {
    struct step steps[COMPARE_SIDES][STEPS];
    struct run_info info[COMPARE_SIDES];
    struct compared_run runs[COMPARE_SIDES];
    struct compare_reading readings[COMPARE_SIDES];
    struct side_reading sides[COMPARE_SIDES];
    struct compare_ask ask;
    struct compared out;
    struct arena arena;
};

/* Steps of 10 ms with 20 ms between them, a little more or less. */
static struct pair *pair_new(void)
{
    static const char *no_words[] = {NULL};
    struct pair *p = xcalloc(1, sizeof *p);
    for (int s = 0; s < COMPARE_SIDES; s++) {
        int64_t at = 0;
        for (int k = 0; k < STEPS; k++) {
            p->steps[s][k] = (struct step){.number = k,
                                           .mode = MODE_TRAIN,
                                           .start.ns = at,
                                           .dur_ns = 10 * NS_PER_MS,
                                           .between_ns = (20 + (k * 7 + s) % 3) * NS_PER_MS,
                                           .batch = -1};
            p->steps[s][k].part_ns[0] = 10 * NS_PER_MS;
            at += 10 * NS_PER_MS + p->steps[s][k].between_ns;
        }
        p->info[s] = (struct run_info){.path = s ? "/nowhere/b" : "/nowhere/a",
                                       .id = s ? "b" : "a",
                                       .name = s ? "b" : "a",
                                       .command = no_words,
                                       .git_commit = ""};
        p->out.side[s].runs = &p->runs[s];
        p->out.side[s].n = 1;
        for (size_t k = 0; k < STEP_PARTS_MOST; k++)
            p->readings[s].gpu_part_s[k] = NAN;
    }
    p->out.confidence = 0.95;
    return p;
}

static void pair_compare(struct pair *p)
{
    struct comparing c = {
        .ask = &p->ask, .side = p->sides, .arena = &p->arena, .scratch = &p->arena, .out = &p->out};
    for (int s = 0; s < COMPARE_SIDES; s++) {
        const struct rank_steps rank = {.node = "n1", .steps = p->steps[s], .n = STEPS};
        p->readings[s].info = &p->info[s];
        jobsteps_of(&rank, 1, &p->arena, &p->readings[s].steps);
        p->sides[s] = (struct side_reading){&p->readings[s], 1};
    }
    compare_steps(&c);
    compare_conclude(&c);
}

static void pair_free(struct pair *p)
{
    arena_free(&p->arena);
    free(p);
}

static const struct compared_part *part_named(const struct compared_part *v, size_t n,
                                              const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(v[i].part, name) == 0)
            return &v[i];
    return NULL;
}

TEST(time_between_steps_counts_and_is_a_part_of_its_own)
{
    struct pair *p = pair_new();
    for (int k = 0; k < STEPS; k++)
        p->steps[COMPARE_B][k].between_ns +=
            30 * NS_PER_MS; /* a step itself is as long as before */
    pair_compare(p);
    CHECK_INT(p->out.verdict, COMPARE_SLOWER);
    NEAR(p->out.side[COMPARE_A].steps.mean_s, 0.031, 0.0005);
    NEAR(p->out.side[COMPARE_B].steps.mean_s, 0.061, 0.0005);
    const struct compared_part *between = part_named(p->out.parts, p->out.n_parts, "between");
    CHECK(between);
    NEAR(between->diff_s.at, 0.030, 0.0005);
    CHECK_INT(between->verdict, COMPARE_SLOWER);
    pair_free(p);
}

TEST(warm_up_and_steps_that_a_detail_window_slowed_do_not_count)
{
    struct pair *p = pair_new();
    for (int k = 0; k < 20; k++) { /* far more than the tenth that is left out anyway */
        p->steps[COMPARE_B][k].warmup = true;
        p->steps[COMPARE_B][k].between_ns += 500 * NS_PER_MS;
    }
    for (int k = 40; k < 45; k++) {
        p->steps[COMPARE_A][k].disturbed = true;
        p->steps[COMPARE_A][k].between_ns += 500 * NS_PER_MS;
    }
    pair_compare(p);
    CHECK_INT(p->out.side[COMPARE_A].warmup, 20);
    CHECK_INT(p->out.side[COMPARE_A].disturbed, 5);
    CHECK_INT(p->out.side[COMPARE_A].steps.count, STEPS - 25);
    CHECK_INT(p->out.verdict, COMPARE_SAME);
    CHECK(p->out.side[COMPARE_A].steps.max_s < 0.04 && p->out.side[COMPARE_B].steps.max_s < 0.04);
    CHECK(strstr(p->out.why, "5 more are excluded because a detail window slowed them"));
    pair_free(p);
}

TEST(chosen_steps_count_though_they_are_warm_up_but_not_those_of_a_detail_window)
{
    struct pair *p = pair_new();
    p->ask = (struct compare_ask){.has_range = true, .from = 0, .to = 29};
    p->steps[COMPARE_A][0].warmup = p->steps[COMPARE_A][1].disturbed = true;
    pair_compare(p);
    CHECK_INT(p->out.side[COMPARE_A].steps.count, 29);
    CHECK_INT(p->out.side[COMPARE_A].warmup, 0);
    CHECK_INT(p->out.side[COMPARE_A].disturbed, 1);
    pair_free(p);
}

TEST(gpu_times_are_compared_where_both_sides_have_them)
{
    struct pair *p = pair_new();
    size_t forward = 0;
    while (strcmp(step_part_name(forward), "forward") != 0)
        forward++;
    for (int s = 0; s < COMPARE_SIDES; s++) {
        p->runs[s].gpus = 1;
        p->readings[s].gpu_timed_steps = 35;
        p->readings[s].gpu_steps = 250;
        p->readings[s].gpu_part_s[forward] = s ? 0.016 : 0.008;
        p->readings[s].gpu_part_s[forward + 1] = s ? 0.0101 : 0.010;
    }
    pair_compare(p);
    CHECK_INT(p->out.n_gpu_parts, 2);
    CHECK_STR(p->out.gpu_parts[0].part, "forward");
    NEAR(p->out.gpu_parts[0].diff_s.at, 0.008, 1e-12);
    CHECK_INT(p->out.gpu_parts[0].verdict, COMPARE_SLOWER);
    CHECK_INT(p->out.gpu_parts[1].verdict, COMPARE_SAME); /* 1 %: runs differ by more */
    CHECK(!p->out.launch_only);
    CHECK_INT(p->out.side[COMPARE_A].gpu_timed_steps, 35);
    pair_free(p);
}

TEST(without_gpu_times_on_one_side_the_host_times_are_those_of_launching)
{
    struct pair *p = pair_new();
    p->runs[COMPARE_A].gpus = p->runs[COMPARE_B].gpus = 1;
    p->readings[COMPARE_A].gpu_timed_steps = 35;
    p->readings[COMPARE_A].gpu_part_s[1] = 0.008;
    pair_compare(p);
    CHECK_INT(p->out.n_gpu_parts, 0);
    CHECK(p->out.launch_only && p->out.n_parts > 0);
    CHECK_INT(p->out.n_losses, 1);
    CHECK_STR(p->out.losses[0].what, "GPU time");
    CHECK_INT(p->out.losses[0].side, COMPARE_B);
    pair_free(p);
}

/* A part of `ms`, at the cost of the one before. */
static void make_part(struct pair *p, int side, double ms)
{
    for (int k = 0; k < STEPS; k++) {
        struct step *s = &p->steps[side][k];
        const int64_t more = (int64_t)(ms * NS_PER_MS) + k * 5 % 7 * 1000;
        s->part_ns[1] += more;
        s->part_ns[0] -= more;
    }
}

TEST(a_part_that_changed_by_less_than_one_percent_of_the_iteration_gets_no_verdict)
{
    struct pair *p = pair_new();
    make_part(p, COMPARE_A, 0.03); /* 0.1 % of it, and surely three times as much in B */
    make_part(p, COMPARE_B, 0.09);
    pair_compare(p);
    CHECK(p->out.parts[1].diff_s.low > 0);
    CHECK_INT(p->out.parts[1].verdict, COMPARE_SAME);
    pair_free(p);
    p = pair_new();
    make_part(p, COMPARE_A, 0.3); /* 2 % */
    make_part(p, COMPARE_B, 0.9);
    pair_compare(p);
    CHECK_INT(p->out.parts[1].verdict, COMPARE_SLOWER);
    pair_free(p);
}

/* Checkpoints between steps, as long as many iterations. */
TEST(an_interval_of_a_part_that_is_wider_than_the_iteration_is_left_out)
{
    struct pair *p = pair_new();
    for (int s = 0; s < COMPARE_SIDES; s++) {
        p->steps[s][25].between_ns += (2000 + 2000 * s) * NS_PER_MS;
        p->steps[s][45].between_ns += (4000 - 2500 * s) * NS_PER_MS;
    }
    pair_compare(p);
    const struct compared_part *between = part_named(p->out.parts, p->out.n_parts, "between");
    CHECK(!isnan(between->diff_s.at));
    CHECK_INT(between->verdict, COMPARE_SAME);
    CHECK(isnan(between->diff_s.low) && isnan(between->diff_s.high));
    CHECK(!isnan(p->out.parts[0].diff_s.low));
    pair_free(p);
}

TEST(swapped_sides_give_opposite_verdicts_and_inverse_bounds)
{
    for (int more = -12; more <= 12; more += 3) {
        struct pair *p = pair_new(), *q = pair_new();
        for (int k = 0; k < STEPS; k++) {
            const int64_t between = (20 + more + k % 5) * (int64_t)NS_PER_MS;
            q->steps[COMPARE_B][k].between_ns = p->steps[COMPARE_A][k].between_ns;
            q->steps[COMPARE_A][k].between_ns = p->steps[COMPARE_B][k].between_ns = between;
        }
        pair_compare(p);
        pair_compare(q);
        const struct diff_interval *v = &p->out.diff, *w = &q->out.diff;
        NEAR(1 / (1 + v->low) - 1, w->high, 1e-9);
        NEAR(1 / (1 + v->high) - 1, w->low, 1e-9);
        CHECK((p->out.verdict == COMPARE_SLOWER) == (q->out.verdict == COMPARE_FASTER));
        CHECK((p->out.verdict == COMPARE_FASTER) == (q->out.verdict == COMPARE_SLOWER));
        CHECK(p->out.may_be_noise == q->out.may_be_noise);
        NEAR(p->out.detectable_share, q->out.detectable_share, 1e-9);
        for (size_t i = 0; i < p->out.n_parts; i++) {
            const struct compared_part *x = &p->out.parts[i], *y = &q->out.parts[i];
            CHECK((x->verdict == COMPARE_SLOWER) == (y->verdict == COMPARE_FASTER));
            NEAR(x->diff_s.low, -y->diff_s.high, 1e-9);
        }
        pair_free(p);
        pair_free(q);
    }
}
