/* SPDX-License-Identifier: Apache-2.0 */
/* keeper.h - saves the job and its exit status when the recorder itself crashes (SIGSEGV, SIGBUS
 * from a file that was cut off, no memory) or is ended after the job.
 *
 * Before the job runs, a crash starts it without recording. While it runs, a crash turns this
 * process into one that only passes signals on and waits for the job: execve preserves the pid, the
 * children and what waits for them. After it, the exit status is known and a crash ends with it.
 *
 * keeper_start; keeper_child and keeper_running as the job comes; keeper_ended. One per process. */
#ifndef AGENT_KEEPER_H
#define AGENT_KEEPER_H

#include <stdbool.h>
#include <sys/types.h>

#include "agent/job.h"
#include "agent/signals.h"

/* The first word of the command line after a crash; only the keeper uses what follows. */
#define KEEPER_WORD "--keep-job"

/* refuse: a job that cannot be recorded is not to be started. argv stays the caller's. */
void keeper_start(const char *const *argv, bool refuse);
/* What has to be undone before the job can be started without recording; NULL: nothing. */
void keeper_signals(const struct signals *s);
/* The child that will be the job; 0: it has ended again. */
void keeper_child(pid_t pid);
void keeper_running(const struct job *j);
/* The job's first process has ended. */
void keeper_ended(int status);
/* From here on a signal that would end the process ends it with the job's exit status. */
void keeper_let_go(const struct signals *s);

/* Becomes the job, as if the recorder had never been there. Returns only when it cannot be run,
 * with errno. */
int keeper_become(const char *const *argv);

/* main, after a crash; argv as keeper.c has written it. */
int keeper_main(int argc, char **argv);

#endif
