/* SPDX-License-Identifier: Apache-2.0 */
/* Series in lockstep against who sees the same rows one by one, as a recorder does. */
#include <math.h>

#include "base/mem.h"
#include "query/columns.h"
#include "query/recordkit.h"
#include "record/group.h"
#include "test.h"

enum { CORES = 5, MOST = 60000, PERIOD_MS = 100 };

/* ---- the grid ---- */

TEST(rows_of_one_tick_are_one_sweep_whoever_comes_first)
{
    struct sweepgrid g = {0};
    CHECK(sweepgrid_row(&g, 0, 1000000, 100000));
    CHECK(!sweepgrid_row(&g, 1, 1003000, 100000));
    CHECK(sweepgrid_row(&g, 1, 1099000, 100000));
    CHECK(!sweepgrid_row(&g, 0, 1101000, 100000));
    CHECK_INT(g.at_us, 1099000);
}

TEST(a_group_that_is_late_and_then_on_time_has_a_sweep_for_each_row)
{
    struct sweepgrid g = {0};
    CHECK(sweepgrid_row(&g, 0, 1000000, 100000));
    CHECK(sweepgrid_row(&g, 0, 1165000, 100000));
    CHECK(!sweepgrid_row(&g, 1, 1166000, 100000));
    CHECK(sweepgrid_row(&g, 0, 1200000, 100000));
    CHECK(!sweepgrid_row(&g, 1, 1201000, 100000));
}

TEST(groups_half_a_period_apart_share_their_sweeps)
{
    struct sweepgrid g = {0};
    for (int64_t k = 0; k < 50; k++) {
        CHECK(sweepgrid_row(&g, 0, k * 100000 + (k % 3) * 1000, 100000));
        CHECK(!sweepgrid_row(&g, 1, k * 100000 + 50000 - (k % 2) * 2000, 100000));
    }
}

/* ---- what a feeder of single rows makes ---- */

enum { A_TOTAL, A_PEAK, A_GPU0, A_GPU1, A_PSI, A_RX, A_RX_PEAK, A_NONE, ASKS };

static const struct column_ask asks[ASKS] = {
    [A_TOTAL] = {"cpu.util", COLUMN_TOTAL, NULL},   [A_PEAK] = {"cpu.util", COLUMN_PEAK, NULL},
    [A_GPU0] = {"gpu.util", COLUMN_ENTITY, "gpu0"}, [A_GPU1] = {"gpu.util", COLUMN_ENTITY, "gpu1"},
    [A_PSI] = {"psi.io.some", COLUMN_ONLY, NULL},   [A_RX] = {"net.rx", COLUMN_TOTAL, NULL},
    [A_RX_PEAK] = {"net.rx", COLUMN_PEAK, NULL},    [A_NONE] = {"gpu.temp", COLUMN_ENTITY, "gpu0"},
};

struct plain {
    size_t n;
    int64_t at_us[MOST], period_ms[MOST];
    bool begins_batch[MOST]; /* at the latest there */
    float v[ASKS][MOST];
};

enum { G_CPU, G_GPU, G_PSI, G_NET, GROUPS };

struct feeder {
    struct kit_random random;
    struct recordkit kit;
    struct group group[GROUPS];
    slot_id core[CORES], gpu[2], psi, nic[2];
    struct sweepgrid grid;
    struct plain *out;
    int64_t period_ms;
    bool fresh;         /* a new recorder or period */
    bool gaps;          /* a core may be missing */
    int64_t low[CORES]; /* what a core never falls below: another base of its bytes */
};

