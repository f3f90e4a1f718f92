/* SPDX-License-Identifier: Apache-2.0 */
/* Aligned columns against brute force, and histograms of percentages. */
#include "base/mem.h"
#include "query/grid.h"
#include "query/runkit.h"
#include "query/series.h"
#include "test.h"

enum { PERIOD_MS = 100, ROWS = 30000 };

struct plain {
    int64_t t[ROWS]; /* wall ns */
    double v[ROWS];
    bool there[ROWS];
};

/* A node with cpu.util of two cores; the second has gaps. Values in steps of 0.1. */
struct made {
    const char *path;
    struct plain *core[2];
};

static struct made make_run(const char *folder, uint64_t seed)
{
    struct made m = {.path = kit_run(folder, folder, folder, KIT_START)};
    struct kit_random r = {seed};
    struct buf payload = {0};
    int64_t t_us = 0, before[2] = {0, 0};
    for (int c = 0; c < 2; c++)
        m.core[c] = xcalloc(1, sizeof *m.core[c]);
    kit_group(&payload, 0, "g", PERIOD_MS * NS_PER_MS, t_us);
    kit_slot(&payload, 0, 0, "cpu.util", "%", "cpu0", 0.1);
    kit_slot(&payload, 0, 1, "cpu.util", "%", "cpu1", 0.1);
    for (unsigned i = 0; i < ROWS; i++) {
        const int64_t off = (int64_t)kit_below(&r, 200);
        kit_row(&payload, 0, off);
        t_us += PERIOD_MS * 1000 + off;
        for (int c = 0; c < 2; c++) {
            const int64_t v = i % 5000 == 17 ? 1000 : (int64_t)kit_below(&r, 300);
            m.core[c]->t[i] = KIT_START + t_us * NS_PER_US;
            m.core[c]->there[i] = c == 0 || (i / 1000) % 3 != 1;
            if (!m.core[c]->there[i]) {
                kit_gap(&payload);
                continue;
            }
            kit_cell(&payload, v - before[c]);
            before[c] = v;
            m.core[c]->v[i] = (double)v / 10;
        }
    }
    kit_node(m.path, "a", 1, "{\"id\": \"a\", \"status\": \"finished\"}");
    kit_metrics(m.path, "a", &payload);
    buf_free(&payload);
    return m;
}

static void made_free(struct made *m)
{
    free(m->core[0]);
    free(m->core[1]);
}

static struct run *open_run(const char *path)
{
    struct run *r;
    struct err e;
    OK(run_open(&r, path, &e));
    return r;
}

static struct grid fewer_of(struct run *r, int64_t span, size_t columns, uint64_t from,
                            struct arena *a)
{
    const struct series_ask which = {.metric = "cpu.util"};
    const struct grid_ask ask = {{KIT_START}, {KIT_START + span}, columns,           &which,
                                 1,           .means_only = true, .fewer_from = from};
    struct grid g;
    struct err e;
    OK(grid_read(r, &ask, a, &g, &e));
    return g;
}

static struct grid grid_of(struct run *r, int64_t from, int64_t to, size_t columns, struct arena *a)
{
    const struct series_ask which = {.metric = "cpu.util"};
    const struct grid_ask ask = {{from}, {to}, columns, &which, 1};
    struct grid g;
    struct err e;
    OK(grid_read(r, &ask, a, &g, &e));
    CHECK_INT(g.n, 2);
    CHECK_INT(g.columns, columns);
    CHECK(g.step_ns * (int64_t)columns >= to - from);
    return g;
}

/* Column by column; `slack_ns`: a sample may count for a neighbour that is so near. */
static void compare_exact(const struct grid *g, const struct grid_row *row, const struct plain *p)
{
    for (size_t c = 0; c < g->columns; c++) {
        const int64_t from = g->from.ns + (int64_t)c * g->step_ns, to = from + g->step_ns;
        double sum = 0, lo = INFINITY, hi = -INFINITY;
        size_t n = 0;
        for (size_t i = 0; i < ROWS; i++) {
            if (!p->there[i] || p->t[i] < from || p->t[i] >= to)
                continue;
            sum += p->v[i];
            lo = fmin(lo, p->v[i]);
            hi = fmax(hi, p->v[i]);
            n++;
        }
        CHECK(n ? !isnan((double)row->mean[c]) : isnan((double)row->mean[c]));
        if (n == 0)
            continue;
        NEAR((double)row->mean[c], sum / (double)n, 1e-4);
        NEAR((double)row->min[c], lo, 1e-4);
        NEAR((double)row->max[c], hi, 1e-4);
    }
}

