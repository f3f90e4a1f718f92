/* SPDX-License-Identifier: Apache-2.0 */
/* thread.h - threads of the recorder and the server: small stacks, no signals, waits on the
 * monotonic clock. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

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
/* A thread that may hang in a driver says when it is done, so that its end is waited for only so
 * long. One that hangs is left alone: what it uses must then stay where it is. */
struct thread_end {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool done;
};

void thread_end_init(struct thread_end *t);
void thread_end_tell(struct thread_end *t);
/* False when it has not ended after `ns`. */
bool thread_end_wait(struct thread_end *t, int64_t ns);

#endif
