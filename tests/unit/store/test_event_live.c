/* SPDX-License-Identifier: Apache-2.0 */
/* Events of a run that is going on: one thread writes and another reads, many tell, one dies. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/eventkit.h"
#include "test.h"

enum { LIVE_EVENTS = 400000, LIVE_BATCH = 2000 };

struct live {
    struct kit_pair w;
    atomic_int flushed; /* events that a reader must see */
    atomic_int opened;
    atomic_bool done;
};

static void *live_write(void *arg)
{
    struct live *l = arg;
    const struct track t = kit_track(0);
    struct err e;
    for (int i = 0; i < LIVE_EVENTS; i++) {
        kit_tell(writer_sink(l->w.events), &t,
                 &(struct event){.at = {i * 100},
                                 .dur_ns = 60,
                                 .kind = EVENT_SPAN,
                                 .name = i % 2 ? "odd" : "even",
                                 .value = i});
        if (i % LIVE_BATCH == LIVE_BATCH - 1) {
            if (writer_flush(l->w.events, false, &e))
                abort();
            atomic_store(&l->flushed, i + 1);
            while (atomic_load(&l->opened) < i / (LIVE_EVENTS / 10))
                usleep(1000);
        }
    }
    atomic_store(&l->done, true);
    return NULL;
}

static void live_check(const struct kit_events *got, int least)
{
    CHECK(got->n >= (size_t)least);
    for (size_t i = 0; i < got->n; i++) {
        CHECK_INT(got->v[i].event.value, i);
        CHECK_INT(got->v[i].event.at.ns, i * 100);
        CHECK_STR(got->v[i].event.name, i % 2 ? "odd" : "even");
    }
}

TEST(a_reader_beside_the_writer_never_misses_or_doubles_a_flushed_event)
{
    struct live l = {.w = kit_open_pair(kit_path("node-a"))};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, live_write, &l) == 0);
    while (!atomic_load(&l.done)) {
        const int least = atomic_load(&l.flushed);
        struct kit_events got = kit_events_path(kit_path("node-a/events.fp"));
        live_check(&got, least);
        kit_events_free(&got);
        atomic_fetch_add(&l.opened, 1);
    }
    pthread_join(thread, NULL);
    CHECK(writer_tail(l.w.events) > 1); /* it was sealed meanwhile */
    kit_close_pair(&l.w);
    struct kit_events got = kit_events_path(kit_path("node-a/events.fp"));
    live_check(&got, LIVE_EVENTS);
    kit_events_free(&got);
}

struct teller {
    struct writer *w;
    unsigned number;
};

static void *tell_many(void *arg)
{
    const struct teller *me = arg;
    const struct track t = kit_track(me->number);
    struct event v[50];
    for (int i = 0; i < 400; i++) {
        char own[32];
        snprintf(own, sizeof own, "own %u %d", me->number, i % 20);
        for (int k = 0; k < 50; k++)
            v[k] = (struct event){.at = {i * 1000 + k},
                                  .kind = EVENT_COUNT,
                                  .value = i * 50 + k,
                                  .name = k % 5 ? "shared" : own};
        writer_sink(me->w)->ops->events(writer_sink(me->w), &t, v, 50);
    }
    return NULL;
}

TEST(many_threads_may_tell_events_while_one_flushes)
{
    enum { THREADS = 4 };
    struct kit_pair w = kit_open_pair(kit_path("node-a"));
    struct teller tellers[THREADS];
    pthread_t threads[THREADS];
    struct err e;
    for (unsigned i = 0; i < THREADS; i++) {
        tellers[i] = (struct teller){w.events, i};
        CHECK(pthread_create(&threads[i], NULL, tell_many, &tellers[i]) == 0);
    }
    for (int i = 0; i < 20; i++) {
        OK(writer_flush(w.events, false, &e));
        (void)writer_pending(w.events);
        (void)writer_tail(w.events);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    kit_close_pair(&w);
    struct kit_events got = kit_events_path(kit_path("node-a/events.fp"));
    CHECK_INT(got.n, THREADS * 20000);
    for (size_t i = 0; i < got.n; i++) { /* sorted by process, then time */
        CHECK_INT(got.v[i].track.pid, 100 + i / 20000);
        CHECK_INT(got.v[i].event.value, i % 20000);
    }
    kit_events_free(&got);
}

TEST(a_crash_leaves_every_flushed_event)
{
    int status;
    const struct track t = kit_track(0);
    const char *dir = kit_path("node-a"); /* before there are two processes */
    if (fork() == 0) {
        struct kit_pair w = kit_open_pair(dir);
        struct err e;
        for (int i = 0; i < 10; i++)
            kit_tell(writer_sink(w.events), &t,
                     &(struct event){.at = {i}, .kind = EVENT_MARK, .name = "x"});
        if (writer_flush(w.events, true, &e))
            _exit(1);
        kit_tell(writer_sink(w.events), &t, &(struct event){.kind = EVENT_MARK, .name = "lost"});
        _exit(0);
    }
    CHECK(wait(&status) > 0 && status == 0);
    struct kit_events got = kit_events_path(kit_path("node-a/events.fp"));
    CHECK_INT(got.n, 10);
    kit_events_free(&got);
}
