/* SPDX-License-Identifier: Apache-2.0 */
/* Reduction against brute force: the same samples in a plain array are cut into the same points. */
#include "base/mem.h"
#include "query/runkit.h"
#include "query/series.h"
#include "test.h"

enum { MOST = 40000 };

struct plain {
    size_t n;
    int64_t t[MOST]; /* wall ns */
    double v[MOST];
};

/* What a recorder is told, and the same in a plain array. */
struct source {
    struct buf payload;
    struct plain *all;
    struct kit_random r;
    int64_t t_us, value;
    unsigned groups;
};

static void source_open(struct source *s, uint64_t seed)
{
    *s = (struct source){.all = xcalloc(1, sizeof *s->all), .r = {seed}};
}

static void source_free(struct source *s)
{
    buf_free(&s->payload);
    free(s->all);
}

static void source_group(struct source *s, int64_t period_ms, const char *entity)
{
    kit_group(&s->payload, s->groups, "g", period_ms * NS_PER_MS, s->t_us);
    kit_slot(&s->payload, s->groups++, 0, "gpu.power", "W", entity, 0.5);
    s->value = 0;
}

static void source_row(struct source *s, int64_t period_ms, int64_t off_us, int64_t value, bool gap)
{
    struct plain *p = s->all;
    kit_row(&s->payload, s->groups - 1, off_us);
    s->t_us += period_ms * 1000 + off_us;
    if (gap) {
        kit_gap(&s->payload);
        return;
    }
    kit_cell(&s->payload, value - s->value);
    s->value = value;
    CHECK(p->n < MOST);
    p->t[p->n] = KIT_START + s->t_us * NS_PER_US;
    p->v[p->n++] = (double)value * 0.5;
}

/* Rows with jitter, skipped ones, gaps, quiet intervals and rare spikes. */
static void source_rows(struct source *s, unsigned n, int64_t period_ms, bool gaps)
{
    const bool wide = kit_below(&s->r, 2);
    for (unsigned i = 0; i < n; i++) {
        int64_t value = (int64_t)kit_below(&s->r, wide ? 100000 : 12);
        if (kit_below(&s->r, 3000) == 0)
            value = 1 << 24;
        const int64_t skipped = kit_below(&s->r, 2000) == 0 ? 50 * period_ms * 1000 : 0;
        source_row(s, period_ms, (int64_t)kit_below(&s->r, 200) + skipped, value,
                   gaps && kit_below(&s->r, 4) == 0);
    }
}

static struct series ask_one(struct run *r, struct arena *a, const struct series_ask *ask)
{
    struct series *out;
    size_t n;
    struct err e;
    OK(series_read(r, ask, a, &out, &n, &e));
    CHECK_INT(n, 1);
    return out[0];
}

/* The samples of [from, to), and in them point by point: each point covers the samples from its
 * time up to the next point's; its minimum, maximum and mean are theirs, and none is left out. */
static void compare(const struct plain *p, const struct series *s, const struct series_ask *ask)
{
    size_t first = 0, end = p->n;
    while (first < p->n && ask->from.ns && p->t[first] < ask->from.ns)
        first++;
    while (end > first && ask->to.ns && p->t[end - 1] >= ask->to.ns)
        end--;
    CHECK(!ask->points || s->n <= ask->points);
    CHECK((s->n == 0) == (first == end));
    size_t at = first;
    for (size_t i = 0; i < s->n; i++) {
        CHECK(at < end);
        /* The time is that of the first sample, or near it by less than the sampling jitter. */
        CHECK(llabs(s->t[i].ns - p->t[at]) < 60 * NS_PER_MS);
        double min = p->v[at], max = p->v[at], sum = 0;
        size_t n = 0;
        do {
            min = fmin(min, p->v[at]);
            max = fmax(max, p->v[at]);
            sum += p->v[at++];
            n++;
        } while (at < end && (i + 1 == s->n || p->t[at] < s->t[i + 1].ns - 60 * NS_PER_MS));
        NEAR(s->min[i], min, 0);
        NEAR(s->max[i], max, 0);
        NEAR(s->v[i], sum / (double)n, 1e-9 * fabs(max) + 1e-9);
    }
    CHECK_INT(at, end);
}

