/* SPDX-License-Identifier: Apache-2.0 */
/* Events of long tracks: several blocks that overlap. */
#include "base/mem.h"
#include "query/event_flow.h"
#include "query/recordkit.h"
#include "query/run_internal.h"
#include "query/trace.h"
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

static void tell(struct writer *w, enum track_kind kind, uint32_t pid, uint64_t id, int64_t n)
{
    const struct track t = {.kind = kind, .pid = pid, .id = id};
    struct sink *s = writer_sink(w);
    for (int64_t i = 0; i < n; i++) {
        const struct event v = event_of(i);
        s->ops->events(s, &t, &v, 1);
    }
}

/* Two processes: a thread and a stream, and one more thread. */
static const char *long_run(void)
{
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    tell(k.events, TRACK_THREAD, 7, 7, EVENTS);
    tell(k.events, TRACK_DEVICE, 7, 1, EVENTS);
    tell(k.events, TRACK_THREAD, 8, 8, EVENTS);
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
    for (size_t pieces = 0; pieces < 3; pieces++) {
        struct event_flow *f = event_flow_open(&EVENT_WANT_ALL);
        struct arena texts = {0};
        const struct run_event *v;
        OK(event_flow_track(f, r, &x->tracks[0].track, &(struct flow_window){{0}, {0}}, &texts,
                            &e));
        for (size_t i = 0; i < pieces; i++)
            CHECK(event_flow_next(f, &v) > 0);
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
    struct event_flow *f = event_flow_open(&(struct event_want){0});
    for (size_t i = 0; i < x->n_tracks; i++) {
        struct arena texts = {0};
        const struct run_event *v;
        int64_t before = -1;
        OK(event_flow_track(f, r, &x->tracks[i].track, &(struct flow_window){{0}, {0}}, &texts,
                            &e));
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

static bool has_op(void *ctx, const char *const *names, size_t n)
{
    size_t *asked = ctx;
    ++*asked;
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], "op") == 0)
            return true;
    return false;
}

static bool is_wanted(void *ctx, const char *const *names, size_t n)
{
    (void)names;
    (void)n;
    return *(const bool *)ctx;
}

TEST(blocks_come_as_they_are_stored_and_only_those_that_have_a_wanted_name)
{
    struct run *r = open_run(long_run());
    struct event_index *x;
    struct flow_rows rows;
    struct err e;
    size_t asked = 0, all = 0;
    bool no = false;
    OK(run_events(r, &x, &e));
    const struct event_track *t = &x->tracks[0];
    struct event_flow *f = event_flow_open(&(struct event_want){.value = true});
    event_flow_blocks(f, t, 1, 2, has_op, &asked);
    for (uint32_t block = 1; event_flow_rows(f, &rows); block++) {
        CHECK_INT(rows.from, 0);
        CHECK_INT(rows.to, t->store->events[t->blocks[block]].rows);
        for (uint32_t i = 0; i < rows.to; i++)
            CHECK_INT(event_cell(rows.columns, COLUMN_VALUE, i), 5 * rows.columns->v[COLUMN_AT][i]);
        all += rows.to;
    }
    CHECK_INT(asked, 2);
    CHECK_INT(all, EVENTS - t->store->events[t->blocks[0]].rows);
    event_flow_blocks(f, t, 0, 3, is_wanted, &no);
    CHECK(!event_flow_rows(f, &rows));
    event_flow_close(f);
    run_close(r);
}

/* ---- rows ---- */

/* The rows of a flow, less those that end too early, are the events of another. */
static size_t check_rows(struct run *r, const struct event_track *t, const struct flow_window *w)
{
    struct event_flow *f = event_flow_open(&(struct event_want){0}), *g = event_flow_borrow(r);
    struct arena texts = {0};
    const struct run_event *v = NULL;
    struct err e;
    size_t n = 0, i = 0, all = 0;
    OK(event_flow_track(f, r, &t->track, w, &texts, &e));
    OK(event_flow_track(g, r, &t->track, w, NULL, &e));
    for (struct flow_rows rows; event_flow_rows(g, &rows);)
        for (uint32_t k = rows.from; k < rows.to; k++) {
            const int64_t at = flow_row_wall(&rows, k);
            const int64_t dur = event_cell(rows.columns, COLUMN_DUR, k);
            if (!flow_window_overlaps(w, at, at + dur))
                continue;
            if (i == n) {
                n = event_flow_next(f, &v);
                i = 0;
            }
            CHECK(i < n);
            CHECK_INT(v[i].at.ns, at);
            CHECK_INT(v[i].event.dur_ns, dur);
            CHECK_STR(v[i].event.name, event_columns_name(rows.columns, k));
            i++;
            all++;
        }
    CHECK(i == n && event_flow_next(f, &v) == 0);
    event_flow_give_back(r, g);
    event_flow_close(f);
    arena_free(&texts);
    return all;
}

