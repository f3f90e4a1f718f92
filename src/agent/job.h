/* SPDX-License-Identifier: Apache-2.0 */
/* job.h - the job: started as a child, or attached to.
 *
 * A job that we start alone at the terminal (or without one) leads a process group, and the
 * terminal's foreground changes hands with it. Where other processes share our group (a pipe, a
 * script), taking the terminal from them would stop them: the job then stays in that group, as it
 * would without us, and gets the terminal's signals directly.
 *
 * job_fork makes the process and stops it before exec, so that probes can take their first reading
 * of it; job_release lets it go, job_cancel ends it. Nothing ties the job to the recorder: it has
 * the recorder's own stdin, stdout and stderr, no pipe to it and no death signal, so it continues
 * when the recorder is killed. */
#ifndef AGENT_JOB_H
#define AGENT_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "agent/signals.h"
#include "base/err.h"
#include "sample/procfs.h"

/* ---- the tree of processes ---- */

/* Which processes of the job are still there.
 * The recorder is the reaper of the job's orphans, so the job is everything below the recorder. A
 * process that moved to another session wants to outlive the job: a daemon. */

enum { JOBTREE_MOST = 64 };

struct job_process {
    pid_t pid, group;
    bool daemon; /* has another session */
    char name[COMM_LEN];
};

struct jobtree {
    size_t members, daemons; /* how many there are; the list below may be shorter */
    size_t n;
    struct job_process list[JOBTREE_MOST];
};

/* The living descendants of `self`; those in its session `session` are members of the job, those of
 * the session `helper` (0: none) are not counted. None where /proc does not show them. */
void jobtree_scan(struct jobtree *out, pid_t self, pid_t session, pid_t helper);

/* ---- the job ---- */

struct job {
    pid_t pid;
    bool attached;
    int pidfd; /* of an attached one; -1 where the kernel has none */
    int tty;   /* our terminal; -1: none */
    bool opened_tty, gave_tty;
    bool shares_group; /* with us and our neighbours, which use the terminal too */
    int gate;          /* write end: a byte lets the child go */
    int fault;         /* read end: errno of a failed exec, or end of file */
    bool exited;       /* the first process */
    int status;        /* its exit status, 128+n for signal n; -1 while it is not known */
    int signal;        /* that ended it, 0: none */
};

/* What the children did since last time. */
struct job_news {
    bool exited; /* the first process ended just now */
    int stopped; /* signal that stopped it just now; 0: none */
    bool alone;  /* no child is left at all */
};

/* `envp`: the job's environment. */
MUST_CHECK int job_fork(struct job *j, const char *const argv[], char *const envp[],
                        const struct signals *s, struct err *e);
/* When the program cannot be run: "cannot run 'x': No such file or directory", and j->status is 127
 * (not found) or 126. The child has ended then. */
MUST_CHECK int job_release(struct job *j, const char *program, struct err *e);
void job_cancel(struct job *j);
/* A child of ours that runs already. */
void job_adopt(struct job *j, pid_t pid, bool shares_group);
MUST_CHECK int job_attach(struct job *j, pid_t pid, struct err *e);

/* Reaps everything that has ended, adopted orphans too. Never waits. */
struct job_news job_reap(struct job *j);
/* Whether an attached job has ended. */
bool job_is_gone(struct job *j);
/* To the job's process group, or its first process where it shares ours; and to what is left of it
 * (may be NULL) besides. */
void job_signal(struct job *j, int sig, const struct jobtree *left);
/* The job was stopped from its terminal (Ctrl-Z): take the terminal, stop the recorder's group the
 * same way, and continue together with it. Returns then. False: the job stays stopped,
 * because it waits for a terminal that cannot be given to it. */
bool job_stop_together(struct job *j, int sig);
/* After SIGCONT: gives the terminal back to the job when it is ours to give. */
void job_continue(struct job *j);
void job_take_terminal(struct job *j);
void job_close(struct job *j);

#endif
