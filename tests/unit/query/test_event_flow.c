/* SPDX-License-Identifier: Apache-2.0 */
/* Events of long tracks: several blocks that overlap, decoded by a thread ahead. */
#include <unistd.h>

#include "base/mem.h"
#include "query/event_flow.h"
#include "query/ops_trace.h"
#include "query/recordkit.h"
#include "test.h"

/* Each block of a track of so many holds events of all of its time. */
enum { EVENTS = 150001, STRIDE = 7919 };

static struct event event_of(int64_t i)
{
    const int64_t at = i * STRIDE % EVENTS;
    return (struct event){.at = {at},
                          .kind = at % 2 ? EVENT_SPAN : EVENT_COUNT,
                          .category = at % 2 ? CAT_OP : CAT_MEMORY,
                          .dur_ns = at % 2 ? 3 : 0,
                          .value = 5 * at,
                          .link = (uint64_t)at + 1,
                          .parent = (uint64_t)at + 2,
                          .name = at % 2 ? "op" : "cuda.allocated",
                          .args = "device=gpu0"};
}

static void tell_all(struct writer *w, enum track_kind kind, uint32_t pid, uint64_t id)
{
    const struct track t = {.kind = kind, .pid = pid, .id = id};
    struct sink *s = writer_sink(w);
    for (int64_t i = 0; i < EVENTS; i++) {
        const struct event v = event_of(i);
        s->ops->events(s, &t, &v, 1);
    }
}

/* Two processes: a thread and a stream, and one more thread. */
static const char *long_run(void)
{
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    tell_all(k.events, TRACK_THREAD, 7, 7);
    tell_all(k.events, TRACK_DEVICE, 7, 1);
    tell_all(k.events, TRACK_THREAD, 8, 8);
    recordkit_close(&k, 0, NS_PER_S, "finished");
    return run;
}

static struct run *open_run(const char *path)
{
    struct run *r;
    struct err e;
    OK(run_open(&r, path, &e));
    return r;
}

TEST(blocks_that_overlap_all_along_come_in_one_order)
{
    struct run *r = open_run(long_run());
    struct event_index *x;
    struct arena a = {0};
    struct run_event *v;
    struct err e;
    size_t n;
    OK(run_events(r, &x, &e));
    CHECK_INT(x->n_tracks, 3);
    CHECK_INT(x->tracks[0].n_blocks, 3);
    OK(events_read(r, &x->tracks[0].track, (wall_ns){0}, (wall_ns){0}, &a, &v, &n, &e));
    CHECK_INT(n, EVENTS);
    for (int64_t i = 0; i < EVENTS; i++) {
        CHECK_INT(v[i].event.at.ns, i);
        CHECK_INT(v[i].at.ns, KIT_START + i);
        CHECK_INT(v[i].event.value, 5 * i);
        CHECK_INT(v[i].event.category, i % 2 ? CAT_OP : CAT_MEMORY);
    }
    OK(events_read(r, &x->tracks[0].track, (wall_ns){KIT_START + 1000}, (wall_ns){KIT_START + 1010},
                   &a, &v, &n, &e));
    CHECK_INT(n, 11); /* the one that began before and lasts until then, too */
    CHECK_INT(v[0].event.at.ns, 999);
    run_close(r);
    arena_free(&a);
}

/* ---- a sink that checks what it gets ---- */

struct seen {
    struct event_want want;
    size_t processes, tracks, args;
    int64_t next;
};

static void on_begin(void *to, const struct run_process *p)
{
    struct seen *s = to;
    CHECK_INT(p->pid, 7 + s->processes++);
}

static void on_track(void *to, const struct run_track *t)
{
    struct seen *s = to;
    CHECK_INT(t->track.kind, s->tracks == 1 ? TRACK_DEVICE : TRACK_THREAD);
    s->next = 0;
}

