/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "base/mem.h"
#include "query/event_flow.h"
#include "query/recordkit.h"
#include "test.h"

struct opened {
    struct run *run;
    struct arena arena;
    struct run_process *processes;
    struct run_track *tracks;
    size_t n_processes, n_tracks;
};

static struct opened open_events(const char *path)
{
    struct opened o = {0};
    struct err e;
    OK(run_open(&o.run, path, &e));
    OK(events_processes(o.run, &o.arena, &o.processes, &o.n_processes, &e));
    OK(events_tracks(o.run, &o.arena, &o.tracks, &o.n_tracks, &e));
    return o;
}

static void close_events(struct opened *o)
{
    run_close(o->run);
    arena_free(&o->arena);
}

/* "data 0+5, forward 5+3" of what events_read gives. */
static const char *read_text(struct opened *o, size_t track, int64_t from, int64_t to)
{
    static char out[4096];
    struct run_event *v;
    struct err e;
    size_t n, len = 0;
    const wall_ns a = {from < 0 ? 0 : KIT_START + from}, b = {to < 0 ? 0 : KIT_START + to};
    OK(events_read(o->run, &o->tracks[track], a, b, &o->arena, &v, &n, &e));
    out[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        CHECK_INT(v[i].at.ns, v[i].event.at.ns + KIT_START);
        len += (size_t)snprintf(out + len, sizeof out - len, "%s%s %lld+%lld", i ? ", " : "",
                                v[i].event.name, (long long)v[i].event.at.ns,
                                (long long)v[i].event.dur_ns);
    }
    return out;
}

TEST(events_come_back_in_order_with_wall_times_and_nanoseconds)
{
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    recordkit_thread(k.events, 7, 7, 1234567, "U90(D5 F3(X1) B4) .3 O1");
    recordkit_close(&k, 0, NS_PER_S, "finished");
    struct opened o = open_events(run);
    CHECK_INT(o.n_tracks, 1);
    CHECK_INT(o.tracks[0].events, 6);
    CHECK_STR(read_text(&o, 0, -1, -1),
              "augment 1234567+90, data 1234567+5, forward 1234572+3, compile 1234572+1, "
              "backward 1234575+4, optimizer 1234660+1");
    CHECK(o.tracks[0].first.ns <= KIT_START + 1234567);
    CHECK(o.tracks[0].last.ns >= KIT_START + 1234661);
    close_events(&o);
}

TEST(a_window_gives_what_overlaps_it)
{
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    recordkit_thread(k.events, 7, 7, 0, "U1000(D10 F10 N8 B10 O10)");
    recordkit_close(&k, 0, NS_PER_S, "finished");
    struct opened o = open_events(run);
    CHECK_STR(read_text(&o, 0, 10, 20), "augment 0+1000, forward 10+10");
    CHECK_STR(read_text(&o, 0, 15, 21), "augment 0+1000, forward 10+10, backward 20+10, "
                                        "batch.size 20+0");
    CHECK_STR(read_text(&o, 0, 30, -1), "augment 0+1000, optimizer 30+10");
    CHECK_STR(read_text(&o, 0, -1, 5), "augment 0+1000, data 0+10");
    CHECK_STR(read_text(&o, 0, 1000, 2000), "");
    close_events(&o);
}

TEST(columns_that_are_not_wanted_come_as_zeros_and_the_rest_is_the_same)
{
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    recordkit_thread(k.events, 7, 7, 0, "U1000(D10 F10 N8 B10 O10)");
    recordkit_close(&k, 0, NS_PER_S, "finished");
    struct opened o = open_events(run);
    static const int64_t windows[][2] = {{0, 2000}, {15, 21}, {1000, 2000}};
    struct event_flow *flow = event_flow_open(&(struct event_want){0});
    for (size_t i = 0; i < COUNT_OF(windows); i++) {
        const struct flow_window w = {{KIT_START + windows[i][0]}, {KIT_START + windows[i][1]}};
        const struct run_event *some;
        struct run_event *v;
        struct err e;
        size_t n, at = 0;
        OK(events_read(o.run, o.tracks, w.from, w.to, &o.arena, &v, &n, &e));
        OK(event_flow_track(flow, o.run, o.tracks, &w, NULL, &e));
        for (size_t more; (more = event_flow_next(flow, &some)) > 0; at += more)
            for (size_t m = 0; m < more; m++) {
                const struct event *x = &some[m].event, *y = &v[at + m].event;
                CHECK(x->value == 0 && x->link == 0 && !x->args);
                CHECK(some[m].at.ns == v[at + m].at.ns && x->dur_ns == y->dur_ns);
                CHECK(x->kind == y->kind && x->category == y->category && x->mode == y->mode);
                CHECK_STR(x->name, y->name);
            }
        CHECK_INT(at, n);
    }
    event_flow_close(flow);
    close_events(&o);
}

