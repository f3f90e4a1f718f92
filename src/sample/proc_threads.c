/* SPDX-License-Identifier: Apache-2.0 */
/* proc_threads.c - see proc_threads.h. */
#include "sample/proc_threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/vec.h"
#include "sample/textscan.h"

enum { LIST_BUFFER = 4096, TEXT_SIZE = 128 };

static bool thread_read(int dir, const char *tid, struct thread_sched *out)
{
    char path[32], text[TEXT_SIZE];
    snprintf(path, sizeof path, "%.11s/schedstat", tid);
    const int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    const ssize_t n = read(fd, text, sizeof text);
    close(fd);
    return n > 0 && procfs_schedstat(text, (size_t)n, out);
}

/* The thread in the list before; it is in the same order, so the search goes on where it ended. */
static const struct thread_seen *thread_find(const struct proc_threads *t, size_t n_before,
                                             size_t *at, int tid)
{
    for (size_t i = *at; i < n_before; i++)
        if (t->before[i].tid == tid) {
            *at = i + 1;
            return &t->before[i];
        }
    return NULL;
}

static uint64_t thread_grown(uint64_t now, uint64_t last)
{
    return now > last ? now - last : 0;
}

static void threads_list(struct proc_threads *t, int dir, size_t n_before, struct thread_sched *sum)
{
    char buffer[LIST_BUFFER] __attribute__((aligned(_Alignof(struct dirent64))));
    size_t at = 0;
    for (long n; (n = syscall(SYS_getdents64, dir, buffer, sizeof buffer)) > 0;)
        for (long i = 0; i < n;) {
            const struct dirent64 *d = (const void *)(buffer + i);
            const char *p = d->d_name, *end = p + strlen(p);
            struct thread_seen x = {0};
            i += d->d_reclen;
            if (!scan_is_digit(*p) || !scan_int(&p, end, &x.tid) || p != end ||
                !thread_read(dir, d->d_name, &x.last))
                continue;
            const struct thread_seen *old = thread_find(t, n_before, &at, x.tid);
            sum->ran_ns += thread_grown(x.last.ran_ns, old ? old->last.ran_ns : 0);
            sum->waited_ns += thread_grown(x.last.waited_ns, old ? old->last.waited_ns : 0);
            *VEC_ADD(t->v, t->n, t->cap) = x;
        }
}

bool proc_threads_read(struct proc_threads *t, const char *proc, int pid, struct thread_sched *out)
{
    char path[PATH_MAX];
    struct thread_sched sum = {0};
    snprintf(path, sizeof path, "%s/%d/task", proc, pid);
    const int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return false;
    const struct proc_threads last = *t;
    *t = (struct proc_threads){
        .v = last.before, .cap = last.cap_before, .before = last.v, .cap_before = last.cap};
    threads_list(t, dir, last.n, &sum);
    close(dir);
    t->known = t->n > 0;
    if (!last.known || !t->known)
        return false;
    *out = sum;
    return true;
}

void proc_threads_close(struct proc_threads *t)
{
    free(t->v);
    free(t->before);
    *t = (struct proc_threads){0};
}
