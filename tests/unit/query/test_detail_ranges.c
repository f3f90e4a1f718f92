/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "query/detail.h"
#include "query/recordkit.h"
#include "test.h"

struct found {
    struct run *run;
    struct arena arena;
    struct detail_range *v;
    size_t n;
};

static struct found ranges_of(const char *path)
{
    struct found f = {0};
    struct err e;
    OK(run_open(&f.run, path, &e));
    OK(detail_ranges(f.run, &f.arena, &f.v, &f.n, &e));
    return f;
}

static void close_found(struct found *f)
{
    run_close(f->run);
    arena_free(&f->arena);
}

static void add_span(struct writer *w, uint32_t pid, const char *name, int64_t at, int64_t dur_ns)
{
    const struct track t = {.kind = TRACK_THREAD, .pid = pid, .id = pid};
    const struct event e = {.at = {at}, .dur_ns = dur_ns, .kind = EVENT_SPAN, .name = name};
    struct sink *s = writer_sink(w);
    s->ops->events(s, &t, &e, 1);
}

static void add_window(const struct recordkit *k, const char *file, uint32_t pid, int64_t at)
{
    struct err e;
    struct writer *w = recordkit_beside(k, file);
    const struct track device = {.kind = TRACK_DEVICE, .pid = pid, .id = 7};
    const struct event kernel = {
        .at = {at + 6000}, .dur_ns = 1000, .kind = EVENT_SPAN, .category = CAT_KERNEL, .name = "k"};
    recordkit_thread(w, pid, pid, at, "U2000 U3000");
    struct sink *s = writer_sink(w);
    s->ops->events(s, &device, &kernel, 1);
    OK(writer_close(w, &e));
}

TEST(a_run_without_windows_has_no_ranges)
{
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    recordkit_thread(k.events, 7, 7, 100, "D1 F1 B1 O1");
    recordkit_close(&k, 0, NS_PER_S, "finished");
    struct found f = ranges_of(run);
    CHECK_INT(f.n, 0);
    close_found(&f);
}

TEST(all_tracks_of_one_window_make_one_range_of_its_process)
{
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    recordkit_thread(k.events, 7, 7, 1000, "D1 F1 B1 O1");
    recordkit_thread(k.events, 8, 8, 1000, "D1 F1 B1 O1");
    add_window(&k, "trace-8-0", 8, 50000);
    add_window(&k, "trace-8-1", 8, 90000);
    recordkit_close(&k, 0, NS_PER_S, "finished");
    struct found f = ranges_of(run);
    CHECK_INT(f.n, 2);
    CHECK_INT(f.v[0].pid, 8);
    CHECK_STR(f.v[0].node, "a");
    CHECK_INT(f.v[0].begin.ns, KIT_START + 50000);
    CHECK_INT(f.v[0].end.ns, KIT_START + 57000);
    CHECK_INT(f.v[1].begin.ns, KIT_START + 90000);
    close_found(&f);
}

TEST(the_span_of_a_window_adds_the_time_that_the_profiler_took_to_start_and_stop)
{
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    recordkit_thread(k.events, 8, 8, 1000, "D1 F1 B1 O1");
    add_span(k.events, 8, "detail.window", 40000, 30000);
    add_span(k.events, 8, "detail.window", 200000, 5000); /* its file was lost */
    add_window(&k, "trace-8-0", 8, 50000);
    recordkit_close(&k, 0, NS_PER_S, "finished");
    struct found f = ranges_of(run);
    CHECK_INT(f.n, 2);
    CHECK_INT(f.v[0].begin.ns, KIT_START + 40000);
    CHECK_INT(f.v[0].end.ns, KIT_START + 70000);
    CHECK_INT(f.v[0].first.ns, KIT_START + 50000);
    CHECK_INT(f.v[0].last.ns, KIT_START + 57000);
    CHECK_INT(f.v[1].begin.ns, KIT_START + 200000);
    CHECK_INT(f.v[1].first.ns, INT64_MAX);
    close_found(&f);
}