static void compare_windows(struct run *r, struct source *s, unsigned windows)
{
    static const size_t points[] = {0, 1, 2, 3, 7, 50, 199, 200, 1000, 1800, 100000};
    const struct plain *p = s->all;
    for (unsigned w = 0; w < windows; w++) {
        struct series_ask ask = {.metric = "gpu.power"};
        if (w) {
            size_t a = kit_below(&s->r, p->n), b = kit_below(&s->r, p->n);
            ask.from.ns = p->t[MIN_OF(a, b)] + (int64_t)kit_below(&s->r, 3) - 1;
            ask.to.ns = p->t[MAX_OF(a, b)] + (int64_t)kit_below(&s->r, 3) - 1;
        }
        for (size_t i = 0; i < COUNT_OF(points); i++) {
            struct arena a = {0};
            ask.points = points[i];
            const struct series got = ask_one(r, &a, &ask);
            compare(p, &got, &ask);
            arena_free(&a);
        }
    }
}

static struct run *open_run(const char *path)
{
    struct run *r;
    struct err e;
    OK(run_open(&r, path, &e));
    return r;
}

static void random_run(uint64_t seed, bool gaps, int sessions)
{
    struct source s;
    source_open(&s, seed);
    const char *run = kit_run("run", "n", "id", KIT_START);
    for (int session = 0; session < sessions; session++) {
        for (int k = 0; k < 3; k++) {
            const int64_t period = 100 + 100 * (k % 2); /* the interval is changed on the way */
            source_group(&s, period, "gpu0");
            source_rows(&s, (unsigned)kit_below(&s.r, 3000), period, gaps);
        }
        if (session == 1)
            kit_metrics_died(run, "a", &s.payload);
        else
            kit_metrics(run, "a", &s.payload);
        s.payload.len = 0;
        s.groups = 0;
        s.t_us += 5000000; /* until the next recorder starts */
    }
    struct run *r = open_run(run);
    compare_windows(r, &s, 40);
    run_forget(r, "a");
    compare_windows(r, &s, 2);
    run_close(r);
    source_free(&s);
}

TEST(points_equal_brute_force_over_random_data)
{
    random_run(1, false, 3);
}

TEST(points_equal_brute_force_over_other_random_data)
{
    random_run(20, false, 3);
}

TEST(points_equal_brute_force_where_there_are_gaps)
{
    random_run(3, true, 3);
}

TEST(points_equal_brute_force_over_so_many_recorders_that_not_all_is_held)
{
    random_run(4, false, 6);
}

TEST(a_single_spike_is_in_the_maximum_at_every_zoom)
{
    struct source s;
    source_open(&s, 4);
    const char *run = kit_run("run", "n", "id", KIT_START);
    source_group(&s, 100, "gpu0");
    for (int i = 0; i < 36000; i++)
        source_row(&s, 100, 0, i == 17777 ? 200000 : 100, false);
    kit_metrics(run, "a", &s.payload);
    struct run *r = open_run(run);
    for (size_t points = 1; points < 40000; points = points * 3 / 2 + 1) {
        struct arena a = {0};
        const struct series got = ask_one(r, &a, &(struct series_ask){.points = points});
        double max = 0;
        size_t spikes = 0;
        for (size_t i = 0; i < got.n; i++) {
            max = fmax(max, got.max[i]);
            spikes += got.max[i] > 50;
        }
        CHECK(got.n <= points);
        NEAR(max, 100000, 0);
        CHECK_INT(spikes, 1);
        arena_free(&a);
    }
    run_close(r);
    source_free(&s);
}

