/* SPDX-License-Identifier: Apache-2.0 */
/* A against B is the inverse of B against A: opposite verdicts, inverse bounds. */
#include "compare/compare.h"
#include "test.h"
#include "walks.h"

enum { STEPS_MOST = 450, RUNS = 3, SCENE = 135 };

/* Iterations in milliseconds of a training that waits for two and for six workers; two checkpoints
 * in each. The second takes 42 % less. */
static const double two_workers[SCENE] = {
    42.4, 22.2, 49.0, 29.7, 57.7,  32.0,  41.9, 36.7, 35.6, 40.5,  39.1,  44.1, 33.2, 36.7, 39.1,
    54.7, 31.4, 35.1, 38.3, 68.6,  27.4,  52.6, 25.9, 50.1, 25.5,  54.7,  24.3, 57.6, 22.1, 44.1,
    30.2, 40.9, 41.1, 50.8, 129.1, 188.5, 24.9, 30.1, 23.4, 41.6,  22.3,  47.5, 24.2, 52.2, 23.4,
    49.4, 40.3, 44.1, 32.8, 78.2,  26.6,  47.2, 30.5, 48.2, 27.9,  54.5,  25.6, 50.1, 26.9, 52.6,
    30.9, 48.9, 39.4, 56.7, 21.9,  54.0,  16.4, 68.2, 18.2, 54.7,  22.9,  56.8, 14.0, 59.6, 15.5,
    69.7, 16.4, 71.2, 18.4, 62.9,  20.1,  66.0, 23.5, 46.7, 109.5, 132.9, 15.7, 41.7, 15.3, 66.7,
    18.9, 71.4, 21.1, 53.4, 15.6,  64.0,  22.1, 50.5, 20.9, 61.5,  19.2,  55.2, 20.1, 45.9, 16.8,
    56.6, 23.4, 53.8, 15.1, 54.6,  25.1,  73.9, 23.7, 51.3, 14.5,  62.4,  13.6, 70.3, 19.2, 58.9,
    17.9, 55.7, 12.6, 65.5, 13.7,  61.3,  20.4, 74.8, 19.2, 47.7,  17.6,  53.1, 19.7, 49.9, 26.4};
static const double six_workers[SCENE] = {
    24.3, 20.4, 20.9, 14.7, 25.2,  20.3,  26.6, 24.3, 20.3, 17.7,  17.0,  20.0, 26.4, 19.5, 19.2,
    18.7, 20.7, 35.3, 19.4, 22.5,  24.0,  22.5, 24.8, 22.4, 24.0,  36.0,  18.3, 14.5, 18.3, 22.1,
    21.4, 22.4, 20.0, 24.8, 184.9, 167.0, 38.5, 28.4, 32.1, 28.3,  29.8,  28.6, 27.6, 25.4, 25.6,
    23.8, 27.8, 23.1, 18.8, 25.7,  19.1,  14.8, 15.7, 16.9, 17.1,  20.5,  16.2, 15.6, 15.3, 14.3,
    14.9, 15.4, 14.7, 14.7, 14.4,  14.2,  18.5, 13.5, 16.4, 16.3,  15.2,  16.1, 19.4, 27.2, 20.8,
    16.0, 15.9, 17.5, 20.1, 17.8,  26.2,  17.5, 17.6, 18.0, 308.7, 143.5, 16.5, 23.2, 13.1, 12.7,
    13.1, 16.0, 21.8, 19.5, 16.9,  17.4,  16.9, 16.6, 18.7, 18.3,  16.4,  27.7, 37.4, 17.5, 19.0,
    18.8, 12.5, 15.1, 13.4, 12.5,  12.3,  11.5, 15.1, 12.4, 15.8,  13.5,  13.2, 12.4, 13.7, 12.2,
    14.2, 12.7, 13.0, 12.8, 16.6,  11.3,  11.5, 20.9, 11.1, 11.1,  11.9,  11.8, 11.9, 13.6, 11.1};

/* Within rounding. */
static void check_inverse(const struct diff_interval *v, const struct diff_interval *w)
{
    NEAR(log1p(v->at), -log1p(w->at), 1e-9);
    NEAR(log1p(v->low), -log1p(w->high), 1e-9);
    NEAR(log1p(v->high), -log1p(w->low), 1e-9);
    CHECK((v->low > 0) == (w->high < 0) && (v->high < 0) == (w->low > 0));
}

