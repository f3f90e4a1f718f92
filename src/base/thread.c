/* SPDX-License-Identifier: Apache-2.0 */
/* thread.c - see thread.h. */
#include "base/thread.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#include "base/mem.h"

bool signal_among(int sig, const int *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (v[i] == sig)
            return true;
    return false;
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

void thread_end_init(struct thread_end *t)
{
    pthread_mutex_init(&t->lock, NULL);
    thread_cond_init(&t->changed);
    t->done = false;
}

void thread_end_tell(struct thread_end *t)
{
    pthread_mutex_lock(&t->lock);
    t->done = true;
    pthread_cond_signal(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

bool thread_end_wait(struct thread_end *t, int64_t ns)
{
    const mono_ns until = mono_add(clock_mono(), ns);
    pthread_mutex_lock(&t->lock);
    while (!t->done && thread_wait(&t->changed, &t->lock, until))
        ;
    const bool done = t->done;
    pthread_mutex_unlock(&t->lock);
    return done;
}
