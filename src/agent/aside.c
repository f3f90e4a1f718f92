/* SPDX-License-Identifier: Apache-2.0 */
/* aside.c - see aside.h. */
#include "agent/aside.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

bool aside_read(int fd, void *p, size_t n)
{
    char *to = p;
    while (n > 0) {
        const ssize_t got = read(fd, to, n);
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        if (got > 0) {
            to += got;
            n -= (size_t)got;
        }
    }
    return true;
}

/* Nothing of the terminal. */
static void detach(void)
{
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
        dup2(null, fd);
}

int aside_start(struct aside *out, int type, void (*body)(int fd, void *ctx), void *ctx,
                struct err *e)
{
    int fd[2];
    if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fd) < 0)
        return err_sys(e, "socketpair");
    const pid_t first = fork();
    if (first == 0) {
        close(fd[0]);
        setsid();
        if (fork() != 0)
            _exit(0);
        detach();
        signal(SIGPIPE, SIG_IGN);
        signal(SIGCHLD, SIG_DFL);
        body(fd[1], ctx);
        _exit(0);
    }
    const int sys = errno;
    close(fd[1]);
    if (first < 0) {
        close(fd[0]);
        errno = sys;
        return err_sys(e, "cannot start a process");
    }
    while (waitpid(first, NULL, 0) < 0 && errno == EINTR)
        ;
    *out = (struct aside){fd[0], first};
    return 0;
}