static void open_groups(struct feeder *f)
{
    static const char *const names[GROUPS] = {"cpu", "gpu", "psi", "net"};
    for (int i = 0; i < GROUPS; i++)
        group_open(&f->group[i], names[i], (i == G_PSI ? 10 : 1) * f->period_ms * NS_PER_MS);
    for (int i = 0; i < CORES; i++) {
        char name[16];
        snprintf(name, sizeof name, "cpu%d", i);
        f->core[i] = group_add(&f->group[G_CPU], M_CPU_UTIL, name);
    }
    f->gpu[0] = group_add(&f->group[G_GPU], M_GPU_UTIL, "gpu0");
    f->gpu[1] = group_add(&f->group[G_GPU], M_GPU_UTIL, "gpu1");
    f->psi = group_add(&f->group[G_PSI], M_PSI_IO_SOME, "node");
    f->nic[0] = group_add(&f->group[G_NET], M_NET_RX, "eth0");
    f->nic[1] = group_add(&f->group[G_NET], M_NET_RX, "eth1");
}

static float *slot_of(struct feeder *f, unsigned group, int64_t t_us)
{
    struct plain *p = f->out;
    if (sweepgrid_row(&f->grid, group, t_us, f->period_ms * 1000)) {
        CHECK(p->n < MOST);
        p->at_us[p->n] = t_us;
        p->period_ms[p->n] = f->period_ms;
        p->begins_batch[p->n] = f->fresh;
        f->fresh = false;
        for (int k = 0; k < ASKS; k++)
            p->v[k][p->n] = NAN;
        p->n++;
    }
    return &p->v[0][p->n - 1];
}

static void set(float *slot, int ask, double v)
{
    slot[(size_t)ask * MOST] = (float)v;
}

static void commit(struct feeder *f, unsigned group, int64_t t_us)
{
    group_commit(&f->group[group], writer_sink(f->kit.metrics), (mono_ns){t_us * NS_PER_US});
}

static void cpu_row(struct feeder *f, int64_t t_us)
{
    float *slot = slot_of(f, G_CPU, t_us);
    double sum = 0, most = 0;
    int n = 0;
    for (int i = 0; i < CORES; i++) {
        if (f->gaps && kit_below(&f->random, 50) == 0)
            continue;
        const double step = f->group[G_CPU].slots[f->core[i]].step;
        const int64_t cell = f->low[i] + (int64_t)kit_below(&f->random, 4);
        f->group[G_CPU].cells[f->core[i]] = cell;
        sum += (double)cell * step;
        most = fmax(most, (double)cell * step);
        n++;
    }
    set(slot, A_TOTAL, sum / n);
    set(slot, A_PEAK, most);
    commit(f, G_CPU, t_us);
}

static void gpu_row(struct feeder *f, int64_t t_us)
{
    float *slot = slot_of(f, G_GPU, t_us);
    for (int i = 0; i < 2; i++) {
        if (i == 1 && kit_below(&f->random, 5) == 0)
            continue;
        const int64_t v = (int64_t)kit_below(&f->random, 100);
        f->group[G_GPU].cells[f->gpu[i]] = v;
        set(slot, A_GPU0 + i, (double)v);
    }
    commit(f, G_GPU, t_us);
}

static void psi_row(struct feeder *f, int64_t t_us)
{
    float *slot = slot_of(f, G_PSI, t_us);
    const int64_t v = (int64_t)kit_below(&f->random, 1000);
    f->group[G_PSI].cells[f->psi] = v;
    set(slot, A_PSI, (double)v / 10);
    commit(f, G_PSI, t_us);
}

static void net_row(struct feeder *f, int64_t t_us)
{
    float *slot = slot_of(f, G_NET, t_us);
    double sum = 0, most = 0;
    for (int i = 0; i < 2; i++) {
        const int64_t v = (int64_t)kit_below(&f->random, i ? 1 << 30 : 50);
        const double x = (double)v * f->group[G_NET].slots[f->nic[i]].step;
        f->group[G_NET].cells[f->nic[i]] = v;
        sum += x;
        most = fmax(most, x);
    }
    set(slot, A_RX, sum);
    set(slot, A_RX_PEAK, most);
    commit(f, G_NET, t_us);
}

