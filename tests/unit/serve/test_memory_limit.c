/* SPDX-License-Identifier: Apache-2.0 */
/* test_memory_limit.c - small work goes on side by side, large work alone. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/mem.h"
#include "serve/limits.h"
#include "test.h"

enum { THREADS = 8, TIMES = 20, SMALL = 1 << 20, LARGE = 1 << 30 };

struct shared {
    struct memory_limit *limit;
    atomic_int large, all, most_large, most_all, most_beside_large;
};

struct worker {
    struct shared *shared;
    uint64_t bytes;
    pthread_t thread;
};

static void note_most(atomic_int *most, int now)
{
    int before = atomic_load(most);
    while (now > before && !atomic_compare_exchange_weak(most, &before, now))
        ;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct shared *s = w->shared;
    for (int i = 0; i < TIMES; i++) {
        const uint64_t bytes = memory_limit_enter(s->limit, w->bytes);
        const int large = w->bytes == LARGE;
        const int n_large = atomic_fetch_add(&s->large, large) + large;
        const int n = atomic_fetch_add(&s->all, 1) + 1;
        note_most(&s->most_all, n);
        note_most(&s->most_large, n_large);
        if (n_large)
            note_most(&s->most_beside_large, n);
        usleep(500);
        atomic_fetch_sub(&s->all, 1);
        atomic_fetch_sub(&s->large, large);
        memory_limit_leave(s->limit, bytes);
    }
    return NULL;
}

static void run_all(struct shared *s, unsigned n_large)
{
    struct worker w[THREADS];
    heap_set_up();
    s->limit = memory_limit_open();
    for (unsigned i = 0; i < THREADS; i++) {
        w[i] = (struct worker){.shared = s, .bytes = i < n_large ? LARGE : SMALL};
        CHECK_INT(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(w[i].thread, NULL);
    memory_limit_close(s->limit);
}

TEST(small_runs_are_worked_on_side_by_side)
{
    struct shared s = {0};
    run_all(&s, 0);
    CHECK(s.most_all > 1);
}

TEST(a_large_run_is_worked_on_alone_and_gets_its_turn)
{
    struct shared s = {0};
    run_all(&s, 3);
    CHECK_INT(s.most_large, 1);
    CHECK_INT(s.most_beside_large, 1);
    CHECK_INT(s.all, 0);
}
