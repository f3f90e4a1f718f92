/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - see job.h. */
#include "agent/job.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"
#include "sample/procfs.h"
#include "sample/proctree.h"

/* ==== the tree of processes ==== */

static bool read_stat(int proc, const char *pid, struct pid_stat *out)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "%.16s/stat", pid);
    const int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    const ssize_t n = read(fd, text, sizeof text);
    close(fd);
    return n > 0 && procfs_pid_stat(text, (size_t)n, out);
}

static bool proc_is_ours(void)
{
    struct err ignored;
    return proc_check("/proc", &ignored) == 0;
}

/* Whether other processes are in our process group: neighbours in a pipe, the script that started
 * us. */
static bool jobtree_group_has_others(void)
{
    bool found = false;
    const pid_t group = getpgrp(), self = getpid();
    DIR *d = proc_is_ours() ? opendir("/proc") : NULL;
    for (const struct dirent *f = d ? readdir(d) : NULL; f && !found; f = readdir(d)) {
        const pid_t pid = isdigit((unsigned char)f->d_name[0]) ? atoi(f->d_name) : 0;
        found = pid > 0 && pid != self && getpgid(pid) == group;
    }
    if (d)
        closedir(d);
    return found;
}

static struct pid_stat *jobtree_read_all(size_t *n)
{
    struct pid_stat *all = NULL;
    size_t cap = 0;
    DIR *d = opendir("/proc");
    *n = 0;
    for (const struct dirent *f = d ? readdir(d) : NULL; f; f = readdir(d)) {
        if (!isdigit((unsigned char)f->d_name[0]))
            continue;
        VEC_ROOM(all, cap, *n + 1);
        *n += read_stat(dirfd(d), f->d_name, &all[*n]);
    }
    if (d)
        closedir(d);
    return all;
}

/* Whether the process is below `self`: its parents are followed up. The count bounds a loop that a
 * pid used anew between two reads could make. */
static bool is_below(const struct pid_stat *all, size_t n, pid_t pid, pid_t self)
{
    for (size_t hops = 0; pid > 1 && hops < n; hops++) {
        const size_t i = FIND_FIRST(k, n, all[k].pid == pid);
        if (i == n)
            return false;
        pid = all[i].ppid;
        if (pid == self)
            return true;
    }
    return false;
}

static void jobtree_add(struct jobtree *t, const struct pid_stat *s, pid_t session)
{
    const bool daemon = s->session != session;
    t->members += !daemon;
    t->daemons += daemon;
    if (t->n == JOBTREE_MOST)
        return;
    struct job_process *p = &t->list[t->n++];
    *p = (struct job_process){.pid = s->pid, .group = s->pgid, .daemon = daemon};
    snprintf(p->name, sizeof p->name, "%s", s->comm);
}

void jobtree_scan(struct jobtree *out, pid_t self, pid_t session, pid_t helper)
{
    size_t n;
    *out = (struct jobtree){0};
    if (!proc_is_ours())
        return;
    struct pid_stat *all = jobtree_read_all(&n);
    for (size_t i = 0; i < n; i++)
        if (!pid_stat_ended(&all[i]) && (!helper || all[i].session != helper) &&
            is_below(all, n, all[i].pid, self))
            jobtree_add(out, &all[i], session);
    free(all);
}

/* ==== the job ==== */

enum { STATUS_NOT_FOUND = 127, STATUS_CANNOT_RUN = 126 };

/* Between fork and exec only calls that are safe there. */
static _Noreturn void job_child(const struct job *j, const char *const argv[], char *const envp[],
                                const struct signals *s, int gate, int fault)
{
    char go;
    ssize_t n;
    if (!j->shares_group)
        setpgid(0, 0);
    do
        n = read(gate, &go, 1);
    while (n < 0 && errno == EINTR);
    if (n != 1)
        _exit(STATUS_CANNOT_RUN); /* the recorder gave up before the start */
    signals_restore_in_child(s);
    execvpe(argv[0], (char *const *)(uintptr_t)argv, envp); /* exec does not write to it */
    const int sys = errno;
    (void)!write(fault, &sys, sizeof sys);
    _exit(STATUS_CANNOT_RUN);
}