TEST(the_start_of_a_window_is_inclusive_and_its_end_exclusive)
{
    struct source s;
    source_open(&s, 5);
    const char *run = kit_run("run", "n", "id", KIT_START);
    source_group(&s, 1000, "gpu0");
    for (int i = 0; i < 100; i++)
        source_row(&s, 1000, 0, i, false);
    kit_metrics(run, "a", &s.payload);
    struct run *r = open_run(run);
    struct arena a = {0};
    const wall_ns ten = {s.all->t[10]}, twenty = {s.all->t[20]};
    struct series got = ask_one(r, &a, &(struct series_ask){.from = ten, .to = twenty});
    CHECK_INT(got.n, 10);
    CHECK_INT(got.t[0].ns, ten.ns);
    NEAR(got.v[9], 9.5, 0);
    got = ask_one(r, &a, &(struct series_ask){.from = {ten.ns + 1}, .to = {twenty.ns + 1}});
    CHECK_INT(got.n, 10);
    NEAR(got.v[0], 5.5, 0);
    NEAR(got.v[9], 10, 0);
    got = ask_one(r, &a, &(struct series_ask){.from = ten, .to = ten});
    CHECK_INT(got.n, 0);
    got = ask_one(r, &a, &(struct series_ask){.from = twenty, .to = ten});
    CHECK_INT(got.n, 0);
    got = ask_one(r, &a, &(struct series_ask){.to = {1}});
    CHECK_INT(got.n, 0);
    got = ask_one(r, &a, &(struct series_ask){.from = {INT64_MAX}});
    CHECK_INT(got.n, 0);
    arena_free(&a);
    run_close(r);
    source_free(&s);
}

static void tiny(struct buf *b, const char *metric, const char *entity, int64_t value)
{
    b->len = 0;
    kit_group(b, 0, "g", NS_PER_S, 0);
    kit_slot(b, 0, 0, metric, "%", entity, 1);
    for (int i = 0; i < 4; i++) {
        kit_row(b, 0, 0);
        kit_cell(b, i ? 1 : value);
    }
}

static const char *several_nodes(void)
{
    struct buf b = {0};
    const char *run = kit_run("many", "n", "id", KIT_START);
    static const struct {
        const char *node, *metric, *entity;
        int64_t value;
    } rows[] = {
        {"host10", "cpu.util", "cpu10", 10}, {"host2", "cpu.util", "cpu2", 20},
        {"host2", "cpu.util", "cpu10", 30},  {"host2", "cpu.user", "cpu2", 40},
        {"host2", "gpu.util", "gpu0", 50},   {"host2", "gpu.util", "gpu0", 60},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        tiny(&b, rows[i].metric, rows[i].entity, rows[i].value);
        kit_metrics(run, rows[i].node, &b);
    }
    buf_free(&b);
    return run;
}

TEST(series_are_listed_by_node_metric_and_entity_with_numbers_by_value)
{
    struct run *r = open_run(several_nodes());
    struct series_key *k;
    struct arena a = {0};
    struct err e;
    size_t n;
    OK(series_list(r, &a, &k, &n, &e));
    CHECK_INT(n, 5);
    static const char *const want[] = {"host2 cpu.user cpu2", "host2 cpu.util cpu2",
                                       "host2 cpu.util cpu10", "host2 gpu.util gpu0",
                                       "host10 cpu.util cpu10"};
    run_close(r); /* what was returned survives */
    for (size_t i = 0; i < n; i++) {
        CHECK_STR(arena_printf(&a, "%s %s %s", k[i].node, k[i].metric, k[i].entity), want[i]);
        CHECK_STR(k[i].unit, "%");
    }
    arena_free(&a);
}

