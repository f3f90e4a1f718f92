/* SPDX-License-Identifier: Apache-2.0 */
/* signals.c - see signals.h. */
#include "agent/signals.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"

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

bool signal_is_marked(int sig)
{
    static const int marked[] = {SIGHUP,  SIGINT,  SIGTERM, SIGQUIT, SIGUSR1,   SIGUSR2,
                                 SIGALRM, SIGXCPU, SIGXFSZ, SIGPWR,  SIGVTALRM, SIGPROF};
    return signal_among(sig, marked, COUNT_OF(marked));
}

bool signal_interrupts(int sig)
{
    return sig == SIGHUP || sig == SIGINT || sig == SIGTERM;
}

bool signal_stops(int sig)
{
    return sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
}

const char *signal_name(int sig, char *buf, size_t size)
{
    if (sig > 0 && (size_t)sig < COUNT_OF(names) && names[sig])
        snprintf(buf, size, "SIG%s", names[sig]);
    else if (sig >= SIGRTMIN && sig <= SIGRTMAX)
        snprintf(buf, size, "SIGRTMIN+%d", sig - SIGRTMIN);
    else
        snprintf(buf, size, "signal %d", sig);
    return buf;
}

/* Signals 32 and 33 belong to the C library, which refuses to change their action. Sent from
 * outside, they still end a process. */
enum { HIDDEN_FIRST = 32 };

struct kernel_action {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

static bool hidden_action(int sig, const struct kernel_action *now, struct kernel_action *old)
{
    return syscall(SYS_rt_sigaction, sig, now, old, sizeof now->mask) == 0;
}

static void hide(struct signals *s)
{
    const struct kernel_action ignore = {.handler = SIG_IGN};
    struct kernel_action old;
    for (int i = 0; i < 2; i++)
        s->hid[i] = HIDDEN_FIRST + i < SIGRTMIN && hidden_action(HIDDEN_FIRST + i, NULL, &old) &&
                    old.handler == SIG_DFL && hidden_action(HIDDEN_FIRST + i, &ignore, NULL);
}

static void unhide(const struct signals *s)
{
    const struct kernel_action standard = {.handler = SIG_DFL};
    for (int i = 0; i < 2; i++)
        if (s->hid[i])
            hidden_action(HIDDEN_FIRST + i, &standard, NULL);
}

static bool is_ignored(int sig)
{
    struct sigaction a;
    return sigaction(sig, NULL, &a) == 0 && a.sa_handler == SIG_IGN;
}

/* Before the recorder's own dispositions are set. */
static void signals_choose(sigset_t *watched)
{
    sigemptyset(watched);
    sigaddset(watched, SIGCHLD);
    for (int sig = 1; sig <= SIGRTMAX; sig++)
        if (sig != SIGKILL && sig != SIGSTOP && !signal_is_crash(sig) && !is_ignored(sig))
            sigaddset(watched, sig); /* refuses the two that are the C library's own */
}

int signals_open(struct signals *s, struct err *e)
{
    const struct sigaction standard = {.sa_handler = SIG_DFL}, ignore = {.sa_handler = SIG_IGN};
    sigset_t watched, blocked;
    signals_choose(&watched);
    blocked = watched;
    /* Writing a line to a terminal that was given to the job must not stop us. */
    sigaddset(&blocked, SIGTTOU);
    /* SIGCHLD ignored would let the kernel throw exit statuses away. */
    sigaction(SIGCHLD, &standard, &s->old_chld);
    /* A blocked signal is queued all the same; so both can be passed on and end nothing. */
    sigaction(SIGPIPE, &ignore, &s->old_pipe);
    sigaction(SIGXFSZ, &ignore, &s->old_xfsz);
    hide(s);
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
    /* What a write of ours has brought about and still waits is thrown away by this. */
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGPIPE, &ignore, NULL);
    sigaction(SIGXFSZ, &ignore, NULL);
    sigaction(SIGCHLD, &s->old_chld, NULL);
    sigaction(SIGPIPE, &s->old_pipe, NULL);
    sigaction(SIGXFSZ, &s->old_xfsz, NULL);
    unhide(s);
    sigprocmask(SIG_SETMASK, &s->inherited, NULL);
}

/* Writes that fail send these to the writer itself, and the kernel's CPU limit is each process's
 * own. */
static bool is_own_doing(const struct signalfd_siginfo *si)
{
    if (si->ssi_signo == SIGPIPE || si->ssi_signo == SIGXFSZ)
        return si->ssi_code == SI_KERNEL || si->ssi_pid == (uint32_t)getpid();
    return si->ssi_signo == SIGXCPU && si->ssi_code == SI_KERNEL;
}

/* What the kernel sends for a terminal goes to all of a process group. */
static bool is_of_terminal(const struct signalfd_siginfo *si)
{
    static const int sent[] = {SIGINT,  SIGQUIT, SIGTSTP,  SIGTTIN,
                               SIGTTOU, SIGHUP,  SIGWINCH, SIGCONT};
    return si->ssi_code == SI_KERNEL && signal_among((int)si->ssi_signo, sent, COUNT_OF(sent));
}

struct signal_news signals_next(struct signals *s)
{
    struct signalfd_siginfo si;
    do
        if (read(s->fd, &si, sizeof si) != sizeof si)
            return (struct signal_news){0};
    while (is_own_doing(&si));
    return (struct signal_news){(int)si.ssi_signo, is_of_terminal(&si)};
}

void signals_close(struct signals *s)
{
    close(s->fd);
    s->fd = -1;
}