static struct flow_window window_of(int64_t from, int64_t to)
{
    return (struct flow_window){{from ? KIT_START + from : 0}, {to ? KIT_START + to : 0}};
}

TEST(rows_are_the_events_of_every_window)
{
    struct run *r = open_run(long_run());
    struct event_index *x;
    struct err e;
    OK(run_events(r, &x, &e));
    const struct flow_window all = window_of(0, 0), some = window_of(1000, 1010),
                             rest = window_of(140000, 0), none = window_of(EVENTS + 9, 0);
    CHECK_INT(check_rows(r, &x->tracks[0], &all), EVENTS);
    CHECK_INT(check_rows(r, &x->tracks[0], &some), 11);
    CHECK_INT(check_rows(r, &x->tracks[1], &rest), EVENTS - 140000 + 1);
    CHECK_INT(check_rows(r, &x->tracks[0], &none), 0);
    run_close(r);
}

TEST(rows_of_a_block_in_which_the_clock_was_put_forward_have_the_time_of_the_wall)
{
    struct run *r = open_run(long_run());
    struct event_index *x;
    struct err e;
    OK(run_events(r, &x, &e));
    struct store *s = x->tracks[0].store;
    struct clock_tie *before = s->steps;
    struct clock_tie steps[] = {{{0}, {KIT_START}}, {{5000}, {KIT_START + 1000000}}};
    s->steps = steps;
    s->n_steps = 2;
    const struct flow_window all = window_of(0, 0), late = window_of(1000000, 1000100);
    CHECK_INT(check_rows(r, &x->tracks[0], &all), EVENTS);
    CHECK_INT(check_rows(r, &x->tracks[0], &late), 100);
    s->steps = before;
    s->n_steps = 1;
    run_close(r);
}

/* A run with one track; its blocks overlap all along. */
static struct run *run_of(const char *folder, int64_t events)
{
    const char *path = kit_run(folder, folder, folder, KIT_START);
    struct recordkit k = recordkit_open(path, "a");
    tell(k.events, TRACK_THREAD, 7, 7, events);
    recordkit_close(&k, 0, NS_PER_S, "finished");
    return open_run(path);
}

TEST(a_run_keeps_the_memory_of_a_flow_and_counts_it_unless_it_is_much)
{
    const struct flow_window all = window_of(0, 0);
    static const int64_t events[] = {1000, 4 * 65536};
    for (size_t i = 0; i < COUNT_OF(events); i++) {
        struct run *r = run_of(i ? "many" : "few", events[i]);
        struct event_index *x;
        struct err e;
        OK(run_events(r, &x, &e));
        const size_t before = run_memory(r);
        CHECK_INT(check_rows(r, &x->tracks[0], &all), events[i]);
        const size_t kept = run_memory(r) - before;
        CHECK(i ? kept == 0 : kept > 1000 * sizeof(int64_t) && kept < 1 << 20);
        CHECK_INT(check_rows(r, &x->tracks[0], &all), events[i]);
        CHECK_INT(run_memory(r) - before, kept);
        run_close(r);
    }
}

TEST(two_flows_of_a_run_at_once_have_nothing_in_common)
{
    struct run *r = open_run(long_run());
    struct event_flow *f = event_flow_borrow(r), *g = event_flow_borrow(r);
    CHECK(f != g);
    event_flow_give_back(r, f);
    event_flow_give_back(r, g);
    struct event_flow *again = event_flow_borrow(r);
    CHECK(again == f);
    event_flow_give_back(r, again);
    run_close(r);
}
