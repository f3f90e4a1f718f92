/* SPDX-License-Identifier: Apache-2.0 */
/* thread.c - see thread.h. */
#include "base/thread.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"

bool signal_among(int sig, const int *v, size_t n)
{
    return FIND_ANY(i, n, v[i] == sig);
}

bool signal_is_crash(int sig)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    return signal_among(sig, crashes, COUNT_OF(crashes));
}

int thread_start(pthread_t *out, size_t stack, void *(*run)(void *), void *arg, const char *name,
                 struct err *e)
{
    pthread_attr_t attr;
    sigset_t all, before;
    sigfillset(&all);
    for (int sig = 1; sig <= SIGRTMAX; sig++)
        if (signal_is_crash(sig)) /* blocked, it would bypass the process's handler */
            sigdelset(&all, sig);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, stack);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int sys = pthread_create(out, &attr, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    if (sys) {
        errno = sys;
        return err_sys(e, "start thread %s", name);
    }
    pthread_setname_np(*out, name);
    return 0;
}

void thread_cond_init(pthread_cond_t *c)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(c, &attr);
    pthread_condattr_destroy(&attr);
}

bool thread_wait(pthread_cond_t *c, pthread_mutex_t *lock, mono_ns until)
{
    const struct timespec ts = {.tv_sec = until.ns / NS_PER_S, .tv_nsec = until.ns % NS_PER_S};
    return pthread_cond_timedwait(c, lock, &ts) != ETIMEDOUT;
}

void thread_set_flag(bool *flag, pthread_mutex_t *lock, pthread_cond_t *c)
{
    pthread_mutex_lock(lock);
    *flag = true;
    pthread_mutex_unlock(lock);
    pthread_cond_broadcast(c); /* after the lock, which a thread would wake up to wait for */
}

bool thread_sleep(const bool *flag, pthread_mutex_t *lock, pthread_cond_t *c, mono_ns until)
{
    pthread_mutex_lock(lock);
    while (!*flag && thread_wait(c, lock, until))
        ;
    const bool set = *flag;
    pthread_mutex_unlock(lock);
    return set;
}

void thread_end_init(struct thread_end *t)
{
    pthread_mutex_init(&t->lock, NULL);
    thread_cond_init(&t->changed);
    t->done = false;
}

void thread_end_set(struct thread_end *t)
{
    pthread_mutex_lock(&t->lock);
    t->done = true;
    pthread_cond_signal(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

bool thread_end_wait(struct thread_end *t, int64_t ns)
{
    return thread_sleep(&t->done, &t->lock, &t->changed, mono_add(clock_mono(), ns));
}

/* ---- items that a thread makes before they are needed ---- */

/* Three counts of items since the beginning, each with one writer, all under the lock:
 *
 *     released <= taken <= made <= released + slots,  taken - released <= 1
 *
 * Item i is in slot i % slots. The thread writes slot made % slots only while made < released +
 * slots, so that no item that is ready or in use has that slot. The caller reads slot released %
 * slots, which was made before `taken` passed it. The lock orders both. */

enum { STACK = 8 << 20 }; /* bytes; only what is touched costs memory */

struct ahead {
    ahead_make *make;
    void *ctx;
    size_t slots;
    bool threaded;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t made, taken, released;
    bool over; /* `make` returned false */
    bool stop; /* the caller does not want more */
};

static bool ahead_wait_for_slot(struct ahead *a)
{
    pthread_mutex_lock(&a->lock);
    while (a->made == a->released + a->slots && !a->stop)
        pthread_cond_wait(&a->changed, &a->lock);
    const bool go_on = !a->stop;
    pthread_mutex_unlock(&a->lock);
    return go_on;
}

/* Makes an item without the lock: its slot is free. */
static bool ahead_make_one(struct ahead *a)
{
    const bool good = a->make(a->ctx, a->made % a->slots);
    pthread_mutex_lock(&a->lock);
    a->made += good;
    a->over = !good;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
    return good;
}

static void *ahead_make_all(void *arg)
{
    struct ahead *a = arg;
    while (ahead_wait_for_slot(a) && ahead_make_one(a))
        ;
    return NULL;
}

struct ahead *ahead_open(ahead_make *make, void *ctx, size_t slots, bool threaded)
{
    assert(slots >= 2);
    struct ahead *a = xcalloc(1, sizeof *a);
    struct err ignored; /* then there is no thread */
    a->make = make;
    a->ctx = ctx;
    a->slots = slots;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    a->threaded =
        threaded && thread_start(&a->thread, STACK, ahead_make_all, a, "fp-ahead", &ignored) == 0;
    return a;
}

bool ahead_next(struct ahead *a, size_t *slot)
{
    pthread_mutex_lock(&a->lock);
    a->released = a->taken;
    pthread_cond_signal(&a->changed);
    while (a->threaded && a->made == a->taken && !a->over)
        pthread_cond_wait(&a->changed, &a->lock);
    pthread_mutex_unlock(&a->lock);
    if (!a->threaded && !a->over)
        ahead_make_one(a);
    pthread_mutex_lock(&a->lock);
    const bool some = a->made > a->taken;
    *slot = a->taken % a->slots;
    a->taken += some;
    assert(a->taken <= a->made && a->made <= a->released + a->slots);
    pthread_mutex_unlock(&a->lock);
    return some;
}

void ahead_close(struct ahead *a)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    a->stop = true;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
    if (a->threaded)
        pthread_join(a->thread, NULL);
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

/* ---- a parallel for ---- */

enum { THREADS_MOST = 8 };

struct parallel_worker {
    struct parallel *job;
    struct arena arena; /* of its results */
    pthread_t thread;
    bool started;
};

static void *parallel_work(void *arg)
{
    struct parallel_worker *w = arg;
    w->job->work(w->job, &w->arena);
    return NULL;
}

static size_t parallel_threads(const struct parallel *c)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const size_t most = cores > 1 ? MIN_OF((size_t)cores, (size_t)THREADS_MOST) : 1;
    return MAX_OF(MIN_OF(c->n / c->each, most), (size_t)1);
}

/* The caller is the first worker; without a thread that cannot be started, the others do its items.
 */
void parallel_run(struct parallel *c, struct arena *a)
{
    struct parallel_worker w[THREADS_MOST] = {0};
    const size_t n = parallel_threads(c);
    for (size_t i = 0; i < n; i++) {
        w[i].job = c;
        w[i].started = i > 0 && pthread_create(&w[i].thread, NULL, parallel_work, &w[i]) == 0;
    }
    parallel_work(&w[0]);
    for (size_t i = 0; i < n; i++) {
        if (w[i].started)
            pthread_join(w[i].thread, NULL);
        arena_join(a, &w[i].arena);
    }
}