TEST(long_spans_that_are_told_late_are_put_where_they_begin)
{
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    struct err e;
    const struct track t = {.kind = TRACK_THREAD, .pid = 7, .id = 7};
    struct sink *s = writer_sink(k.events);
    /* Far more than one block holds, and around all of them one span. */
    enum { SPANS = 200000 };
    for (int64_t i = 0; i < SPANS; i++) {
        const struct event v = {
            .at = {1000 + i * 100}, .dur_ns = 50, .kind = EVENT_SPAN, .name = "forward"};
        s->ops->events(s, &t, &v, 1);
        if (i % 1000 == 0)
            OK(writer_flush(k.events, false, &e));
    }
    const struct event around = {
        .at = {900}, .dur_ns = 100 * SPANS + 500, .kind = EVENT_SPAN, .name = "epoch"};
    s->ops->events(s, &t, &around, 1);
    recordkit_close(&k, 0, NS_PER_S, "finished");
    struct opened o = open_events(run);
    struct run_event *v;
    size_t n;
    OK(events_read(o.run, &o.tracks[0], (wall_ns){0}, (wall_ns){0}, &o.arena, &v, &n, &e));
    CHECK_INT(n, SPANS + 1);
    CHECK_STR(v[0].event.name, "epoch");
    for (size_t i = 1; i < n; i++)
        CHECK(v[i - 1].at.ns < v[i].at.ns);
    /* A short window late in the run still has the span around it. */
    CHECK_STR(read_text(&o, 0, 15000000, 15000040), "epoch 900+20000500, forward 15000000+50");
    close_events(&o);
}

TEST(processes_are_what_they_said_of_themselves)
{
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    for (uint32_t rank = 0; rank < 3; rank++) {
        const uint32_t pid = 300 - rank;
        recordkit_fact(k.events, pid, pid, "process.rank", rank);
        recordkit_fact(k.events, pid, pid, "process.world_size", 3);
        recordkit_fact(k.events, pid, pid, "process.local_rank", 2 - rank);
        recordkit_fact(k.events, pid, pid, "process.device", rank + 4);
        recordkit_thread(k.events, pid, pid, 100, "D1 F1 B1 O1");
    }
    recordkit_fact(k.events, 50, 50, "process.worker", 1);
    recordkit_thread(k.events, 50, 50, 100, "U5");
    recordkit_close(&k, 0, NS_PER_S, "finished");
    struct opened o = open_events(run);
    CHECK_INT(o.n_processes, 4);
    for (int64_t i = 0; i < 3; i++) {
        CHECK_INT(o.processes[i].rank, i);
        CHECK_INT(o.processes[i].pid, 300 - i);
        CHECK_INT(o.processes[i].world_size, 3);
        CHECK_INT(o.processes[i].local_rank, 2 - i);
        CHECK_INT(o.processes[i].device, 4 + i);
        CHECK_INT(o.processes[i].worker, -1);
        CHECK_STR(o.processes[i].name, "python train.py");
        CHECK_STR(o.processes[i].node, "a");
    }
    CHECK_INT(o.processes[3].pid, 50); /* no rank of its own: behind the others */
    CHECK_INT(o.processes[3].worker, 1);
    CHECK_INT(o.processes[3].rank, -1);
    CHECK_INT(o.n_tracks, 4);
    for (size_t i = 0; i < 4; i++) {
        CHECK_INT(o.tracks[i].index, i);
        CHECK_INT(o.tracks[i].process->pid, o.processes[i].pid);
    }
    close_events(&o);
}

