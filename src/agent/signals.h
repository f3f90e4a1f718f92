/* SPDX-License-Identifier: Apache-2.0 */
/* signals.h - the signals of the recorder, as something to poll.
 * While open, everything that can be caught is blocked and comes through a descriptor, so that no
 * signal ends the recorder; one that was ignored when the recorder started (nohup) stays ignored.
 * The signals of a crash (SIGSEGV, SIGABRT...) are not among them: see keeper.h. The job gets back
 * exactly what the recorder inherited. */
#ifndef AGENT_SIGNALS_H
#define AGENT_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

#include "base/err.h"

struct signals {
    int fd;
    sigset_t inherited; /* mask */
    struct sigaction old_chld, old_pipe, old_xfsz;
    bool hid[2]; /* signals 32 and 33 are ignored; see signals.c */
};

/* A signal that came. */
struct signal_news {
    int sig;       /* 0: none */
    bool terminal; /* the terminal sent it, to a whole process group */
};

/* Worth a mark in the record. */
bool signal_is_marked(int sig);
/* Requests the end of the job: the run then counts as interrupted. */
bool signal_interrupts(int sig);
/* Stops a process, and can be caught. */
bool signal_stops(int sig);
/* "SIGKILL"; any signal. */
const char *signal_name(int sig, char *buf, size_t size);

MUST_CHECK int signals_open(struct signals *s, struct err *e);
/* In the child between fork and exec. */
void signals_restore_in_child(const struct signals *s);
/* The next signal that waits and is the job's or SIGCHLD; what the recorder has brought upon itself
 * (a write beyond its limits) is left out. */
struct signal_news signals_next(struct signals *s);
/* Signals stay blocked and SIGPIPE and SIGXFSZ ignored: what else has to be written cannot end the
 * process. */
void signals_close(struct signals *s);

#endif
