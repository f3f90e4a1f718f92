/* SPDX-License-Identifier: Apache-2.0 */
/* keeper.c - see keeper.h. What a handler calls is safe there. */
#include "agent/keeper.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"

enum { FAILED = 1, SIGNALS = 65, NUMBER_LEN = 16 };

enum keeper_phase { NOTHING, BEFORE, DURING, AFTER };

static struct {
    volatile sig_atomic_t phase;
    pid_t self; /* processes that were forked from this one do nothing */
    const char *const *argv;
    bool refuse;
    const struct signals *volatile signals;
    volatile pid_t pid;
    bool shares_group;
    volatile int status;
    char pid_text[NUMBER_LEN];
    struct sigaction old[SIGNALS];
} keeper;

static void keeper_say(const char *text)
{
    (void)!write(STDERR_FILENO, text, strlen(text));
}

/* ---- before ---- */

int keeper_become(const char *const *argv)
{
    if (keeper.pid > 0) {
        kill(keeper.pid, SIGKILL); /* it waits, and never was the job */
        while (waitpid(keeper.pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
    for (int sig = 1; sig < SIGNALS; sig++)
        if (keeper.phase != NOTHING && signal_is_crash(sig))
            sigaction(sig, &keeper.old[sig], NULL);
    keeper.phase = NOTHING;
    if (keeper.signals)
        signals_restore_in_child(keeper.signals);
    execvp(argv[0], (char *const *)(uintptr_t)argv); /* exec does not write to it */
    return errno;
}

static _Noreturn void start_plainly(void)
{
    keeper_say(
        "footplate: this run is not recorded: the recorder failed; please report it ('footplate "
        "doctor' shows the machine). ");
    if (keeper.refuse) {
        keeper_say("The job is not started (--require-recording)\n");
        _exit(FAILED);
    }
    keeper_say("The job runs without it\n");
    sigset_t all;
    sigfillset(&all); /* this handler's own signal is blocked: exec would not undo that */
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    const int sys = keeper_become(keeper.argv);
    keeper_say("footplate: the job cannot be run\n");
    _exit(sys == ENOENT || sys == ENOTDIR ? 127 : 126);
}

/* ---- while it runs ---- */

static void wait_plainly(void)
{
    int w;
    for (;;) {
        const pid_t pid = waitpid(keeper.pid, &w, 0);
        if (pid == keeper.pid)
            _exit(WIFSIGNALED(w) ? 128 + WTERMSIG(w) : WEXITSTATUS(w));
        if (pid < 0 && errno != EINTR)
            _exit(FAILED);
    }
}

static _Noreturn void keeper_keep(void)
{
    static char program[] = "footplate", word[] = KEEPER_WORD, own[] = "own", shared[] = "shared";
    char *const argv[] = {program, word, keeper.pid_text, keeper.shares_group ? shared : own, NULL};
    keeper_say(
        "footplate: the recorder failed; the job continues, and the run ends here. Please report "
        "it\n");
    execve("/proc/self/exe", argv, environ);
    execve((const char *)getauxval(AT_EXECFN), argv, environ); /* there is no /proc */
    wait_plainly();
    _exit(FAILED);
}

/* ---- the handler ---- */

static void on_crash(int sig, siginfo_t *si, void *unused)
{
    (void)unused;
    const int sys = errno;
    const bool from_outside = si->si_code <= 0 && si->si_pid != getpid();
    const bool other = getpid() != keeper.self;
    const struct sigaction *old = &keeper.old[sig];
    if (from_outside && keeper.phase == DURING && !other) {
        kill(keeper.shares_group ? keeper.pid : -keeper.pid, sig);
        errno = sys;
        return;
    }
    const bool sanitizer = !from_outside && old->sa_handler != SIG_DFL;
    if (other || sanitizer || (from_outside && keeper.phase == BEFORE)) {
        /* A plain end; of a fault, by running into it again. */
        sigaction(sig, old, NULL);
        if (si->si_code <= 0)
            raise(sig);
        errno = sys;
        return;
    }
    if (keeper.phase == BEFORE)
        start_plainly();
    if (keeper.phase == DURING)
        keeper_keep();
    _exit(keeper.status);
}

void keeper_start(const char *const *argv, bool refuse)
{
    struct sigaction a = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_NODEFER};
    keeper.argv = argv;
    keeper.refuse = refuse;
    if (keeper.phase != NOTHING)
        return;
    sigemptyset(&a.sa_mask);
    keeper.phase = BEFORE;
    keeper.self = getpid();
    for (int sig = 1; sig < SIGNALS; sig++)
        if (signal_is_crash(sig) && sigaction(sig, NULL, &keeper.old[sig]) == 0 &&
            keeper.old[sig].sa_handler != SIG_IGN)
            sigaction(sig, &a, NULL);
}

void keeper_signals(const struct signals *s)
{
    keeper.signals = s;
}

void keeper_child(pid_t pid)
{
    keeper.pid = pid;
}

void keeper_running(const struct job *j)
{
    if (keeper.phase == NOTHING)
        return;
    snprintf(keeper.pid_text, sizeof keeper.pid_text, "%d", (int)j->pid);
    keeper.pid = j->pid;
    keeper.shares_group = j->shares_group;
    keeper.phase = DURING;
}

void keeper_ended(int status)
{
    keeper.status = status;
    if (keeper.phase != NOTHING)
        keeper.phase = AFTER;
}

static void on_end(int sig)
{
    (void)sig;
    _exit(keeper.status);
}

void keeper_let_go(const struct signals *s)
{
    static const int harmless[] = {SIGCHLD, SIGCONT, SIGURG,  SIGWINCH, SIGTSTP, SIGTTIN,
                                   SIGTTOU, SIGPIPE, SIGXFSZ, SIGKILL,  SIGSTOP};
    struct sigaction a = {.sa_handler = on_end}, now;
    sigemptyset(&a.sa_mask);
    for (int sig = 1; sig <= SIGRTMAX; sig++) {
        const bool ends = !signal_is_crash(sig) && keeper.phase == AFTER &&
                          !signal_among(sig, harmless, COUNT_OF(harmless));
        if (ends && sigaction(sig, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            sigaction(sig, &a, NULL);
    }
    sigprocmask(SIG_SETMASK, &s->inherited, NULL);
}

/* ---- after a crash ---- */

static void take_signals(struct signals *s, struct job *j)
{
    struct signal_news news;
    while ((news = signals_next(s)).sig) {
        if (news.sig == SIGCONT)
            job_continue(j);
        else if (news.sig != SIGCHLD && !(news.terminal && j->shares_group))
            job_signal(j, news.sig, NULL);
        if (signal_stops(news.sig))
            job_stop_together(j, news.sig);
    }
}

int keeper_main(int argc, char **argv)
{
    struct signals s;
    struct job j;
    struct err ignored;
    const int pid = argc > 2 ? atoi(argv[2]) : 0;
    if (pid <= 1)
        return FAILED;
    job_adopt(&j, pid, argc > 3 && strcmp(argv[3], "shared") == 0);
    keeper.pid = pid;
    if (signals_open(&s, &ignored))
        wait_plainly();
    for (;;) {
        struct pollfd p = {.fd = s.fd, .events = POLLIN};
        const struct job_news news = job_reap(&j);
        if (news.exited || news.alone)
            break;
        if (news.stopped && j.tty >= 0)
            job_stop_together(&j, news.stopped);
        else
            poll(&p, 1, -1);
        take_signals(&s, &j);
    }
    job_take_terminal(&j);
    return j.exited ? j.status : FAILED;
}
