/* SPDX-License-Identifier: Apache-2.0 */
/* How long steps took, and steps that follow each other. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/stepmarks.h"
#include "test.h"

static struct step_mark mark(int64_t start, int64_t dur_ns, int64_t number, enum event_mode mode,
                             bool cut)
{
    return (struct step_mark){start, dur_ns, dur_ns, number, mode, cut, cut};
}

TEST(step_histograms_count_every_step_and_set_outliers_apart)
{
    enum { N = 1000 };
    struct step_mark *steps = xcalloc(N, sizeof *steps);
    struct step_hist *h = xcalloc(MODE_N, sizeof *h); /* h is that of MODE_TRAIN */
    uint64_t sum = 0;
    for (int i = 0; i < N; i++)
        steps[i] = mark(i * NS_PER_S, (100 + i % 10) * NS_PER_MS, i, MODE_TRAIN, false);
    steps[500].iteration_ns = steps[500].dur_ns = 20 * NS_PER_S;
    steps[501].mode = MODE_EVAL;
    steps[502].cut = steps[502].left_out = true;
    const struct rank_marks rank = {"a", 0, 7, steps, N};
    step_hists_of(&rank, (wall_ns){0}, (wall_ns){0}, h);
    CHECK_INT(h->count, N - 2);
    CHECK_INT(h[MODE_EVAL].count, 1);
    for (size_t i = 0; i < h->n; i++) {
        CHECK(h->edges_s[i] <= h->edges_s[i + 1]);
        sum += h->counts[i];
    }
    CHECK_INT(sum, N - 2);
    CHECK_INT(h->n, STEP_HIST_BINS + 1);
    CHECK_INT(h->n_outliers, 1);
    CHECK_INT(h->outliers[0]->number, 500);
    NEAR(h->edges_s[0], 0.1, 1e-9);
    NEAR(h->edges_s[h->n], 20, 1e-9);
    step_hists_of(&rank, (wall_ns){0}, (wall_ns){100 * NS_PER_S}, h);
    CHECK_INT(h->count, 100);
    CHECK_INT(h->n_outliers, 0);
    CHECK_INT(h[MODE_EVAL].count, 0);
    CHECK_INT(h[MODE_PREDICT].count, 0);
    free(h);
    free(steps);
}

static int64_t some_duration(int i)
{
    return 80 * NS_PER_MS + (int64_t)i * 7919 % (9 * NS_PER_MS) + (i % 97 == 0) * 60 * NS_PER_MS;
}

TEST(step_histograms_of_a_window_are_those_of_the_steps_that_begin_in_it)
{
    enum { N = 5000, FROM = 1234, TO = 4321 };
    struct step_mark *steps = xcalloc(N, sizeof *steps);
    struct step_hist *h = xcalloc(MODE_N, sizeof *h); /* h is that of MODE_TRAIN */
    double sum = 0, squares = 0;
    size_t n = 0, above = 0;
    for (int i = 0; i < N; i++)
        steps[i] = mark(i * NS_PER_S, some_duration(i), i, i % 5 == 4, i % 11 == 0);
    steps[FROM].iteration_ns = steps[FROM].dur_ns =
        3600 * NS_PER_S; /* far from all others, and the first: cut does not count */
    steps[FROM].cut = steps[FROM].left_out = false;
    steps[FROM].mode = MODE_TRAIN;
    for (int i = FROM; i < TO; i++)
        if (!steps[i].cut && steps[i].mode == MODE_TRAIN) {
            sum += (double)steps[i].dur_ns / 1e9;
            n++;
        }
    for (int i = FROM; i < TO; i++)
        if (!steps[i].cut && steps[i].mode == MODE_TRAIN)
            squares += pow((double)steps[i].dur_ns / 1e9 - sum / (double)n, 2);
    const double from_s = sum / (double)n + 3 * sqrt(squares / (double)n);
    for (int i = FROM; i < TO; i++)
        above +=
            !steps[i].cut && steps[i].mode == MODE_TRAIN && (double)steps[i].dur_ns / 1e9 > from_s;
    const struct rank_marks rank = {"a", 0, 7, steps, N};
    step_hists_of(&rank, (wall_ns){FROM * NS_PER_S}, (wall_ns){TO * NS_PER_S}, h);
    CHECK_INT(h->count, n);
    NEAR(h->outlier_from_s, from_s, 1e-9 * from_s);
    CHECK_INT(h->outliers_all, above);
    CHECK_INT(h->outliers[0]->number, FROM);
    CHECK(h[MODE_EVAL].count > 0);
    free(h);
    free(steps);
}

