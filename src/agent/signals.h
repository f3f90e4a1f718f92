/* SPDX-License-Identifier: Apache-2.0 */
/* signals.h - the signals of the recorder, as something to poll.
 * While open, those that are passed on to the job are blocked and come through a descriptor; one
 * that was ignored when the recorder started (nohup) stays ignored. The job gets back exactly what
 * the recorder inherited. */
#ifndef AGENT_SIGNALS_H
#define AGENT_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

#include "base/err.h"

struct signals {
    int fd;
    sigset_t inherited; /* mask */
    struct sigaction old_chld, old_pipe;
};

struct signal_row {
    int sig;
    const char *name;
    bool mark;       /* worth a mark in the record */
    bool interrupts; /* asks the job to end: the run then counts as interrupted */
};

/* NULL when the signal is not one that is passed on. */
const struct signal_row *signal_row_of(int sig);
/* "SIGKILL"; any signal. */
const char *signal_name(int sig, char *buf, size_t size);

MUST_CHECK int signals_open(struct signals *s, struct err *e);
/* In the child between fork and exec. */
void signals_restore_in_child(const struct signals *s);
/* The next signal that waits, 0 when there is none. */
int signals_next(struct signals *s);
void signals_close(struct signals *s);

#endif
