/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>

#include "query/recordkit.h"
#include "query/sync_places.h"
#include "test.h"

/* A total that a thread emits at a time, in microseconds. */
static void emit_total(struct writer *w, uint32_t pid, uint64_t tid, int64_t at_us,
                       const char *name, int64_t value)
{
    struct track t = {.kind = TRACK_THREAD, .pid = pid, .id = tid};
    snprintf(t.process, sizeof t.process, "python train.py");
    const struct event v = {
        .at = {at_us * NS_PER_US}, .kind = EVENT_COUNT, .name = name, .value = value};
    struct sink *s = writer_sink(w);
    s->ops->events(s, &t, &v, 1);
}

/* "a/7 item train.py:31 3x 2.5, ..." */
static const char *places_text(const char *path)
{
    static char out[1024];
    struct arena a = {0};
    struct run *r;
    struct sync_place *v;
    struct err e;
    size_t n, len = 0;
    OK(run_open(&r, path, &e));
    OK(sync_places_read(r, PLACES_SYNC, &a, &v, &n, &e));
    run_close(r);
    out[0] = '\0';
    for (size_t i = 0; i < n; i++)
        len += (size_t)snprintf(out + len, sizeof out - len, "%s%s/%u [%s] [%s] %" PRIu64 "x %g",
                                i ? ", " : "", v[i].process->node, (unsigned)v[i].process->pid,
                                v[i].op, v[i].where, v[i].count, v[i].seconds);
    arena_free(&a);
    return out;
}

static const char *run_new(struct recordkit *k)
{
    const char *run = kit_run("r", "r", "r", KIT_START);
    *k = recordkit_open(run, "a");
    return run;
}

TEST(the_last_total_of_each_place_counts_and_the_longest_wait_comes_first)
{
    struct recordkit k;
    const char *run = run_new(&k);
    emit_total(k.events, 7, 7, 10, "sync.calls item train.py:31", 2);
    emit_total(k.events, 7, 7, 10, "sync.ns item train.py:31", 500000000);
    emit_total(k.events, 7, 7, 20, "sync.calls item train.py:31", 5);
    emit_total(k.events, 7, 7, 20, "sync.ns item train.py:31", 1500000000);
    emit_total(k.events, 7, 7, 20, "sync.calls to my file.py:4", 1);
    emit_total(k.events, 7, 7, 20, "sync.ns to my file.py:4", 2000000000);
    recordkit_close(&k, 0, NS_PER_S, "finished");
    CHECK_STR(places_text(run), "a/7 [to] [my file.py:4] 1x 2, a/7 [item] [train.py:31] 5x 1.5");
}

TEST(a_total_that_stopped_growing_long_before_the_end_is_found)
{
    struct recordkit k;
    const char *run = run_new(&k);
    emit_total(k.events, 7, 7, 1, "sync.calls item early.py:1", 9);
    emit_total(k.events, 7, 7, 1, "sync.ns item early.py:1", 250000000);
    for (int64_t i = 0; i < 200000; i++) {
        emit_total(k.events, 7, 7, 2 + i, "batch.size", 32);
        if (i % 50000 == 0)
            emit_total(k.events, 7, 7, 2 + i, "sync.calls item train.py:31", 1 + i);
    }
    recordkit_close(&k, 0, NS_PER_S, "finished");
    CHECK_STR(places_text(run),
              "a/7 [item] [early.py:1] 9x 0.25, a/7 [item] [train.py:31] 150001x nan");
}

TEST(threads_of_a_process_share_their_totals_and_processes_do_not)
{
    struct recordkit k;
    const char *run = run_new(&k);
    emit_total(k.events, 7, 7, 1, "sync.calls item train.py:31", 4);
    emit_total(k.events, 7, 8, 2, "sync.calls item train.py:31", 6);
    emit_total(k.events, 8, 8, 1, "sync.calls item train.py:31", 5);
    recordkit_close(&k, 0, NS_PER_S, "finished");
    CHECK_STR(places_text(run), "a/7 [item] [train.py:31] 6x nan, a/8 [item] [train.py:31] 5x nan");
}

TEST(what_has_no_operation_is_a_place_and_other_names_are_not)
{
    struct recordkit k;
    const char *run = run_new(&k);
    emit_total(k.events, 7, 7, 1, "sync.calls elsewhere", 4);
    emit_total(k.events, 7, 7, 1, "sync.ns elsewhere", 1000);
    emit_total(k.events, 7, 7, 1, "sync.short", 77);
    emit_total(k.events, 7, 7, 1, "sync.nsx item a.py:1", 77);
    recordkit_thread(k.events, 7, 7, 2000, "F5000");
    recordkit_close(&k, 0, NS_PER_S, "finished");
    CHECK_STR(places_text(run), "a/7 [] [elsewhere] 4x 1e-06");
}

TEST(a_run_without_waits_has_no_places)
{
    struct recordkit k;
    const char *run = run_new(&k);
    recordkit_thread(k.events, 7, 7, 0, "F9000");
    recordkit_close(&k, 0, NS_PER_S, "finished");
    CHECK_STR(places_text(run), "");
}
