/* SPDX-License-Identifier: Apache-2.0 */
/* Events come in parts of bounded size, each once and in order, whatever the window. */
#include "base/mem.h"
#include "export/export.h"
#include "query/recordkit.h"
#include "test.h"

enum { EVENTS = 200000 };

struct seen {
    uint8_t *times;
    size_t n, calls, most;
    int64_t last;
};

/* Spans of 5 every 10, each 1000th lasts for 30 000: it reaches over parts. The value numbers. */
static struct run *make_run(void)
{
    struct err e;
    struct run *r;
    const char *path = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(path, "n");
    struct sink *s = writer_sink(k.events);
    const struct track t = {.pid = 7, .id = 7, .process = "p", .name = "t"};
    for (int64_t i = 0; i < EVENTS; i++) {
        const struct event v = {.kind = EVENT_SPAN,
                                .at = {i * 10},
                                .dur_ns = i % 1000 ? 5 : 30000,
                                .value = i + 1,
                                .name = "x"};
        s->ops->events(s, &t, &v, 1);
        if (i % 1000 == 0)
            OK(writer_flush(k.events, false, &e));
    }
    recordkit_close(&k, 0, EVENTS * 10, "finished");
    OK(run_open(&r, path, &e));
    return r;
}

static int take(void *to, const struct run_track *t, const struct run_event *v, size_t n,
                struct err *e)
{
    struct seen *s = to;
    (void)t;
    (void)e;
    s->calls++;
    s->most = MAX_OF(s->most, n);
    for (size_t i = 0; i < n; i++) {
        CHECK(v[i].at.ns >= s->last);
        s->last = v[i].at.ns;
        s->times[v[i].event.value - 1]++;
        s->n++;
    }
    return 0;
}

static struct seen walk(struct run *r, int64_t from, int64_t to)
{
    struct arena a = {0};
    struct tracks t;
    struct err e;
    struct seen s = {.times = xcalloc(EVENTS, 1)};
    const struct export_job job = {
        .run = r, .ask = {.from = {from ? KIT_START + from : 0}, .to = {to ? KIT_START + to : 0}}};
    OK(export_tracks(&job, &a, &t, &e));
    CHECK_INT(t.n, 1);
    OK(export_events(&job, &t.v[0], take, &s, &e));
    arena_free(&a);
    return s;
}

TEST(every_event_comes_once_in_order_and_in_parts)
{
    struct run *r = make_run();
    struct seen s = walk(r, 0, 0);
    CHECK_INT(s.n, EVENTS);
    for (size_t i = 0; i < EVENTS; i++)
        CHECK_INT(s.times[i], 1);
    CHECK(s.calls >= 3);
    CHECK(s.most < EVENTS / 2);
    free(s.times);
    run_close(r);
}

TEST(a_window_has_what_overlaps_it_once)
{
    struct run *r = make_run();
    static const int64_t windows[][2] = {{500000, 1500000}, {29999, 30000}, {0, 1}, {1999000, 0}};
    for (size_t w = 0; w < COUNT_OF(windows); w++) {
        const int64_t from = windows[w][0], to = windows[w][1] ? windows[w][1] : INT64_MAX;
        struct seen s = walk(r, windows[w][0], windows[w][1]);
        for (int64_t i = 0; i < EVENTS; i++) {
            const int64_t begin = i * 10, end = begin + (i % 1000 ? 5 : 30000);
            const bool in = begin < to && (end > from || begin >= from);
            CHECK_INT(s.times[i], in);
        }
        free(s.times);
    }
    run_close(r);
}