static void on_events(void *to, const struct run_event *v, size_t n)
{
    struct seen *s = to;
    for (size_t i = 0; i < n; i++) {
        const struct event *e = &v[i].event;
        const int64_t at = s->next++;
        CHECK_INT(e->at.ns, at);
        CHECK_INT(e->dur_ns, at % 2 ? 3 : 0);
        CHECK_STR(e->name, at % 2 ? "op" : "cuda.allocated");
        CHECK_INT(e->value, s->want.value ? 5 * at : 0);
        CHECK_INT(e->link, s->want.link ? at + 1 : 0);
        CHECK_INT(e->parent, s->want.parent ? at + 2 : 0);
        s->args += e->args && strcmp(e->args, "device=gpu0") == 0;
    }
}

static void on_track_end(void *to)
{
    struct seen *s = to;
    CHECK_INT(s->next, EVENTS);
    s->tracks++;
}

static void on_end(void *to)
{
    const struct seen *s = to;
    CHECK_INT(s->tracks, s->processes == 1 ? 2 : 3);
}

TEST(every_track_is_told_whole_and_what_nobody_wants_is_left_out)
{
    static const struct event_want wants[] = {
        {.args_of = UINT64_C(1) << CAT_COMM},
        {.value = true, .args_of = UINT64_C(1) << CAT_MEMORY},
        {.value = true, .link = true, .parent = true, .args_of = UINT64_MAX},
    };
    struct run *r = open_run(long_run());
    struct err e;
    for (size_t i = 0; i < COUNT_OF(wants); i++) {
        const struct trace_sink sink = {on_begin,     on_track, on_events,
                                        on_track_end, on_end,   wants[i]};
        struct seen s = {.want = wants[i]};
        OK(trace_read(r, &(struct trace_ask){0}, &sink, &s, &e));
        CHECK_INT(s.processes, 2);
        CHECK_INT(s.tracks, 3);
        CHECK(i == 0 ? s.args == 0 : s.args >= EVENTS / 2);
    }
    run_close(r);
}

TEST(a_flow_may_be_left_before_its_end)
{
    struct run *r = open_run(long_run());
    struct event_index *x;
    struct err e;
    OK(run_events(r, &x, &e));
    const struct event_track *tracks[] = {&x->tracks[0], &x->tracks[1], &x->tracks[2]};
    for (size_t pieces = 0; pieces < 3; pieces++) {
        struct event_flow *f = event_flow_open(&EVENT_WANT_ALL);
        struct arena texts = {0};
        const struct run_event *v;
        event_flow_ahead(f, tracks, COUNT_OF(tracks));
        event_flow_track(f, tracks[0], &(struct flow_window){{0}, {0}}, &texts);
        for (size_t i = 0; i < pieces; i++)
            CHECK(event_flow_next(f, &v) > 0);
        if (pieces == 1)
            usleep(50000); /* the thread waits for a place meanwhile */
        event_flow_close(f);
        arena_free(&texts);
    }
    run_close(r);
}

TEST(a_damaged_block_is_left_out_and_the_rest_stays_in_order)
{
    const char *run = long_run();
    struct buf b = {0};
    kit_load(&b, kit_path("r/node-a/events.fp"));
    b.p[b.len / 2] ^= 1;
    kit_save(kit_path("r/node-a/events.fp"), b.p, b.len);
    buf_free(&b);
    struct run *r = open_run(run);
    struct event_index *x;
    struct err e;
    size_t all = 0;
    OK(run_events(r, &x, &e));
    const struct event_track *tracks[] = {&x->tracks[0], &x->tracks[1], &x->tracks[2]};
    struct event_flow *f = event_flow_open(&(struct event_want){0});
    event_flow_ahead(f, tracks, x->n_tracks);
    for (size_t i = 0; i < x->n_tracks; i++) {
        struct arena texts = {0};
        const struct run_event *v;
        int64_t before = -1;
        event_flow_track(f, tracks[i], &(struct flow_window){{0}, {0}}, &texts);
        for (size_t n; (n = event_flow_next(f, &v)) > 0; all += n)
            for (size_t k = 0; k < n; k++) {
                CHECK(v[k].event.at.ns > before);
                before = v[k].event.at.ns;
            }
        arena_free(&texts);
    }
    CHECK(all < 3 * EVENTS && all >= 2 * EVENTS);
    event_flow_close(f);
    run_close(r);
}
