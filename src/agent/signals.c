/* SPDX-License-Identifier: Apache-2.0 */
/* signals.c - see signals.h. */
#include "agent/signals.h"

#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/mem.h"

static const struct signal_row rows[] = {
    {SIGHUP, "SIGHUP", true, true},     {SIGINT, "SIGINT", true, true},
    {SIGTERM, "SIGTERM", true, true},   {SIGQUIT, "SIGQUIT", true, false},
    {SIGUSR1, "SIGUSR1", true, false},  {SIGUSR2, "SIGUSR2", true, false},
    {SIGALRM, "SIGALRM", true, false},  {SIGXCPU, "SIGXCPU", true, false},
    {SIGPWR, "SIGPWR", true, false},    {SIGWINCH, "SIGWINCH", false, false},
    {SIGCONT, "SIGCONT", false, false}, {SIGTSTP, "SIGTSTP", false, false},
};

/* glibc has sigabbrev_np for this since 2.32; older ones are in use. */
static const char *const names[] = {
    [SIGHUP] = "HUP",   [SIGINT] = "INT",       [SIGQUIT] = "QUIT", [SIGILL] = "ILL",
    [SIGTRAP] = "TRAP", [SIGABRT] = "ABRT",     [SIGBUS] = "BUS",   [SIGFPE] = "FPE",
    [SIGKILL] = "KILL", [SIGUSR1] = "USR1",     [SIGSEGV] = "SEGV", [SIGUSR2] = "USR2",
    [SIGPIPE] = "PIPE", [SIGALRM] = "ALRM",     [SIGTERM] = "TERM", [SIGSTKFLT] = "STKFLT",
    [SIGCHLD] = "CHLD", [SIGCONT] = "CONT",     [SIGSTOP] = "STOP", [SIGTSTP] = "TSTP",
    [SIGTTIN] = "TTIN", [SIGTTOU] = "TTOU",     [SIGURG] = "URG",   [SIGXCPU] = "XCPU",
    [SIGXFSZ] = "XFSZ", [SIGVTALRM] = "VTALRM", [SIGPROF] = "PROF", [SIGWINCH] = "WINCH",
    [SIGPOLL] = "POLL", [SIGPWR] = "PWR",       [SIGSYS] = "SYS",
};

const struct signal_row *signal_row_of(int sig)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].sig == sig)
            return &rows[i];
    return NULL;
}

const char *signal_name(int sig, char *buf, size_t size)
{
    if (sig > 0 && (size_t)sig < COUNT_OF(names) && names[sig])
        snprintf(buf, size, "SIG%s", names[sig]);
    else
        snprintf(buf, size, "signal %d", sig);
    return buf;
}

static bool is_ignored(int sig)
{
    struct sigaction a;
    return sigaction(sig, NULL, &a) == 0 && a.sa_handler == SIG_IGN;
}

int signals_open(struct signals *s, struct err *e)
{
    const struct sigaction standard = {.sa_handler = SIG_DFL}, ignore = {.sa_handler = SIG_IGN};
    sigset_t watched, blocked;
    sigemptyset(&watched);
    sigaddset(&watched, SIGCHLD);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (!is_ignored(rows[i].sig))
            sigaddset(&watched, rows[i].sig);
    blocked = watched;
    /* A terminal that was given to the job must not stop us for writing a line to it. */
    sigaddset(&blocked, SIGTTOU);
    /* SIGCHLD ignored would let the kernel throw exit statuses away. */
    sigaction(SIGCHLD, &standard, &s->old_chld);
    sigaction(SIGPIPE, &ignore, &s->old_pipe);
    sigprocmask(SIG_BLOCK, &blocked, &s->inherited);
    s->fd = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    if (s->fd >= 0)
        return 0;
    const int rc = err_sys(e, "signalfd");
    signals_restore_in_child(s);
    return rc;
}

void signals_restore_in_child(const struct signals *s)
{
    sigaction(SIGCHLD, &s->old_chld, NULL);
    sigaction(SIGPIPE, &s->old_pipe, NULL);
    sigprocmask(SIG_SETMASK, &s->inherited, NULL);
}

int signals_next(struct signals *s)
{
    struct signalfd_siginfo si;
    return read(s->fd, &si, sizeof si) == sizeof si ? (int)si.ssi_signo : 0;
}

void signals_close(struct signals *s)
{
    close(s->fd);
    signals_restore_in_child(s);
}