TEST(an_ask_selects_by_node_metric_prefix_and_entity)
{
    struct run *r = open_run(several_nodes());
    static const struct {
        struct series_ask ask;
        size_t n;
    } rows[] = {
        {{0}, 5},
        {{.node = "host2"}, 4},
        {{.metric = "cpu."}, 4},
        {{.metric = "cpu.util"}, 3},
        {{.metric = "cpu"}, 0},
        {{.metric = "cpu.util", .entity = "cpu10"}, 2},
        {{.node = "host1"}, 0},
        {{.metric = ""}, 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct arena a = {0};
        struct series *out;
        struct err e;
        size_t n;
        OK(series_read(r, &rows[i].ask, &a, &out, &n, &e));
        CHECK_INT(n, rows[i].n);
        arena_free(&a);
    }
    run_close(r);
}

TEST(a_series_goes_on_over_the_sessions_of_its_node)
{
    struct run *r = open_run(several_nodes());
    struct arena a = {0};
    const struct series s = ask_one(r, &a, &(struct series_ask){.metric = "gpu.util"});
    CHECK_INT(s.n, 8);
    NEAR(s.v[0], 50, 0);
    NEAR(s.v[4], 60, 0);
    arena_free(&a);
    run_close(r);
}

TEST(pooled_statistics_count_all_entities_of_a_node)
{
    struct run *r = open_run(several_nodes());
    struct arena a = {0};
    struct series_stats *s;
    struct err e;
    size_t n;
    OK(series_stats_pooled(r, &(struct series_ask){.metric = "cpu.util"}, &a, &s, &n, &e));
    CHECK_INT(n, 2);
    CHECK_STR(s[0].key.node, "host2");
    CHECK_STR(s[0].key.entity, "");
    CHECK_INT(s[0].count, 8);
    NEAR(s[0].min, 20, 0);
    NEAR(s[0].max, 33, 0);
    CHECK_INT(s[1].count, 4);
    arena_free(&a);
    run_close(r);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

TEST(statistics_equal_brute_force_in_every_window)
{
    struct source s;
    source_open(&s, 9);
    const char *run = kit_run("run", "n", "id", KIT_START);
    for (int k = 0; k < 3; k++) {
        source_group(&s, 100, "gpu0");
        source_rows(&s, 5000, 100, k == 1);
    }
    kit_metrics(run, "a", &s.payload);
    struct run *r = open_run(run);
    double *sorted = xmalloc(MOST * sizeof *sorted);
    for (int w = 0; w < 50; w++) {
        struct arena a = {0};
        struct series_stats *st;
        struct err e;
        size_t n, from = kit_below(&s.r, s.all->n), to = kit_below(&s.r, s.all->n);
        if (from > to || w == 0) {
            from = 0;
            to = s.all->n - 1;
        }
        const struct series_ask ask = {.from = {s.all->t[from]}, .to = {s.all->t[to]}};
        OK(series_stats_read(r, &ask, &a, &st, &n, &e));
        CHECK_INT(n, 1);
        CHECK_INT(st->count, to - from);
        memcpy(sorted, s.all->v + from, (to - from) * sizeof *sorted);
        qsort(sorted, to - from, sizeof *sorted, by_value);
        if (to > from) {
            NEAR(st->min, sorted[0], 0);
            NEAR(st->max, sorted[to - from - 1], 0);
            const double at = 0.5 * (double)(to - from - 1);
            const size_t lo = (size_t)at;
            const double hi = sorted[MIN_OF(lo + 1, to - from - 1)];
            NEAR(st->p50, sorted[lo] + (hi - sorted[lo]) * (at - (double)lo), 1e-9);
        } else {
            CHECK(isnan(st->p50));
        }
        arena_free(&a);
    }
    free(sorted);
    run_close(r);
    source_free(&s);
}

TEST(a_damaged_column_leaves_a_hole_not_a_wrong_value)
{
    struct source s;
    source_open(&s, 12);
    const char *run = kit_run("run", "n", "id", KIT_START);
    for (int k = 0; k < 2; k++) {
        source_group(&s, 100, "gpu0");
        source_rows(&s, 500, 100, false);
    }
    kit_metrics(run, "a", &s.payload);
    struct buf b = {0};
    kit_load(&b, kit_path("run/node-a/metrics.fp"));
    struct block_header h;
    CHECK(block_get(&h, b.p + FILE_HEADER_LEN, b.len - FILE_HEADER_LEN));
    const size_t data = FILE_HEADER_LEN + BLOCK_HEADER_LEN + h.head_len;
    const size_t end = FILE_HEADER_LEN + BLOCK_HEADER_LEN + h.payload_len;
    for (size_t at = data; at < end; at += 3) {
        static const size_t points[] = {0, 1, 5};
        b.p[at] ^= 0x10;
        kit_save(kit_path("run/node-a/metrics.fp"), b.p, b.len);
        struct run *r = open_run(run);
        for (size_t k = 0; k < COUNT_OF(points); k++) {
            struct arena a = {0};
            const struct series got = ask_one(r, &a, &(struct series_ask){.points = points[k]});
            for (size_t i = 0; points[k] == 0 && i < got.n; i++) {
                const size_t skip = got.n == 500 ? 500 : 0; /* all of the first block, or none */
                CHECK(got.n == 500 || got.n == 1000);
                NEAR(got.v[i], s.all->v[i + skip], 0);
                CHECK_INT(got.t[i].ns, s.all->t[i + skip]);
            }
            CHECK(got.n > 0);
            arena_free(&a);
        }
        struct arena a = {0};
        struct run_loss *l;
        struct err e;
        size_t n;
        OK(run_losses(r, &a, &l, &n, &e));
        CHECK(n >= 1 && l[0].loss.id == LOSS_DAMAGED);
        arena_free(&a);
        run_close(r);
        b.p[at] ^= 0x10;
    }
    buf_free(&b);
    source_free(&s);
}

/* A laptop that slept: an hour is left out of the wall clock's samples. */
TEST(a_window_that_starts_in_the_hour_that_was_slept_through_finds_what_follows)
{
    struct buf b = {0};
    const char *run = kit_run("run", "n", "id", KIT_START);
    kit_group(&b, 0, "g", NS_PER_S, -1000000);
    kit_slot(&b, 0, 0, "cpu.util", "%", "total", 1);
    for (int i = 0; i < 200; i++) {
        kit_row(&b, 0, 0);
        kit_cell(&b, 1);
    }
    kit_tie(&b, 100 * NS_PER_S, KIT_START + 3700 * NS_PER_S);
    kit_metrics(run, "a", &b);
    struct run *r = open_run(run);
    struct arena a = {0};
    const wall_ns asleep = {KIT_START + 1800 * NS_PER_S};
    struct series s = ask_one(r, &a, &(struct series_ask){.from = asleep});
    CHECK_INT(s.n, 100);
    CHECK_INT(s.t[0].ns, KIT_START + 3700 * NS_PER_S);
    s = ask_one(r, &a, &(struct series_ask){.to = asleep});
    CHECK_INT(s.n, 100);
    arena_free(&a);
    run_close(r);
    buf_free(&b);
}

/* Enough series for several threads, with gaps, summaries and values. */
static void compare_many(const char *const *nodes, size_t n_nodes)
{
    enum { SERIES = 100, ROWS = 700 };
    struct buf b = {0};
    const char *run = kit_run("run", "n", "id", KIT_START);
    kit_group(&b, 0, "g", NS_PER_S, -1000000);
    for (unsigned i = 0; i < SERIES; i++) {
        char name[16];
        snprintf(name, sizeof name, "cpu%u", i);
        kit_slot(&b, 0, i, "cpu.util", "%", name, 1);
    }
    for (int row = 0; row < ROWS; row++) {
        kit_row(&b, 0, row % 3);
        for (int i = 0; i < SERIES; i++)
            if (i % 7 == 3 && row % 11 == 0)
                kit_gap(&b);
            else
                kit_cell(&b, (row * 31 + i * 17) % 5 - 2);
    }
    for (size_t i = 0; i < n_nodes; i++)
        kit_metrics(run, nodes[i], &b);
    struct run *r = open_run(run);
    static const size_t points[] = {0, 10, 100};
    for (size_t p = 0; p < sizeof points / sizeof *points; p++) {
        struct arena a = {0};
        struct series *all;
        struct err e;
        size_t n;
        OK(series_read(r, &(struct series_ask){.points = points[p]}, &a, &all, &n, &e));
        CHECK_INT(n, n_nodes * SERIES);
        for (size_t i = 0; i < n; i++) {
            const struct series_ask ask = {
                .node = all[i].key.node, .entity = all[i].key.entity, .points = points[p]};
            const struct series one = ask_one(r, &a, &ask);
            CHECK_INT(one.n, all[i].n);
            CHECK(memcmp(one.t, all[i].t, one.n * sizeof *one.t) == 0);
            CHECK(memcmp(one.v, all[i].v, one.n * sizeof *one.v) == 0);
            CHECK(memcmp(one.min, all[i].min, one.n * sizeof *one.min) == 0);
            CHECK(memcmp(one.max, all[i].max, one.n * sizeof *one.max) == 0);
        }
        arena_free(&a);
    }
    run_close(r);
    buf_free(&b);
}

TEST(many_series_asked_for_at_once_are_what_each_is_alone)
{
    compare_many((const char *const[]){"a"}, 1);
}

TEST(they_are_too_when_threads_find_that_blocks_must_be_read_again)
{
    compare_many((const char *const[]){"a", "b", "c", "d", "e"}, 5);
}
