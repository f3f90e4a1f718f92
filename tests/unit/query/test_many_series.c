/* SPDX-License-Identifier: Apache-2.0 */
/* Many series asked for at once, against their samples summed by hand: those of a group share the
 * layout of their points, unless one has gaps, comes late, ends early or is damaged. */
#include "base/mem.h"
#include "query/runkit.h"
#include "test.h"

enum { SERIES = 40, SESSIONS = 3, ROWS_MOST_EACH = 4000, PERIOD_MS = 100, SECOND_GROUP = 25 };

struct sample {
    int64_t t; /* wall ns */
    double v;
    int session;
};

struct by_hand {
    struct sample v[SESSIONS * ROWS_MOST_EACH];
    size_t n;
};

struct scene {
    struct buf payload;
    struct kit_random r;
    struct by_hand *all; /* of each series */
    int64_t last[SERIES], t_us;
    int session;
};

/* What a series is like follows from its number. */
static bool has_gaps(int i)
{
    return i % 9 == 4;
}

static bool comes_late(int i)
{
    return i % 9 == 7;
}

static int64_t some_value(struct scene *s, int i)
{
    static const uint64_t span[] = {11, 1, 3, 100000, 11, 200};
    if (kit_below(&s->r, 500) == 0)
        return (int64_t)kit_below(&s->r, 256) - 100;
    return (int64_t)kit_below(&s->r, span[(size_t)i % COUNT_OF(span)]) - 3;
}

static void add_slot(struct scene *s, int i)
{
    char name[16];
    snprintf(name, sizeof name, "%d", i);
    const unsigned group = i >= SECOND_GROUP;
    kit_slot(&s->payload, group, (unsigned)(group ? i - SECOND_GROUP : i),
             i % 2 ? "cpu.util" : "gpu.power", "W", name, i % 5 == 2 ? 0.1 : 2);
    s->last[i] = 0;
}

static void add_cell(struct scene *s, int i)
{
    if (has_gaps(i) && kit_below(&s->r, 4) == 0) {
        kit_gap(&s->payload);
        return;
    }
    const int64_t value = some_value(s, i);
    struct by_hand *h = &s->all[i];
    kit_cell(&s->payload, value - s->last[i]);
    s->last[i] = value;
    h->v[h->n++] = (struct sample){KIT_START + s->t_us * NS_PER_US,
                                   i % 5 == 2 ? (double)value / 10 : (double)value * 2, s->session};
}

static void add_row(struct scene *s, bool late_are_here)
{
    kit_row(&s->payload, 0, 0);
    for (int i = 0; i < SERIES; i++) {
        if (i == SECOND_GROUP)
            kit_row(&s->payload, 1, 0);
        if (late_are_here || !comes_late(i))
            add_cell(s, i);
    }
}

static void add_session(struct scene *s, const char *run, unsigned rows)
{
    const unsigned late_from = rows / 3;
    s->payload.len = 0;
    for (unsigned g = 0; g < 2; g++)
        kit_group(&s->payload, g, g ? "two" : "one", PERIOD_MS * NS_PER_MS, s->t_us);
    for (int i = 0; i < SERIES; i++)
        if (!comes_late(i))
            add_slot(s, i);
    for (unsigned row = 0; row < rows; row++) {
        for (int i = 0; row == late_from && i < SERIES; i++)
            if (comes_late(i))
                add_slot(s, i);
        s->t_us += PERIOD_MS * 1000;
        add_row(s, row >= late_from);
    }
    kit_metrics(run, "a", &s->payload);
    s->t_us += 7000000; /* until the next recorder starts */
    s->session++;
}

static const char *scene_open(struct scene *s, uint64_t seed)
{
    const char *run = kit_run("run", "n", "id", KIT_START);
    *s = (struct scene){.all = xcalloc(SERIES, sizeof *s->all), .r = {seed}};
    for (int k = 0; k < SESSIONS; k++)
        add_session(s, run, 400 + (unsigned)kit_below(&s->r, ROWS_MOST_EACH - 400));
    return run;
}

static void scene_close(struct scene *s)
{
    buf_free(&s->payload);
    free(s->all);
}

static struct run *open_run(const char *path)
{
    struct run *r;
    struct err e;
    OK(run_open(&r, path, &e));
    return r;
}

/* Rows are exactly on time here, so a point covers the samples from its own time up to that of the
 * next one. Samples of the session `without` are taken to be lost. */
