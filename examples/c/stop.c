/* SPDX-License-Identifier: Apache-2.0 */
/* stop.c - asks the kernel which signals are pending instead of running a handler: no global. */
#include "stop.h"

#include <pthread.h>
#include <stddef.h>

/* A signal that whoever started us chose to ignore stays ignored. */
static void hold_unless_ignored(sigset_t *held, int signal)
{
    struct sigaction old;
    if (sigaction(signal, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaddset(held, signal);
}

void stop_start(struct stop *s, double deadline_s)
{
    s->deadline_s = deadline_s;
    sigemptyset(&s->held);
    hold_unless_ignored(&s->held, SIGINT);
    hold_unless_ignored(&s->held, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &s->held, NULL);
}

static bool came(const struct stop *s, const sigset_t *pending, int signal)
{
    return sigismember(&s->held, signal) == 1 && sigismember(pending, signal) == 1;
}

bool stop_is_due(const struct stop *s, double now_s)
{
    sigset_t pending;
    if (now_s >= s->deadline_s)
        return true;
    return sigpending(&pending) == 0 && (came(s, &pending, SIGINT) || came(s, &pending, SIGTERM));
}

void stop_finish(const struct stop *s)
{
    pthread_sigmask(SIG_UNBLOCK, &s->held, NULL);
}