/* Means, what is made of them with one run a side, and medians. */
static void check_swapped(const struct stepdiff_ask *ask)
{
    struct stepdiff_ask swapped = *ask;
    struct stepdiff d, e;
    struct diff_interval m, n;
    swapped.a = ask->b;
    swapped.b = ask->a;
    stepdiff_means(ask, &d);
    stepdiff_means(&swapped, &e);
    check_inverse(&d.share, &e.share);
    NEAR(d.diff.at, -e.diff.at, 1e-9);
    NEAR(d.diff.low, -e.diff.high, 1e-9);
    NEAR(d.diff.high, -e.diff.low, 1e-9);
    const struct diff_interval v = runspread_widen(d.share, 0.15),
                               w = runspread_widen(e.share, 0.15);
    check_inverse(&v, &w);
    stepdiff_medians(ask, &m);
    stepdiff_medians(&swapped, &n);
    check_inverse(&m, &n);
}

static struct stepdiff_ask ask_of(const double *const *a, size_t n_a, const double *const *b,
                                  size_t n_b, size_t steps)
{
    return (struct stepdiff_ask){
        .a = {a, n_a}, .b = {b, n_b}, .steps = steps, .confidence = 0.95, .seed = 1};
}

TEST(swapped_runs_of_any_kind_and_length_give_the_inverse)
{
    static const size_t lengths[] = {10, 12, 45, 180, STEPS_MOST};
    static const double spreads[] = {0.05, 0.15};
    double a[STEPS_MOST], b[STEPS_MOST];
    const double *const runs[] = {a, b};
    uint64_t state = 1;
    for (int k = 0; k < 600; k++) {
        const size_t n = lengths[k % 5];
        const enum walk kind_a = (enum walk)(k % WALKS), kind_b = (enum walk)(k / 7 % WALKS);
        const double more = exp(walk_normal(&state));
        walk_fill(kind_a, spreads[k % 2], a, n, &state);
        walk_fill(kind_b, spreads[k % 2], b, n, &state);
        for (size_t i = 0; i < n; i++) { /* no step takes less than no time */
            a[i] = fmax(a[i], 1e-3);
            b[i] = fmax(b[i], 1e-3) * more;
        }
        const struct stepdiff_ask ask = ask_of(&runs[0], 1, &runs[1], 1, n);
        check_swapped(&ask);
    }
}

TEST(swapped_groups_of_runs_give_the_inverse)
{
    enum { N = 60 };
    double a[RUNS][N], b[RUNS][N];
    const double *runs_a[RUNS], *runs_b[RUNS];
    uint64_t state = 2;
    for (int k = 0; k < 200; k++) {
        for (size_t i = 0; i < RUNS; i++) {
            const double of_a = exp(0.1 * walk_normal(&state)),
                         of_b = exp(0.3 + 0.1 * walk_normal(&state));
            walk_fill(WALK_LOGNORMAL, 0.2, a[i], N, &state);
            walk_fill(WALK_AR5, 0.05, b[i], N, &state);
            for (size_t s = 0; s < N; s++) {
                a[i][s] *= of_a;
                b[i][s] *= of_b;
            }
            runs_a[i] = a[i];
            runs_b[i] = b[i];
        }
        const struct stepdiff_ask ask = ask_of(runs_a, 1 + (size_t)k % RUNS, runs_b, RUNS, N);
        check_swapped(&ask);
    }
}

TEST(a_training_that_waits_for_its_data_is_called_slower_in_one_order_and_faster_in_the_other)
{
    const double *const runs[] = {six_workers, two_workers};
    const struct stepdiff_ask ask = ask_of(&runs[0], 1, &runs[1], 1, SCENE);
    struct stepdiff d;
    check_swapped(&ask);
    stepdiff_means(&ask, &d);
    NEAR(d.share.at, 0.73, 0.01);
    CHECK(runspread_widen(d.share, 0.15).low > 0.02); /* a gate of 2 % closes */
    CHECK(d.share.high < 2);
}
