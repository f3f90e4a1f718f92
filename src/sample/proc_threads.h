/* SPDX-License-Identifier: Apache-2.0 */
/* proc_threads.h - how long the threads of a process ran, and how long they waited for a core.
 *
 * The kernel counts both for each thread (/proc/PID/task/TID/schedstat), so their growth gives the
 * mean number of runnable threads exactly, where a look at their states would be a sample. A
 * reading costs about 4 us per thread; the caller bounds how often it takes one. */
#ifndef SAMPLE_PROC_THREADS_H
#define SAMPLE_PROC_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sample/procfs.h"

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
