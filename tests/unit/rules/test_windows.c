/* SPDX-License-Identifier: Apache-2.0 */
/* Windows side by side, judged by one column: class 1 below 20, class 2 above 80. */
#include "base/mem.h"
#include "rules/hist.h"
#include "rules/windows.h"
#include "test.h"

enum { WINDOW, PERIOD_MS = 100, SWEEPS = 20000 };

static unsigned classify(const struct hist *x, const struct param_value *p)
{
    (void)p;
    return hist_quantile(x, 0.5) < 20 ? 1 : hist_quantile(x, 0.5) > 80 ? 2 : 0;
}

static const struct windows_spec spec = {.columns = 1, .points = WINDOW, .classify = classify};
static const struct param_value points_50[] = {[WINDOW] = {.v = 50}};
static const struct param_value seconds_5[] = {[WINDOW] = {.v = 5e9, .is_duration = true}};

static wall_ns at[SWEEPS];
static float v[SWEEPS];

/* Window k of 50 sweeps has the value of k. */
static void fill(float (*value)(size_t window))
{
    for (size_t i = 0; i < SWEEPS; i++) {
        at[i].ns = (int64_t)i * PERIOD_MS * NS_PER_MS + 3;
        v[i] = value(i / 50);
    }
}

static void add(struct windows *w, const struct param_value *p, size_t from, size_t to)
{
    const struct rule_view c = {.p = p};
    const struct sweeps s = {.n = to - from, .at = at + from, .period_ns = PERIOD_MS * NS_PER_MS};
    const float *col = v + from;
    windows_add(w, &spec, &c, &s, &col);
}

static float in_turn(size_t window)
{
    return window % 3 == 0 ? 10 : window % 3 == 1 ? 50 : 90;
}

TEST(every_full_window_is_judged_once)
{
    struct windows w = {0};
    fill(in_turn);
    add(&w, points_50, 0, 300);
    struct windows all = windows_ended(&w, &spec, points_50, (wall_ns){0}, false);
    CHECK_INT(all.judged, 6);
    CHECK_INT(all.in_class[0], 2);
    CHECK_INT(all.in_class[1], 2);
    CHECK_INT(all.in_class[2], 2);
    windows_memory(&w, STATE_FREE);
    windows_memory(&all, STATE_FREE);
}

TEST(a_window_given_as_time_is_the_same_one)
{
    struct windows w = {0};
    fill(in_turn);
    add(&w, seconds_5, 0, 300);
    struct windows all = windows_ended(&w, &spec, seconds_5, (wall_ns){0}, false);
    CHECK_INT(all.judged, 6);
    CHECK_INT(all.in_class[1], 2);
    windows_memory(&w, STATE_FREE);
    windows_memory(&all, STATE_FREE);
}

TEST(a_window_that_is_not_full_is_not_judged)
{
    struct windows w = {0};
    fill(in_turn);
    add(&w, points_50, 0, 50 + 44); /* 45 would be nine tenths */
    struct windows all = windows_ended(&w, &spec, points_50, (wall_ns){0}, false);
    CHECK_INT(all.judged, 1);
    windows_memory(&all, STATE_FREE);
    add(&w, points_50, 94, 95);
    all = windows_ended(&w, &spec, points_50, (wall_ns){0}, false);
    CHECK_INT(all.judged, 2);
    windows_memory(&w, STATE_FREE);
    windows_memory(&all, STATE_FREE);
}

TEST(a_run_shorter_than_a_window_is_judged_by_what_there_is_when_it_has_ended)
{
    struct windows w = {0};
    fill(in_turn);
    add(&w, points_50, 0, 5);
    struct windows no = windows_ended(&w, &spec, points_50, (wall_ns){0}, false);
    struct windows yes = windows_ended(&w, &spec, points_50, (wall_ns){0}, true);
    CHECK_INT(no.judged, 0);
    CHECK_INT(yes.judged, 1);
    CHECK_INT(yes.in_class[1], 1);
    windows_memory(&w, STATE_FREE);
    windows_memory(&no, STATE_FREE);
    windows_memory(&yes, STATE_FREE);
}

TEST(a_tenth_of_a_window_is_needed)
{
    struct windows w = {0};
    fill(in_turn);
    add(&w, points_50, 0, 4);
    struct windows all = windows_ended(&w, &spec, points_50, (wall_ns){0}, true);
    CHECK_INT(all.judged, 0);
    windows_memory(&w, STATE_FREE);
    windows_memory(&all, STATE_FREE);
}