TEST(a_process_alone_on_its_node_has_the_rank_of_its_launcher)
{
    const char *run = kit_run("r", "r", "r", KIT_START);
    for (int i = 0; i < 2; i++) {
        char json[256];
        struct recordkit k = recordkit_open(run, i ? "b" : "a");
        recordkit_thread(k.events, 70, 70, 100, "D1 F1 B1 O1");
        recordkit_fact(k.events, 71, 71, "process.worker", 0);
        recordkit_close(&k, 0, NS_PER_S, "finished");
        snprintf(json, sizeof json,
                 "{\"status\":\"finished\",\"launcher\":{\"name\":\"slurm\",\"rank\":%d,"
                 "\"world_size\":2,\"local_rank\":0}}",
                 1 - i);
        kit_node(run, i ? "b" : "a", 1, json);
    }
    struct opened o = open_events(run);
    CHECK_INT(o.n_processes, 4);
    CHECK_STR(o.processes[0].node, "a");
    CHECK_INT(o.processes[0].rank, 1);
    CHECK_INT(o.processes[0].world_size, 2);
    CHECK_INT(o.processes[2].rank, 0);
    CHECK_INT(o.processes[1].rank, -1);
    close_events(&o);
}

TEST(threads_come_before_devices_in_the_order_in_which_they_were_heard)
{
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    struct sink *s = writer_sink(k.events);
    const struct track gpu = {.kind = TRACK_DEVICE, .pid = 7, .id = 1, .name = "gpu0"};
    const struct event v = {.at = {10}, .dur_ns = 5, .kind = EVENT_SPAN, .name = "forward"};
    s->ops->events(s, &gpu, &v, 1);
    recordkit_thread(k.events, 7, 9, 500000, "U5");
    recordkit_thread(k.events, 7, 8, 700000, "U5");
    recordkit_thread(k.events, 7, 7, 100000, "U5");
    recordkit_close(&k, 0, NS_PER_S, "finished");
    struct opened o = open_events(run);
    CHECK_INT(o.n_tracks, 4);
    CHECK_INT(o.tracks[0].track.id, 7);
    CHECK_INT(o.tracks[1].track.id, 9);
    CHECK_INT(o.tracks[2].track.id, 8);
    CHECK_STR(o.tracks[3].track.name, "gpu0");
    CHECK_STR(read_text(&o, 3, -1, -1), "forward 10+5");
    close_events(&o);
}

TEST(sessions_of_a_node_and_detail_windows_are_told_apart)
{
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    recordkit_thread(k.events, 7, 7, 100, "D1");
    recordkit_close(&k, 0, 1000, "interrupted");
    k = recordkit_open(run, "a");
    recordkit_thread(k.events, 7, 7, 200000, "F2");
    const int64_t at[] = {200000, 300};
    struct err e;
    for (int i = 0; i < 2; i++) {
        struct writer *w = recordkit_beside(&k, i ? "trace-7-1" : "trace-7-0");
        recordkit_thread(w, 7, 7, at[i], "B3");
        OK(writer_close(w, &e));
    }
    recordkit_close(&k, 150000, 300000, "finished");
    struct opened o = open_events(run);
    CHECK_INT(o.n_processes, 2);
    CHECK_INT(o.processes[0].session, 1);
    CHECK_INT(o.processes[1].session, 2);
    CHECK_INT(o.n_tracks, 4);
    CHECK_STR(read_text(&o, 0, -1, -1), "data 100+1");
    CHECK_STR(read_text(&o, 1, -1, -1), "backward 300+3"); /* looked at while the first ran */
    CHECK_INT(o.tracks[1].process->session, 1);
    CHECK_STR(read_text(&o, 2, -1, -1), "forward 200000+2");
    CHECK_STR(read_text(&o, 3, -1, -1), "backward 200000+3");
    CHECK_INT(o.tracks[3].process->session, 2);
    CHECK(!o.tracks[0].detail && o.tracks[1].detail && !o.tracks[2].detail && o.tracks[3].detail);
    close_events(&o);
}

