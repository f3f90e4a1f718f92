/* SPDX-License-Identifier: Apache-2.0 */
/* job.h - real child processes for the tests of the process tree. */
#ifndef JOB_H
#define JOB_H

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "test.h"

/* Numbers that the job's processes tell the test. */
struct board {
    _Atomic int pid[16];
    _Atomic int go, done;
};

static inline struct board *board_new(void)
{
    struct board *b =
        mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (b == MAP_FAILED)
        test_fail(__FILE__, __LINE__, "mmap");
    return b;
}

static inline void nap_ms(long ms)
{
    const struct timespec ts = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&ts, NULL);
}

static inline void await(_Atomic int *x)
{
    for (int i = 0; i < 5000 && !*x; i++)
        nap_ms(2);
    if (!*x)
        test_fail(__FILE__, __LINE__, "a process of the job did not answer");
}

/* Uses that much CPU time, however long it takes. */
static inline void burn_ms(long ms)
{
    struct timespec t0, t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t0);
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    while ((t.tv_sec - t0.tv_sec) * 1000 + (t.tv_nsec - t0.tv_nsec) / 1000000 < ms);
}

/* A fork whose child does not outlive a failed test by much, and holds none of its output. */
static inline pid_t job_fork(void)
{
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
        close(nowhere);
    }
    return pid;
}

/* A child that does `work` and ends. */
static inline pid_t job_start(void (*work)(struct board *), struct board *b)
{
    const pid_t pid = job_fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        work(b);
        _exit(0);
    }
    return pid;
}

static inline void job_reap(pid_t pid)
{
    if (waitpid(pid, NULL, 0) != pid)
        test_fail(__FILE__, __LINE__, "waitpid");
}

static inline void job_kill(pid_t pid)
{
    kill(pid, SIGKILL);
}

static inline size_t open_files(void)
{
    size_t n = 0;
    for (int fd = 0; fd < 4096; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

#endif
