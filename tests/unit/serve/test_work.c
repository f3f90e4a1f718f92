/* SPDX-License-Identifier: Apache-2.0 */
/* test_work.c - jobs and the threads that do them. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "serve/work.h"
#include "test.h"

enum { JOBS = 200 };

struct count {
    _Atomic int done, ended, at_once, most_at_once;
};

struct counted {
    struct work_job job;
    struct count *count;
};

static void note_most(struct count *c, int now)
{
    int most = atomic_load(&c->most_at_once);
    while (now > most && !atomic_compare_exchange_weak(&c->most_at_once, &most, now))
        ;
}

static void run(struct work_job *j, bool ends)
{
    struct count *c = ((struct counted *)j)->count;
    note_most(c, atomic_fetch_add(&c->at_once, 1) + 1);
    if (!ends)
        usleep(200);
    atomic_fetch_sub(&c->at_once, 1);
    atomic_fetch_add(ends ? &c->ended : &c->done, 1);
}

static void add_all(struct work *w, struct counted *v, struct count *c, const char *key)
{
    for (int i = 0; i < JOBS; i++) {
        v[i] = (struct counted){.job = {.key = key, .run = run}, .count = c};
        work_add(w, &v[i].job);
    }
}

TEST(every_job_is_done_once_also_at_the_end)
{
    static struct counted v[JOBS];
    struct count c = {0};
    struct work *w;
    struct err e;
    CHECK(work_open(&w, 3, "test", &e) == 0);
    add_all(w, v, &c, NULL);
    work_close(w);
    CHECK(c.done + c.ended == JOBS && c.at_once == 0);
}

TEST(a_job_that_comes_after_the_end_is_refused_and_not_run)
{
    struct count c = {0};
    struct counted late = {.job = {.run = run}, .count = &c};
    struct work *w;
    struct err e;
    CHECK(work_open(&w, 3, "test", &e) == 0);
    work_end(w);
    CHECK(!work_add(w, &late.job));
    work_close(w);
    CHECK_INT(c.done + c.ended, 0);
}

TEST(jobs_of_one_key_are_never_done_at_once)
{
    static struct counted v[JOBS];
    struct count c = {0};
    struct work *w;
    struct err e;
    CHECK(work_open(&w, 4, "test", &e) == 0);
    add_all(w, v, &c, "run");
    while (c.done < JOBS)
        usleep(1000);
    work_close(w);
    CHECK(c.most_at_once == 1);
}

struct gate {
    struct work_job job;
    pthread_mutex_t *lock;
    _Atomic bool done;
};

static void pass(struct work_job *j, bool ends)
{
    struct gate *g = (struct gate *)j;
    (void)ends;
    if (g->lock) {
        pthread_mutex_lock(g->lock);
        pthread_mutex_unlock(g->lock);
    }
    atomic_store(&g->done, true);
}

/* Hangs here when the second of a key keeps the others from being done. */
TEST(a_job_whose_key_is_busy_lets_others_pass)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct gate slow = {.job = {.key = "a", .run = pass}, .lock = &lock};
    struct gate same = {.job = {.key = "a", .run = pass}};
    struct gate other = {.job = {.key = "b", .run = pass}};
    struct work *w;
    struct err e;
    CHECK(work_open(&w, 2, "test", &e) == 0);
    pthread_mutex_lock(&lock);
    work_add(w, &slow.job);
    work_add(w, &same.job);
    work_add(w, &other.job);
    while (!other.done)
        usleep(1000);
    CHECK(!slow.done && !same.done);
    pthread_mutex_unlock(&lock);
    while (!same.done)
        usleep(1000);
    CHECK(slow.done);
    work_close(w);
}