static void compare(const struct by_hand *h, const struct series *s, const struct series_ask *ask,
                    int without)
{
    size_t point = 0, in_it = 0;
    double min = 0, max = 0, sum = 0;
    for (size_t i = 0; i < h->n; i++) {
        const struct sample *one = &h->v[i];
        if (one->t < ask->from.ns || one->t >= ask->to.ns || one->session == without)
            continue;
        CHECK(point < s->n);
        if (in_it == 0)
            CHECK_INT(s->t[point].ns, one->t);
        min = in_it && min < one->v ? min : one->v;
        max = in_it && max > one->v ? max : one->v;
        sum = in_it ? sum + one->v : one->v;
        in_it++;
        size_t next = i + 1;
        while (next < h->n && h->v[next].session == without)
            next++;
        if (next < h->n && h->v[next].t < ask->to.ns &&
            (point + 1 == s->n || h->v[next].t < s->t[point + 1].ns))
            continue;
        NEAR(s->min[point], min, 0);
        NEAR(s->max[point], max, 0);
        NEAR(s->v[point], sum / (double)in_it, 1e-9 * (fabs(max) + fabs(min)) + 1e-12);
        point++;
        in_it = 0;
    }
    CHECK_INT(point, s->n);
    CHECK(!ask->points || s->n <= ask->points);
}

static void compare_all(struct run *r, const struct scene *s, const struct series_ask *ask,
                        int damaged)
{
    struct arena a = {0};
    struct series *got;
    struct err e;
    size_t n;
    OK(series_read(r, ask, &a, &got, &n, &e));
    CHECK_INT(n, SERIES);
    for (size_t i = 0; i < n; i++) {
        const int number = atoi(got[i].key.entity);
        compare(&s->all[number], &got[i], ask, number == damaged ? 1 : -1);
    }
    arena_free(&a);
}

static struct series_ask some_window(struct scene *s)
{
    const uint64_t end = (uint64_t)s->t_us;
    const int64_t a = (int64_t)kit_below(&s->r, end), b = (int64_t)kit_below(&s->r, end);
    return (struct series_ask){
        .from.ns = KIT_START + MIN_OF(a, b) * NS_PER_US,
        .to.ns = KIT_START + MAX_OF(a, b) * NS_PER_US,
    };
}

static void compare_windows(uint64_t seed)
{
    static const size_t points[] = {0, 1, 2, 7, 30, 117, 300, 1800};
    struct scene s;
    struct run *r = open_run(scene_open(&s, seed));
    for (int w = 0; w < 25; w++) {
        struct series_ask ask = some_window(&s);
        for (size_t i = 0; i < COUNT_OF(points); i++) {
            ask.points = points[i];
            compare_all(r, &s, &ask, -1);
        }
    }
    run_close(r);
    scene_close(&s);
}

TEST(windows_of_any_length_and_place_are_what_the_samples_of_each_series_say)
{
    compare_windows(1);
}

TEST(other_windows_are_what_the_samples_of_each_series_say)
{
    compare_windows(77);
}

/* A byte of the values of one series in the file of one session. */
static void damage(const char *path, const char *entity)
{
    struct store *store;
    struct err e;
    struct buf b = {0};
    OK(store_open(&store, path, &e));
    kit_load(&b, path);
    for (uint32_t i = 0; i < store->n_series; i++) {
        const struct store_series *s = &store->series[i];
        if (strcmp(s->entity, entity) != 0)
            continue;
        const struct rows_block *block = &store->blocks[s->refs[0].block];
        const struct column *c = &block_columns(block)[s->refs[0].column];
        uint8_t *at = memmem(b.p, b.len, c->values.p, c->values.len);
        CHECK(at && c->values.len > 32);
        at[c->values.len / 2] ^= 1;
    }
    store_close(store);
    kit_save(path, b.p, b.len);
    buf_free(&b);
}

TEST(a_damaged_column_is_a_hole_in_its_own_series_alone)
{
    struct scene s;
    const char *run = scene_open(&s, 5);
    damage(kit_path("run/node-a/metrics-2.fp"), "6");
    struct run *r = open_run(run);
    for (int w = 0; w < 25; w++) {
        struct series_ask ask = some_window(&s);
        compare_all(r, &s, &ask, 6);
        ask.points = (size_t)(ask.to.ns - ask.from.ns) / (PERIOD_MS * NS_PER_MS) / 12 + 1;
        compare_all(r, &s, &ask, 6);
    }
    run_close(r);
    scene_close(&s);
}
