/* SPDX-License-Identifier: Apache-2.0 */
/* thread.h - threads of the recorder and the server: small stacks, no signals, waits on the
 * monotonic clock. Work that one thread does ahead, and work that several share. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"

bool signal_among(int sig, const int *v, size_t n);
/* A signal that a program sends itself when it fails: SIGSEGV, SIGABRT... */
bool signal_is_crash(int sig);
/* All signals but those of a crash stay with the thread that started it. `name` shows in top and
 * gdb (15 letters). */
MUST_CHECK int thread_start(pthread_t *out, size_t stack, void *(*run)(void *), void *arg,
                            const char *name, struct err *e);
void thread_cond_init(pthread_cond_t *c);
/* Waits for the condition until a moment; false when that has come. SCHEDULE_NEVER waits on. */
bool thread_wait(pthread_cond_t *c, pthread_mutex_t *lock, mono_ns until);
/* Sets a flag that threads wait for, and wakes them. */
void thread_set_flag(bool *flag, pthread_mutex_t *lock, pthread_cond_t *c);
/* Sleeps until a moment, or until the flag is set; returns whether it is. */
bool thread_sleep(const bool *flag, pthread_mutex_t *lock, pthread_cond_t *c, mono_ns until);
/* A thread that may hang in a driver reports when it is done, so that its end is waited for only so
 * long. One that hangs is left alone: what it uses must then stay where it is. */
struct thread_end {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool done;
};

void thread_end_init(struct thread_end *t);
void thread_end_set(struct thread_end *t);
/* False when it has not ended after `ns`. */
bool thread_end_wait(struct thread_end *t, int64_t ns);

/* ---- items that a thread makes before they are needed ---- */

/* Items that a thread makes before they are needed.
 *
 * The caller has room for `slots` items, at least 2. `make` makes the next item in a slot; false:
 * there was none, and it is not called again. ahead_next returns the items in the order in which
 * they were made. An item stays valid until the next call of ahead_next or ahead_close; until then
 * the thread works on the other slots. `ctx` belongs to the thread, apart from the valid item. */

typedef bool ahead_make(void *ctx, size_t slot);

struct ahead;

/* Without `threaded`, or when no thread can be created, ahead_next makes each item itself. */
struct ahead *ahead_open(ahead_make *make, void *ctx, size_t slots, bool threaded);
/* False: there are no more items, and `ctx` belongs to the caller again. */
bool ahead_next(struct ahead *a, size_t *slot);
/* At any time. Waits for an item that is being made. NULL is fine. */
void ahead_close(struct ahead *a);

/* ---- a parallel for: the same work for many items, by as many threads as pay ---- */

struct parallel {
    size_t n;    /* items */
    size_t each; /* at least so many for a thread; fewer are done before it has started */
    /* Runs in each thread: does the items that parallel_next returns. Results go into the arena,
     * which belongs to the thread until all are done. */
    void (*work)(struct parallel *c, struct arena *results);
    void *ctx;
    atomic_size_t next;
};

/* The number of the next item; false: there is none left. */
static inline bool parallel_next(struct parallel *c, size_t *i)
{
    *i = atomic_fetch_add(&c->next, 1);
    return *i < c->n;
}

/* Does all of it; the results live in `a`. */
void parallel_run(struct parallel *c, struct arena *a);

#endif