TEST(a_run_without_event_files_has_none_and_lost_none)
{
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    recordkit_close(&k, 0, NS_PER_S, "finished");
    CHECK(unlink(kit_path("r/node-a/events.fp")) == 0);
    unlink(kit_path("r/node-a/events.tail"));
    struct opened o = open_events(run);
    CHECK_INT(o.n_processes, 0);
    CHECK_INT(o.n_tracks, 0);
    struct run_loss *l;
    struct err e;
    size_t n;
    OK(run_losses(o.run, &o.arena, &l, &n, &e));
    CHECK_INT(n, 0);
    struct run_event *v;
    CHECK_INT(events_read(o.run, &(struct run_track){0}, (wall_ns){0}, (wall_ns){0}, &o.arena, &v,
                          &n, &e),
              ERR_NOT_FOUND);
    close_events(&o);
}

TEST(an_event_file_that_cannot_be_read_is_a_loss_and_hides_nothing_else)
{
    const char *run = kit_run("r", "r", "r", KIT_START);
    for (int i = 0; i < 2; i++) {
        struct recordkit k = recordkit_open(run, i ? "b" : "a");
        recordkit_thread(k.events, 7, 7, 100, "D1");
        recordkit_close(&k, 0, NS_PER_S, "finished");
    }
    kit_save(kit_path("r/node-a/events.fp"), "no such file format at all", 26);
    struct opened o = open_events(run);
    CHECK_INT(o.n_tracks, 1);
    CHECK_STR(o.tracks[0].process->node, "b");
    struct run_loss *l;
    struct err e;
    size_t n;
    OK(run_losses(o.run, &o.arena, &l, &n, &e));
    CHECK_INT(n, 1);
    CHECK_INT(l[0].loss.id, LOSS_DAMAGED);
    CHECK_STR(loss_what(&l[0].loss, (char[ENTITY_LEN]){0}), "events.fp");
    CHECK_STR(l[0].node, "a");
    close_events(&o);
}

TEST(losses_that_an_event_file_tells_are_the_runs)
{
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    recordkit_thread(k.events, 7, 7, 100, "D1");
    sink_loss(writer_sink(k.events), LOSS_EVENTS, LOST_PART("pid 7"), "the ring was full");
    recordkit_close(&k, 0, NS_PER_S, "finished");
    struct opened o = open_events(run);
    struct run_loss *l;
    struct run_size size;
    struct err e;
    size_t n;
    OK(run_losses(o.run, &o.arena, &l, &n, &e));
    CHECK_INT(n, 1);
    CHECK_INT(l[0].loss.id, LOSS_EVENTS);
    run_get_size(o.run, &size);
    struct buf b = {0};
    size_t bytes = 0;
    kit_load(&b, kit_path("r/node-a/events.fp"));
    bytes += b.len;
    b.len = 0;
    kit_load(&b, kit_path("r/node-a/metrics.fp"));
    bytes += b.len;
    buf_free(&b);
    CHECK_INT(size.file_bytes, bytes);
    close_events(&o);
}

TEST(a_recorder_that_was_killed_leaves_its_events_and_what_had_not_ended)
{
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    recordkit_thread(k.events, 7, 7, 1000, "D1 F1 B1 O1 D1 F500?");
    recordkit_thread(k.events, 7, 8, 1000, "U100 U100");
    const char *killed = recordkit_killed(&k, "killed");
    recordkit_close(&k, 0, NS_PER_S, "finished");
    struct opened o = open_events(killed);
    CHECK_INT(o.n_tracks, 2);
    struct run_event *v;
    struct err e;
    size_t n;
    OK(events_read(o.run, &o.tracks[0], (wall_ns){0}, (wall_ns){0}, &o.arena, &v, &n, &e));
    CHECK_INT(n, 6);
    CHECK(v[5].event.end != END_KNOWN);
    CHECK_INT(v[5].event.at.ns, 1005);
    close_events(&o);
}