static void same(const struct windows *a, const struct windows *b)
{
    CHECK_INT(a->judged, b->judged);
    for (int k = 0; k < WINDOW_CLASSES; k++) {
        CHECK_INT(a->in_class[k], b->in_class[k]);
        CHECK_INT(a->episodes[k].n, b->episodes[k].n);
        for (uint32_t i = 0; i < a->episodes[k].n; i++)
            CHECK(memcmp(&a->episodes[k].v[i], &b->episodes[k].v[i], sizeof(struct episode)) == 0);
    }
}

static float rough(size_t window)
{
    return (float)(window * 37 % 101);
}

static void in_three(size_t n, size_t cut1, size_t cut2)
{
    struct windows whole = {0}, parts = {0};
    add(&whole, points_50, 0, n);
    if (cut1)
        add(&parts, points_50, 0, cut1);
    if (cut2 > cut1)
        add(&parts, points_50, cut1, cut2);
    if (n > cut2)
        add(&parts, points_50, cut2, n);
    struct windows a = windows_ended(&whole, &spec, points_50, (wall_ns){0}, true);
    struct windows b = windows_ended(&parts, &spec, points_50, (wall_ns){0}, true);
    same(&a, &b);
    windows_memory(&a, STATE_FREE);
    windows_memory(&b, STATE_FREE);
    windows_memory(&whole, STATE_FREE);
    windows_memory(&parts, STATE_FREE);
}

TEST(windows_are_the_same_wherever_the_sweeps_were_cut)
{
    fill(rough);
    for (size_t n = 1; n < 1200; n = n * 2 + 17)
        for (size_t cut1 = 0; cut1 <= n; cut1 += 23)
            for (size_t cut2 = cut1; cut2 <= n; cut2 += 61)
                in_three(n, cut1, cut2);
}

/* In batches, of which those that are large enough share what is made of them. */
static void add_batches(struct windows *w, const wall_ns *times, const float *col, size_t n,
                        size_t each, struct shared *shared)
{
    const struct rule_view c = {.p = points_50};
    for (size_t from = 0; from < n; from += each) {
        const size_t some = MIN_OF(n - from, each);
        const float *part = col + from;
        const struct sweeps s = {.n = some,
                                 .at = times + from,
                                 .period_ns = PERIOD_MS * NS_PER_MS,
                                 .shared = shared ? shared_begin(shared, some) : NULL};
        windows_add(w, &spec, &c, &s, &part);
    }
}

TEST(windows_inside_a_large_batch_are_judged_like_those_that_come_in_pieces)
{
    static wall_ns times[SWEEPS];
    static float col[SWEEPS];
    size_t n = 0;
    fill(rough);
    for (size_t i = 0; i < SWEEPS; i++) {
        if (i / 50 % 7 == 3 && i % 50 > i / 50 % 50) /* a window that may not be full */
            continue;
        times[n] = at[i];
        col[n++] = i % 11 == 0 ? NAN : v[i] + (float)(i % 5);
    }
    for (size_t each = 1024; each < 9000; each = each * 2 + 77) {
        struct shared *shared = shared_open();
        struct windows large = {0}, small = {0};
        add_batches(&large, times, col, n, each, shared);
        add_batches(&small, times, col, n, 33, NULL);
        struct windows a = windows_ended(&large, &spec, points_50, (wall_ns){0}, false);
        struct windows b = windows_ended(&small, &spec, points_50, (wall_ns){0}, false);
        same(&a, &b);
        CHECK(a.judged > 300 && a.in_class[1] > 10 && a.in_class[2] > 10);
        windows_memory(&a, STATE_FREE);
        windows_memory(&b, STATE_FREE);
        windows_memory(&large, STATE_FREE);
        windows_memory(&small, STATE_FREE);
        shared_close(shared);
    }
}

TEST(windows_of_another_interval_are_not_mixed_with_those_before)
{
    const struct rule_view c = {.p = points_50};
    struct windows w = {0};
    fill(in_turn);
    add(&w, points_50, 0, 50);
    /* 50 points are 50 s now, and what follows lies in the first of those windows. */
    const float *col = v;
    const struct sweeps s = {.n = 5, .at = at + 60, .period_ns = NS_PER_S};
    windows_add(&w, &spec, &c, &s, &col);
    struct windows all = windows_ended(&w, &spec, points_50, (wall_ns){0}, false);
    CHECK_INT(all.judged, 1);
    CHECK(w.last != NULL);
    windows_memory(&w, STATE_FREE);
    windows_memory(&all, STATE_FREE);
}