static void start_empty(struct job *j)
{
    *j = (struct job){.pidfd = -1, .tty = -1, .gate = -1, .fault = -1, .status = -1};
}

/* All three may be redirected; /dev/tty is still the terminal. */
static void find_terminal(struct job *j)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && j->tty < 0; fd++)
        if (tcgetpgrp(fd) > 0)
            j->tty = fd;
    if (j->tty >= 0)
        return;
    const int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (fd >= 0 && tcgetpgrp(fd) > 0) {
        j->tty = fd;
        j->opened_tty = true;
    } else if (fd >= 0) {
        close(fd);
    }
}

static bool is_in_front(const struct job *j)
{
    return j->tty >= 0 && tcgetpgrp(j->tty) == getpgrp();
}

int job_fork(struct job *j, const char *const argv[], char *const envp[], const struct signals *s,
             struct err *e)
{
    int gate[2], fault[2];
    start_empty(j);
    if (pipe2(gate, O_CLOEXEC) < 0)
        return err_sys(e, "pipe");
    if (pipe2(fault, O_CLOEXEC) < 0) {
        const int rc = err_sys(e, "pipe");
        close(gate[0]);
        close(gate[1]);
        return rc;
    }
    find_terminal(j);
    j->shares_group = is_in_front(j) && jobtree_group_has_others();
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    j->pid = fork();
    if (j->pid == 0) {
        close(gate[1]);
        job_child(j, argv, envp, s, gate[0], fault[1]);
    }
    const int sys = errno;
    close(gate[0]);
    close(fault[1]);
    j->gate = gate[1];
    j->fault = fault[0];
    if (j->pid < 0) {
        job_close(j);
        errno = sys;
        return err_sys(e, "cannot start a process");
    }
    if (!j->shares_group)
        setpgid(j->pid, j->pid); /* here too: whichever of the two comes first */
    return 0;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void give_terminal(struct job *j)
{
    if (!j->shares_group && is_in_front(j))
        j->gave_tty = tcsetpgrp(j->tty, j->pid) == 0;
}

/* The errno that exec failed with; 0 when it went through, which closed the pipe. */
static int wait_for_exec(const struct job *j)
{
    int sys = 0;
    ssize_t n;
    do
        n = read(j->fault, &sys, sizeof sys);
    while (n < 0 && errno == EINTR);
    return n == sizeof sys ? sys : 0;
}

int job_release(struct job *j, const char *program, struct err *e)
{
    give_terminal(j);
    (void)!write(j->gate, "", 1);
    close_fd(&j->gate);
    const int sys = wait_for_exec(j);
    close_fd(&j->fault);
    if (sys == 0)
        return 0;
    waitpid(j->pid, NULL, 0);
    job_take_terminal(j);
    j->exited = true;
    j->status = sys == ENOENT || sys == ENOTDIR ? STATUS_NOT_FOUND : STATUS_CANNOT_RUN;
    errno = sys;
    return err_sys(e, "cannot run '%s'", program);
}

void job_cancel(struct job *j)
{
    close_fd(&j->gate);
    close_fd(&j->fault);
    waitpid(j->pid, NULL, 0);
    j->exited = true;
}

void job_adopt(struct job *j, pid_t pid, bool shares_group)
{
    start_empty(j);
    j->pid = pid;
    j->shares_group = shares_group;
    find_terminal(j);
    j->gave_tty = !shares_group && j->tty >= 0 && tcgetpgrp(j->tty) == pid;
}

int job_attach(struct job *j, pid_t pid, struct err *e)
{
    start_empty(j);
    if (pid <= 0 || (kill(pid, 0) < 0 && errno == ESRCH))
        return err_set(e, ERR_NOT_FOUND, "no process with pid %d", (int)pid);
    j->pid = pid;
    j->attached = true;
    j->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    return 0;
}

struct job_news job_reap(struct job *j)
{
    struct job_news news = {0};
    if (j->attached)
        return news;
    for (;;) {
        int w;
        const pid_t pid = waitpid(-1, &w, WNOHANG | WUNTRACED);
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid <= 0) {
            news.alone = pid < 0;
            return news;
        }
        if (pid != j->pid)
            continue;
        if (WIFSTOPPED(w)) {
            news.stopped = WSTOPSIG(w);
        } else {
            j->exited = news.exited = true;
            j->signal = WIFSIGNALED(w) ? WTERMSIG(w) : 0;
            j->status = j->signal ? 128 + j->signal : WEXITSTATUS(w);
        }
    }
}