/* Rows in order of time, each tick in another order, with pauses and late ones. */
static int64_t feed_ticks(struct feeder *f, int64_t t_us, int n)
{
    static void (*const row[GROUPS])(struct feeder *, int64_t) = {cpu_row, gpu_row, psi_row,
                                                                  net_row};
    struct err e;
    for (int k = 0; k < n; k++) {
        const unsigned first = (unsigned)kit_below(&f->random, GROUPS);
        int64_t at = t_us + (int64_t)kit_below(&f->random, 900);
        for (unsigned i = 0; i < GROUPS; i++) {
            const unsigned g = (first + i) % GROUPS;
            if ((g == G_PSI && k % 10) || (g == G_GPU && kit_below(&f->random, 300) == 0))
                continue;
            row[g](f, at);
            at += 1 + (int64_t)kit_below(&f->random, 1500);
        }
        t_us += f->period_ms * 1000;
        if (kit_below(&f->random, 400) == 0)
            t_us += (int64_t)kit_below(&f->random, 3000) * 1000;
        if (k % 500 == 0)
            OK(writer_flush(f->kit.metrics, false, &e));
    }
    return t_us;
}

static int64_t record(struct feeder *f, const char *run, int64_t from_us, int ticks)
{
    f->kit = recordkit_open(run, "n1");
    f->grid = (struct sweepgrid){0};
    f->fresh = true;
    open_groups(f);
    int64_t t = feed_ticks(f, from_us, ticks);
    f->period_ms *= 5;
    for (int i = 0; i < GROUPS; i++)
        group_set_period(&f->group[i], (i == G_PSI ? 10 : 1) * f->period_ms * NS_PER_MS);
    f->fresh = true;
    t = feed_ticks(f, t + f->period_ms * 1000, ticks / 5);
    f->period_ms /= 5;
    for (int i = 0; i < GROUPS; i++)
        group_close(&f->group[i]);
    recordkit_close(&f->kit, from_us * 1000, t * 1000, "finished");
    return t;
}

static bool same(float a, float b)
{
    return isnan(a) ? isnan(b) : fabsf(a - b) <= 1e-6f * fabsf(b);
}

static size_t compare_batch(const struct plain *p, size_t at, const struct column_batch *b)
{
    CHECK(at + b->n <= p->n);
    for (size_t i = 0; i < b->n; i++) {
        CHECK_INT(b->at[i].ns, KIT_START + p->at_us[at + i] * 1000);
        CHECK_INT(b->period_ns, p->period_ms[at + i] * NS_PER_MS);
        CHECK(i == 0 || !p->begins_batch[at + i]);
        for (int k = 0; k < ASKS; k++)
            if (b->v[k])
                CHECK(same(b->v[k][i], p->v[k][at + i]));
    }
    for (int k = 0; k < ASKS; k++)
        CHECK((b->v[k] == NULL) == (k == A_NONE));
    return at + b->n;
}

static void compare(const char *path, const struct plain *p)
{
    struct column_batch b;
    struct columns *c;
    struct run *r;
    struct err e;
    size_t at = 0;
    OK(run_open(&r, path, &e));
    OK(columns_open(&c, r, "n1", asks, ASKS, &e));
    while (columns_next(c, &b))
        at = compare_batch(p, at, &b);
    CHECK_INT(at, p->n);
    CHECK(!columns_next(c, &b));
    columns_close(c);
    run_close(r);
}

static void compare_random(uint64_t seed, int ticks)
{
    struct feeder f = {.random = {seed}, .period_ms = PERIOD_MS};
    const char *run = kit_run("run", "run", "run", KIT_START);
    f.out = xcalloc(1, sizeof *f.out);
    for (int i = 0; i < CORES; i++)
        f.low[i] = (int64_t)kit_below(&f.random, 7);
    const int64_t t = record(&f, run, 5000000, ticks);
    f.gaps = true;
    record(&f, run, t + 60000000, ticks / 2);
    compare(run, f.out);
    free(f.out);
}

TEST(sweeps_of_the_files_are_those_of_who_saw_row_by_row)
{
    compare_random(1, 300);
}

TEST(sweeps_over_many_batches_and_blocks_are_the_same)
{
    compare_random(2, 21000);
}

/* ---- the rest ---- */

