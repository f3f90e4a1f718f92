/* SPDX-License-Identifier: Apache-2.0 */
/* Samples in memory of the caller are what series_read gives one by one. */
#include <stdlib.h>

#include "base/mem.h"
#include "query/runkit.h"
#include "query/samples.h"
#include "test.h"

enum { ROWS = 500, CORES = 40 };

/* Cores of small numbers, some with gaps, and one series of wide numbers that begins late. */
static struct run *make_run(void)
{
    struct run *r;
    struct err e;
    struct buf b = {0};
    const char *path = kit_run("r", "r", "r", KIT_START);
    kit_group(&b, 0, "cpu", 100 * NS_PER_MS, 0);
    for (unsigned i = 0; i < CORES; i++) {
        char name[16];
        snprintf(name, sizeof name, "cpu%u", i);
        kit_slot(&b, 0, i, "cpu.util", "%", name, 0.1);
    }
    kit_group(&b, 1, "mem", 100 * NS_PER_MS, 0);
    kit_slot(&b, 1, 0, "mem.used", "B", "total", 1);
    for (int64_t i = 0; i < ROWS; i++) {
        kit_row(&b, 0, 0);
        for (int64_t c = 0; c < CORES; c++)
            if (c % 3 == 1 && i % 7 == c % 7)
                kit_gap(&b);
            else
                kit_cell(&b, (i * 13 + c) % 1001);
        kit_row(&b, 1, 0);
        if (i < 10)
            kit_gap(&b);
        else
            kit_cell(&b, i * 1000000007);
    }
    kit_metrics(path, "n", &b);
    kit_node(path, "n", 1, "{}");
    buf_free(&b);
    OK(run_open(&r, path, &e));
    return r;
}

static void check_same(const struct series_ask *ask)
{
    struct run *r = make_run();
    struct arena a = {0};
    struct samples *s;
    struct series *v;
    struct err e;
    size_t n;
    OK(samples_open(&s, r, ask, &e));
    OK(series_read(r, ask, &a, &v, &n, &e));
    int64_t *t = xcalloc(samples_total(s) + 1, sizeof *t);
    double *x = xcalloc(samples_total(s) + 1, sizeof *x);
    samples_fill(s, t, x, NULL, NULL);
    CHECK_INT(samples_series(s), n);
    uint64_t at = 0;
    for (size_t i = 0; i < n; i++) {
        CHECK_STR(samples_key(s, i)->entity, v[i].key.entity);
        CHECK_INT(samples_count(s, i), v[i].n);
        for (size_t k = 0; k < v[i].n; k++, at++) {
            CHECK_INT(t[at], v[i].t[k].ns);
            CHECK(x[at] == v[i].v[k]);
        }
    }
    CHECK_INT(at, samples_total(s));
    free(t);
    free(x);
    samples_close(s);
    run_close(r);
    arena_free(&a);
}

TEST(all_samples_of_all_series)
{
    check_same(&(struct series_ask){0});
}

TEST(one_metric_and_one_entity)
{
    check_same(&(struct series_ask){.metric = "cpu.util", .entity = "cpu4"});
    check_same(&(struct series_ask){.metric = "mem.", .node = "n"});
}

TEST(a_window_cuts_columns_with_gaps_too)
{
    for (int64_t from = 0; from < 60; from += 7)
        check_same(&(struct series_ask){.from = {KIT_START + from * 350 * NS_PER_MS},
                                        .to = {KIT_START + from * 900 * NS_PER_MS}});
}

TEST(nothing_is_fine_too)
{
    check_same(&(struct series_ask){.metric = "no.such"});
    check_same(&(struct series_ask){.from = {KIT_START + 3600 * (int64_t)NS_PER_S}});
}

struct calls {
    uint64_t n, rows;
};

static void count_call(void *to, size_t series, uint64_t first, uint64_t count)
{
    struct calls *c = to;
    (void)series, (void)first;
    __atomic_fetch_add(&c->n, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&c->rows, count, __ATOMIC_RELAXED);
}

TEST(every_series_is_told_once)
{
    struct run *r = make_run();
    struct samples *s;
    struct calls c = {0};
    struct err e;
    OK(samples_open(&s, r, &(struct series_ask){0}, &e));
    int64_t *t = xcalloc(samples_total(s), sizeof *t);
    double *x = xcalloc(samples_total(s), sizeof *x);
    samples_fill(s, t, x, count_call, &c);
    CHECK_INT(c.n, CORES + 1);
    CHECK_INT(c.rows, samples_total(s));
    free(t);
    free(x);
    samples_close(s);
    run_close(r);
}