bool job_is_gone(struct job *j)
{
    struct pollfd p = {.fd = j->pidfd, .events = POLLIN};
    if (!j->exited)
        j->exited = j->pidfd >= 0 ? poll(&p, 1, 0) > 0 : kill(j->pid, 0) < 0 && errno == ESRCH;
    return j->exited;
}

static void signal_attached(const struct job *j, int sig)
{
    /* The descriptor, where there is one, cannot mean another process that got the same number. */
    if (j->pidfd >= 0)
        syscall(SYS_pidfd_send_signal, j->pidfd, sig, NULL, 0);
    else
        kill(j->pid, sig);
}

void job_signal(struct job *j, int sig, const struct jobtree *left)
{
    if (j->attached) {
        signal_attached(j, sig);
        return;
    }
    /* Once the first process is reaped, its number identifies the group only while a process of the
     * job is in it; after that it may be given to strangers. */
    bool group = !j->exited;
    for (size_t i = 0; left && i < left->n; i++)
        group = group || left->list[i].group == j->pid;
    if (group)
        kill(j->shares_group ? j->pid : -j->pid, sig);
    for (size_t i = 0; left && i < left->n; i++)
        if (!left->list[i].daemon && left->list[i].group != j->pid && left->list[i].pid != j->pid)
            kill(left->list[i].pid, sig);
}

void job_take_terminal(struct job *j)
{
    if (!j->gave_tty)
        return;
    const pid_t front = tcgetpgrp(j->tty);
    /* The user's shell may have taken it meanwhile (bg): only a group of the job gives it up. */
    if (front == j->pid || (front > 0 && kill(-front, 0) < 0 && errno == ESRCH))
        tcsetpgrp(j->tty, getpgrp());
    j->gave_tty = false;
}

void job_continue(struct job *j)
{
    if (j->attached)
        return;
    give_terminal(j);
    if (!j->exited)
        kill(j->shares_group ? j->pid : -j->pid, SIGCONT);
}

bool job_stop_together(struct job *j, int sig)
{
    const struct timespec at_once = {0};
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    struct sigaction old;
    sigset_t set, cont, before;
    job_take_terminal(j);
    sigemptyset(&set);
    sigaddset(&set, sig);
    sigemptyset(&cont);
    sigaddset(&cont, SIGCONT);
    sigaction(sig, &standard, &old); /* fails for SIGSTOP, which needs it not */
    sigprocmask(SIG_UNBLOCK, &set, &before);
    /* Our whole group, as Ctrl-Z would have done; where the job shares it, that has been done. A
     * group that no process could continue (its shell has ended) is not stopped by the kernel. */
    kill(j->shares_group ? getpid() : 0, sig);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (sig != SIGSTOP)
        sigaction(sig, &old, NULL);
    /* Answered here, not passed on a second time. */
    const bool stopped = sigtimedwait(&cont, NULL, &at_once) == SIGCONT;
    /* If we were not stopped, the job continues too, unless it would access the terminal and be
     * stopped again at once. */
    if (!stopped && (sig == SIGTTIN || sig == SIGTTOU) && !is_in_front(j))
        return false;
    job_continue(j);
    return true;
}

void job_close(struct job *j)
{
    close_fd(&j->gate);
    close_fd(&j->fault);
    close_fd(&j->pidfd);
    if (j->opened_tty)
        close_fd(&j->tty);
    j->opened_tty = false;
}
