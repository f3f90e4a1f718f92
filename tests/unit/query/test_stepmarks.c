/* SPDX-License-Identifier: Apache-2.0 */
/* How long steps took, and steps that follow each other: with what is known of them beforehand as
 * without. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/stepmarks.h"
#include "store/storekit.h"
#include "test.h"

/* The same marks as they are kept, with what was summed up before. */
static struct rank_marks kept_marks(const struct rank_marks *r, struct arena *a)
{
    static const struct run_process process = {.pid = 7};
    struct step *steps = arena_array(a, struct step, r->n);
    const struct rank_steps rank = {&process, "a", 0, steps, r->n};
    for (size_t i = 0; i < r->n; i++) {
        const struct step_mark *m = &r->v[i];
        steps[i] =
            (struct step){.number = m->number, .mode = m->mode, .cut = m->cut, .dur_ns = m->dur_ns};
        steps[i].start.ns = m->start;
    }
    return rank_marks_of(&rank, a);
}

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
    struct arena a = {0};
    struct step_hist *kept = arena_array(&a, struct step_hist, MODE_N);
    const struct rank_marks summed = kept_marks(&rank, &a);
    CHECK(summed.index);
    step_hists_of(&summed, (wall_ns){FROM * NS_PER_S}, (wall_ns){TO * NS_PER_S}, kept);
    for (size_t m = 0; m < MODE_N; m++) {
        CHECK_INT(kept[m].count, h[m].count);
        CHECK_INT(kept[m].outliers_all, h[m].outliers_all);
        NEAR(kept[m].outlier_from_s, h[m].outlier_from_s, 1e-9 * h[m].outlier_from_s);
        CHECK(memcmp(kept[m].counts, h[m].counts, sizeof h[m].counts) == 0);
    }
    arena_free(&a);
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

/* ---- with an index ---- */

static int64_t below(struct kit_random *r, int64_t n)
{
    return (int64_t)kit_below(r, (uint64_t)n);
}

enum { MANY = 40000 }; /* several stretches of each kind, and some behind them */

/* Stretches of one mode, then some that change from step to step; few are cut. */
static void make_many(struct step_mark *v, struct kit_random *r)
{
    int64_t at = 1000;
    for (int i = 0; i < MANY; i++) {
        const bool mixed = i / 3000 % 3 == 2;
        const int64_t usual = 80 * NS_PER_MS + below(r, 5 * NS_PER_MS);
        v[i] = (struct step_mark){
            .start = at,
            .dur_ns = below(r, 60) ? usual : usual * (2 + below(r, 2)),
            .number = i,
            .mode = mixed       ? (enum event_mode)below(r, MODE_N)
                    : i / 20000 ? MODE_EVAL
                                : MODE_TRAIN,
            .cut = below(r, 500) == 0,
        };
        v[i].iteration_ns = v[i].dur_ns;
        v[i].left_out = v[i].cut;
        at += v[i].dur_ns + below(r, NS_PER_MS);
    }
}

static void check_same(const struct step_hist *got, const struct step_hist *want)
{
    int64_t shortest = INT64_MAX;
    CHECK_INT(got->count, want->count);
    CHECK_INT(got->n, want->n);
    CHECK_INT(got->outliers_all, want->outliers_all);
    CHECK_INT(got->n_outliers, want->n_outliers);
    CHECK(memcmp(got->counts, want->counts, sizeof want->counts) == 0);
    for (size_t i = 0; i < want->n_outliers; i++)
        shortest = MIN_OF(shortest, want->outliers[i]->dur_ns);
    for (size_t i = 0; i < want->n_outliers; i++) { /* of equal ones any may be among them */
        CHECK(got->outliers[i]->dur_ns >= shortest);
        CHECK(i == 0 || got->outliers[i - 1]->start < got->outliers[i]->start);
    }
}

TEST(step_histograms_of_any_window_are_the_same_however_much_is_known_beforehand)
{
    struct arena a = {0};
    struct kit_random r = {.state = 7};
    struct rank_marks plain = {.node = "a", .pid = 7, .n = MANY};
    struct step_hist *want = arena_array(&a, struct step_hist, MODE_N),
                     *got = arena_array(&a, struct step_hist, MODE_N);
    size_t crowded = 0;
    plain.v = arena_array(&a, struct step_mark, MANY);
    make_many(plain.v, &r);
    const struct rank_marks known = kept_marks(&plain, &a);
    for (int i = 0; i < 200; i++) {
        const int64_t most = i % 2 ? MANY : MANY / 20; /* half of them are nearly everything */
        const int64_t first = i ? below(&r, most) : 0;
        const int64_t last = MANY - 1 - (i ? below(&r, MIN_OF(most, MANY - first)) : 0);
        const wall_ns from = {plain.v[first].start}, to = {plain.v[last].start + 1};
        step_hists_of(&plain, from, to, want);
        step_hists_of(&known, from, to, got);
        for (size_t m = 0; m < MODE_N; m++)
            check_same(&got[m], &want[m]);
        crowded += want[MODE_TRAIN].outliers_all > STEP_HIST_OUTLIERS;
    }
    CHECK(crowded > 10);
    arena_free(&a);
}

TEST(steps_that_follow_each_other_are_added_up_the_same_however_much_is_known_beforehand)
{
    struct arena a = {0};
    struct kit_random r = {.state = 8};
    struct rank_marks plain = {.node = "a", .pid = 7, .n = MANY};
    size_t longest = 0, shortest = MANY;
    plain.v = arena_array(&a, struct step_mark, MANY);
    make_many(plain.v, &r);
    const struct rank_marks known = kept_marks(&plain, &a);
    for (int k = 0; k < 500; k++) {
        const size_t i = (size_t)below(&r, MANY), j = (size_t)below(&r, MANY);
        const int64_t within = k % 2 ? INT64_MAX : below(&r, 300 * NS_PER_S);
        const struct steps_sum want = steps_together(&plain, i, plain.v[j].start, within),
                               got = steps_together(&known, i, plain.v[j].start, within);
        CHECK_INT(got.n, want.n);
        CHECK_INT(got.dur_ns, want.dur_ns);
        longest = MAX_OF(longest, want.n);
        shortest = MIN_OF(shortest, want.n);
    }
    CHECK(longest > 1000 && shortest == 1);
    arena_free(&a);
}
