/* SPDX-License-Identifier: Apache-2.0 */
/* proctree.h - which processes are the job's, and how long threads of one ran.
 *
 * A process is the job's when it is the first one, when its parent is the job's, or when its parent
 * is the recorder: the recorder is a child subreaper, so what the job leaves becomes its
 * child. Once a member, always a member, whatever its parent is later. A process is known by its
 * pid and its start time, so a pid that was given out again is not mistaken.
 *
 * proctree_open; then from time to time proctree_scan, which finds new members, and
 * proctree_refresh, which reads one; members that ended stay in their place, marked gone, until
 * proctree_sweep, so that the caller can settle its accounts with them. proctree_close. Needs no
 * probe: the recorder may have one of its own to see whether the tree has ended. Not for two
 * threads at once. */
#ifndef SAMPLE_PROCTREE_H
#define SAMPLE_PROCTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "sample/procfs.h"

enum { PROCTREE_MOST = 4096 }; /* members; more are not read */

struct proctree_member {
    bool used;
    bool gone;            /* ended and waited for; its place is free after the next sweep */
    bool ended;           /* a zombie; gone at once when no process of the job would wait for it */
    bool first;           /* was there when the tree was opened */
    int stat_fd;          /* stays open; -1: opened for each reading */
    unsigned scans;       /* how many scans have found it */
    struct pid_stat stat; /* as read last */
};

struct proctree;

/* Whether `proc` shows the pids that system calls take: it does not where it is of another pid
 * namespace, or not mounted. A folder made for a test may show anything. */
MUST_CHECK int proc_check(const char *proc, struct err *e);

/* `proc` is "/proc" outside tests; `self_pid` 0 when the recorder is not the job's parent (attach).
 * At most `keep_open` files stay open between readings. Fails when there is no such process and no
 * recorder whose children could be the job's, and where proc_check does. */
MUST_CHECK int proctree_open(struct proctree **out, const char *proc, int root_pid, int self_pid,
                             unsigned keep_open, struct err *e);
/* Processes of this session are not the job's, whatever their parent is: the recorder's helper. */
void proctree_leave_out(struct proctree *t, int session);
void proctree_close(struct proctree *t); /* NULL is fine */

/* Looks for new members. Returns how many there are now (that are not gone). A list of the folder
 * is made only when a process has begun since the last one. */
size_t proctree_scan(struct proctree *t);
/* Between scans: takes in what began since, when that is cheap to know. No scan in the sense of
 * a member's `scans`. */
void proctree_peek(struct proctree *t);
/* Reads the member again; false when it is gone. */
bool proctree_refresh(struct proctree *t, size_t i);
/* Frees the places of those that are gone. */
void proctree_sweep(struct proctree *t);

/* Members are at index 0 <= i < proctree_places; some places are not in use. A member's index does
 * not change while it exists. */
size_t proctree_places(const struct proctree *t);
const struct proctree_member *proctree_at(const struct proctree *t, size_t i);
/* Whether there were ever more than PROCTREE_MOST. */
bool proctree_overflowed(const struct proctree *t);

/* ---- the threads of a process ---- */

/* How long they ran, and how long they waited for a core. The kernel counts both for each thread
 * (/proc/PID/task/TID/schedstat), so their growth gives the mean number of runnable threads
 * exactly, where reading their states would give a sample. A reading costs about 4 us per thread;
 * the caller bounds how often it takes one. */

struct thread_seen {
    int tid;
    struct thread_sched last;
};

/* Zeroed: nothing is known. */
struct proc_threads {
    struct thread_seen *v, *before; /* in the order of the kernel's list */
    size_t n, cap, cap_before;
    bool known;
};

/* What all threads of the process ran and waited since the last reading. A thread that began since
 * counts whole; what one did between its last reading and its end is lost. False: this is the
 * first reading, or nothing can be read. */
bool proc_threads_read(struct proc_threads *t, const char *proc, int pid, struct thread_sched *out);
void proc_threads_close(struct proc_threads *t);

#endif