TEST(every_sample_counts_for_the_column_it_lies_in)
{
    struct made m = make_run("fine", 1);
    struct run *r = open_run(m.path);
    const int64_t begin = m.core[0]->t[0];
    static const int64_t widths_s[] = {20, 100, 200};
    for (size_t i = 0; i < COUNT_OF(widths_s); i++) {
        struct arena a = {0};
        const int64_t from = begin + 90 * NS_PER_S + 12345 * NS_PER_US;
        const struct grid g = grid_of(r, from, from + widths_s[i] * NS_PER_S, 137, &a);
        for (int c = 0; c < 2; c++)
            compare_exact(&g, &g.rows[c], m.core[c]);
        arena_free(&a);
    }
    run_close(r);
    made_free(&m);
}

/* From the width on at which summaries are used (42 samples of a regular block), down to just below
 * it. */
TEST(no_width_of_columns_leaves_one_empty_where_samples_were_taken)
{
    struct made m = make_run("holes", 3);
    struct run *r = open_run(m.path);
    const int64_t from = m.core[0]->t[0], span = m.core[0]->t[ROWS - 1] + 1 - from;
    for (size_t columns = ROWS / 60; columns < ROWS / 38; columns += 3) {
        struct arena a = {0};
        const struct grid g = grid_of(r, from, from + span, columns, &a);
        for (size_t c = 0; c < columns && from + (int64_t)c * g.step_ns < from + span; c++)
            CHECK(!isnan((double)g.rows[0].mean[c]));
        arena_free(&a);
    }
    run_close(r);
    made_free(&m);
}

TEST(means_alone_are_the_means_that_come_with_their_ends)
{
    struct made m = make_run("alone", 4);
    struct run *r = open_run(m.path);
    const int64_t from = m.core[0]->t[0], to = m.core[0]->t[ROWS - 1] + 1;
    static const size_t columns[] = {50, 400, 1000};
    for (size_t i = 0; i < COUNT_OF(columns); i++) {
        struct arena a = {0};
        const struct grid both = grid_of(r, from, to, columns[i], &a);
        const struct series_ask which = {.metric = "cpu.util"};
        const struct grid_ask ask = {{from}, {to}, columns[i], &which, 1, .means_only = true};
        struct grid means;
        struct err e;
        OK(grid_read(r, &ask, &a, &means, &e));
        for (size_t k = 0; k < 2; k++) {
            CHECK(!means.rows[k].min && !means.rows[k].max);
            CHECK(memcmp(means.rows[k].mean, both.rows[k].mean,
                         columns[i] * sizeof *means.rows[k].mean) == 0);
        }
        arena_free(&a);
    }
    run_close(r);
    made_free(&m);
}

/* Wide columns are made of summaries: a bucket at an edge may count for the neighbour, but nothing
 * is lost and no spike is averaged away. */
TEST(wide_columns_keep_every_sample_and_every_spike)
{
    struct made m = make_run("wide", 2);
    struct run *r = open_run(m.path);
    const int64_t from = m.core[0]->t[0], to = m.core[0]->t[ROWS - 1] + 1;
    static const size_t columns[] = {1, 7, 60};
    for (size_t i = 0; i < COUNT_OF(columns); i++) {
        struct arena a = {0};
        const struct grid g = grid_of(r, from, to, columns[i], &a);
        double max = 0, min = 100, mean = 0, real = 0;
        for (size_t c = 0; c < g.columns; c++) {
            CHECK(!isnan((double)g.rows[0].mean[c]));
            CHECK(g.rows[0].min[c] <= g.rows[0].mean[c] && g.rows[0].mean[c] <= g.rows[0].max[c]);
            max = fmax(max, (double)g.rows[0].max[c]);
            min = fmin(min, (double)g.rows[0].min[c]);
            mean += (double)g.rows[0].mean[c] / (double)g.columns;
        }
        for (size_t k = 0; k < ROWS; k++)
            real += m.core[0]->v[k] / ROWS;
        NEAR(max, 100, 1e-3);
        NEAR(min, 0, 1e-3);
        NEAR(mean, real, 0.2);
        NEAR(grid_row_mean(&g.rows[0]), real, 1e-9);
        CHECK_INT(g.rows[0].count, ROWS);
        const struct grid_row both = grid_mean(&g, 0, &a);
        NEAR(both.sum, g.rows[0].sum + g.rows[1].sum, 1e-6);
        CHECK_INT(both.count, g.rows[0].count + g.rows[1].count);
        arena_free(&a);
    }
    run_close(r);
    made_free(&m);
}

TEST(a_window_outside_the_data_is_empty_and_one_that_ends_before_it_begins_is_refused)
{
    struct made m = make_run("outside", 3);
    struct run *r = open_run(m.path);
    struct arena a = {0};
    const struct grid g = grid_of(r, KIT_START - 50 * NS_PER_S, KIT_START - NS_PER_S, 10, &a);
    for (size_t c = 0; c < 10; c++)
        CHECK(isnan((double)g.rows[0].mean[c]));
    struct grid none;
    struct err e;
    const struct grid_ask backwards = {{KIT_START + 5}, {KIT_START}, 10, NULL, 0};
    CHECK_INT(grid_read(r, &backwards, &a, &none, &e), ERR_USAGE);
    arena_free(&a);
    run_close(r);
    made_free(&m);
}