TEST(a_node_that_is_not_there_is_refused)
{
    const char *path = kit_run("run", "run", "run", KIT_START);
    struct recordkit k = recordkit_open(path, "n1");
    struct columns *c;
    struct run *r;
    struct err e;
    recordkit_close(&k, 0, 1, "finished");
    OK(run_open(&r, path, &e));
    CHECK_INT(columns_open(&c, r, "n2", asks, ASKS, &e), ERR_NOT_FOUND);
    CHECK_STR(e.msg, "run 'run' has no node 'n2'");
    run_close(r);
}

TEST(a_node_that_recorded_nothing_has_no_batch)
{
    const char *path = kit_run("run", "run", "run", KIT_START);
    struct recordkit k = recordkit_open(path, "n1");
    struct column_batch b;
    struct columns *c;
    struct run *r;
    struct err e;
    recordkit_close(&k, 0, 1, "finished");
    OK(run_open(&r, path, &e));
    OK(columns_open(&c, r, "n1", asks, ASKS, &e));
    CHECK(!columns_next(c, &b));
    columns_close(c);
    run_close(r);
}

TEST(a_total_that_was_recorded_is_taken_and_not_counted_among_the_parts)
{
    const char *path = kit_run("run", "run", "run", KIT_START);
    struct recordkit k = recordkit_open(path, "n1");
    struct group g;
    struct column_batch b;
    struct columns *c;
    struct run *r;
    struct err e;
    group_open(&g, "cpu", PERIOD_MS * NS_PER_MS);
    const slot_id total = group_add(&g, M_CPU_UTIL, ENTITY_TOTAL);
    const slot_id core = group_add(&g, M_CPU_UTIL, "cpu0");
    for (int i = 0; i < 3; i++) {
        g.cells[total] = 7;
        g.cells[core] = i;
        group_commit(&g, writer_sink(k.metrics), (mono_ns){(i + 1) * PERIOD_MS * NS_PER_MS});
    }
    group_close(&g);
    recordkit_close(&k, 0, NS_PER_S, "finished");
    OK(run_open(&r, path, &e));
    OK(columns_open(&c, r, "n1", asks, ASKS, &e));
    CHECK(columns_next(c, &b));
    CHECK_INT(b.n, 3);
    NEAR(b.v[A_TOTAL][2], 70, 1e-4);
    NEAR(b.v[A_PEAK][2], 20, 1e-4);
    columns_close(c);
    run_close(r);
}

TEST(a_series_that_disappears_and_comes_back_has_all_its_values)
{
    const char *path = kit_run("run", "run", "run", KIT_START);
    struct recordkit k = recordkit_open(path, "n1");
    struct group g;
    struct column_batch b;
    struct columns *c;
    struct run *r;
    struct err e;
    group_open(&g, "gpu", PERIOD_MS * NS_PER_MS);
    const slot_id other = group_add(&g, M_GPU_UTIL, "gpu1");
    slot_id gpu = group_add(&g, M_GPU_UTIL, "gpu0");
    for (int i = 0; i < 6; i++) {
        if (i == 2)
            group_drop(&g, gpu);
        if (i == 4)
            gpu = group_add(&g, M_GPU_UTIL, "gpu0");
        g.cells[other] = 50;
        if (i < 2 || i >= 4)
            g.cells[gpu] = 10 + i;
        group_commit(&g, writer_sink(k.metrics), (mono_ns){(i + 1) * PERIOD_MS * NS_PER_MS});
    }
    group_close(&g);
    recordkit_close(&k, 0, NS_PER_S, "finished");
    OK(run_open(&r, path, &e));
    OK(columns_open(&c, r, "n1", asks, ASKS, &e));
    CHECK(columns_next(c, &b));
    CHECK_INT(b.n, 6);
    for (int i = 0; i < 6; i++) {
        NEAR(b.v[A_GPU1][i], 50, 1e-4);
        if (i < 2 || i >= 4)
            NEAR(b.v[A_GPU0][i], 10 + i, 1e-4);
        else
            CHECK(isnan(b.v[A_GPU0][i]));
    }
    columns_close(c);
    run_close(r);
}