TEST(the_longest_step_is_in_the_last_bin_however_the_edges_are_rounded)
{
    struct step_hist *h = xcalloc(MODE_N, sizeof *h); /* h is that of MODE_TRAIN */
    for (int64_t longest = 100000001; longest < 100000400; longest++) {
        struct step_mark steps[2] = {{1, 99999999, 0, MODE_TRAIN, false},
                                     {2, longest, 1, MODE_TRAIN, false}};
        const struct rank_marks rank = {"a", 0, 7, steps, 2};
        step_hists_of(&rank, (wall_ns){0}, (wall_ns){0}, h);
        CHECK_INT(h->n, STEP_HIST_BINS);
        CHECK_INT(h->counts[0] + h->counts[STEP_HIST_BINS - 1], 2);
    }
    free(h);
}

TEST(steps_that_all_took_the_same_time_have_a_histogram_too)
{
    struct step_mark steps[3];
    for (int i = 0; i < 3; i++)
        steps[i] = mark(i + 1, NS_PER_MS, i, MODE_TRAIN, false);
    const struct rank_marks rank = {"a", 0, 7, steps, 3};
    struct step_hist *h = xcalloc(MODE_N, sizeof *h); /* h is that of MODE_TRAIN */
    step_hists_of(&rank, (wall_ns){0}, (wall_ns){0}, h);
    CHECK_INT(h->count, 3);
    CHECK_INT(h->counts[0], 3);
    CHECK_INT(h->n_outliers, 0);
    free(h);
}

TEST(of_many_outliers_the_longest_are_listed_in_order_of_time)
{
    enum { N = 40000, OUTLIERS = 500 };
    struct step_mark *steps = xcalloc(N, sizeof *steps);
    struct step_hist *h = xcalloc(MODE_N, sizeof *h); /* h is that of MODE_TRAIN */
    for (int i = 0; i < N; i++)
        steps[i] = mark(i * NS_PER_S, 100 * NS_PER_MS, i, MODE_TRAIN, false);
    for (int i = 0; i < OUTLIERS; i++)
        steps[80 * i].iteration_ns = 400 * NS_PER_MS + i * 7919 % OUTLIERS * NS_PER_MS;
    const struct rank_marks rank = {"a", 0, 7, steps, N};
    step_hists_of(&rank, (wall_ns){0}, (wall_ns){0}, h);
    CHECK_INT(h->outliers_all, OUTLIERS);
    CHECK_INT(h->n_outliers, STEP_HIST_OUTLIERS);
    for (size_t i = 0; i < h->n_outliers; i++) {
        CHECK(h->outliers[i]->iteration_ns >= (400 + OUTLIERS - STEP_HIST_OUTLIERS) * NS_PER_MS);
        CHECK(i == 0 || h->outliers[i - 1]->start < h->outliers[i]->start);
    }
    free(h);
    free(steps);
}

TEST(steps_of_one_mode_that_end_within_a_pixel_are_added_up)
{
    struct step_mark steps[10];
    for (int i = 0; i < 10; i++)
        steps[i] = mark(i * 100, 60, i, i < 8 ? MODE_TRAIN : MODE_EVAL, false);
    const struct rank_marks rank = {"a", 0, 7, steps, 10};
    CHECK_INT(steps_together(&rank, 0, INT64_MAX, INT64_MAX).n, 8);
    CHECK_INT(steps_together(&rank, 0, INT64_MAX, INT64_MAX).dur_ns, 8 * 60);
    CHECK_INT(steps_together(&rank, 0, 300, INT64_MAX).n, 3);
    CHECK_INT(steps_together(&rank, 2, INT64_MAX, 261).n, 3);
    CHECK_INT(steps_together(&rank, 2, INT64_MAX, 260).n, 2);
    CHECK_INT(steps_together(&rank, 9, INT64_MAX, INT64_MAX).n, 1);
}

TEST(marks_have_the_begin_and_the_iteration_of_steps)
{
    struct arena a = {0};
    static const struct run_process process = {.pid = 7};
    struct step steps[2] = {{.number = 4, .start = {1000}, .dur_ns = 50, .between_ns = 10},
                            {.number = 5, .start = {1060}, .dur_ns = 70, .between_ns = -1}};
    const struct rank_steps rank = {&process, "a", 3, steps, 2};
    const struct rank_marks got = rank_marks_of(&rank, &a);
    CHECK_INT(got.n, 2);
    CHECK_INT(got.rank, 3);
    CHECK_INT(got.v[0].start, 1000);
    CHECK_INT(got.v[0].iteration_ns, 60);
    CHECK_INT(got.v[1].iteration_ns, 70);
    CHECK(!got.v[0].left_out);
    CHECK(got.v[1].left_out); /* the last has no iteration */
    arena_free(&a);
}