TEST(the_mean_of_all_entities_is_that_of_those_that_have_a_sample)
{
    struct made m = make_run("mean", 4);
    struct run *r = open_run(m.path);
    struct arena a = {0};
    const int64_t from = m.core[0]->t[1500]; /* the second core has a gap here */
    const struct grid g = grid_of(r, from, from + NS_PER_S, 3, &a);
    const struct grid_row mean = grid_mean(&g, 0, &a);
    CHECK(isnan((double)g.rows[1].mean[0]));
    NEAR((double)mean.mean[0], (double)g.rows[0].mean[0], 1e-6);
    const int64_t both = m.core[0]->t[100];
    const struct grid h = grid_of(r, both, both + 3 * NS_PER_S, 3, &a);
    const struct grid_row of_two = grid_mean(&h, 0, &a);
    NEAR((double)of_two.mean[1], ((double)h.rows[0].mean[1] + (double)h.rows[1].mean[1]) / 2, 1e-4);
    NEAR((double)of_two.max[1], fmax((double)h.rows[0].max[1], (double)h.rows[1].max[1]), 0);
    arena_free(&a);
    run_close(r);
    made_free(&m);
}

static void compare_bins(const struct devhist *h, const struct plain *p, int64_t from, int64_t to)
{
    uint64_t bins[DEVHIST_BINS] = {0}, n = 0;
    for (size_t i = 0; i < ROWS; i++) {
        if (!p->there[i] || p->t[i] < from || p->t[i] >= to)
            continue;
        bins[(size_t)floor(p->v[i])]++;
        n++;
    }
    CHECK_INT(h->count, n);
    for (size_t i = 0; i < DEVHIST_BINS; i++)
        CHECK_INT(h->bins[i], bins[i]);
}

TEST(histograms_count_every_sample_of_the_window_once)
{
    struct made m = make_run("hist", 5);
    struct run *r = open_run(m.path);
    const int64_t windows[][2] = {{m.core[0]->t[0], m.core[0]->t[ROWS - 1] + 1},
                                  {m.core[0]->t[777], m.core[0]->t[28000]}};
    for (size_t w = 0; w < COUNT_OF(windows); w++) {
        struct arena a = {0};
        const struct series_ask ask = {
            .metric = "cpu.util", .from = {windows[w][0]}, .to = {windows[w][1]}};
        struct devhist *h;
        struct err e;
        size_t n;
        OK(devhist_read(r, &ask, &a, &h, &n, &e));
        CHECK_INT(n, 2);
        for (int c = 0; c < 2; c++)
            compare_bins(&h[c], m.core[c], windows[w][0], windows[w][1]);
        CHECK(h[0].bins[100] > 0); /* 100 % is in the last bin */
        arena_free(&a);
    }
    run_close(r);
    made_free(&m);
}

/* Summaries are of 40 samples of 100 ms: in columns of 4.2 s there is one of them in each. */
TEST(columns_may_be_fewer_by_a_third_where_summaries_can_be_read_then)
{
    struct made m = make_run("r", 5);
    struct run *r = open_run(m.path);
    struct arena a = {0};
    const struct {
        size_t asked, given;
    } cases[] = {{300, 300}, {595, 595}, {600, 595}, {890, 595}, {900, 900}, {2000, 2000}, {1, 1}};
    const int64_t span = 2500 * NS_PER_S;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct grid g = fewer_of(r, span, cases[i].asked, 1, &a);
        const struct grid same = grid_of(r, KIT_START, KIT_START + span, cases[i].given, &a);
        CHECK_INT(g.columns, cases[i].given);
        CHECK_INT(g.step_ns, same.step_ns);
        for (size_t row = 0; row < g.n; row++)
            CHECK(memcmp(g.rows[row].mean, same.rows[row].mean, g.columns * sizeof(float)) == 0);
    }
    CHECK_INT(fewer_of(r, span, 600, 50000, &a).columns, 595); /* two cores, 25 000 samples each */
    CHECK_INT(fewer_of(r, span, 600, 50001, &a).columns, 600);
    arena_free(&a);
    run_close(r);
    made_free(&m);
}

TEST(a_window_without_samples_has_the_columns_that_were_asked_for)
{
    struct made m = make_run("r", 6);
    struct run *r = open_run(m.path);
    struct arena a = {0};
    const struct series_ask which = {.metric = "cpu.util"};
    const struct grid_ask ask = {
        {KIT_START - 2500 * NS_PER_S}, {KIT_START - 100}, 590, &which, 1, .fewer_from = 1};
    struct grid g;
    struct err e;
    OK(grid_read(r, &ask, &a, &g, &e));
    CHECK_INT(g.columns, 590);
    arena_free(&a);
    run_close(r);
    made_free(&m);
}
