/* SPDX-License-Identifier: Apache-2.0 */
/* helper.c - see helper.h. */
#include "agent/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "run/run_names.h"

/* ==== a process that is not a child ==== */

bool sidecar_read(int fd, void *p, size_t n)
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

/* Nothing of the terminal, and no descriptor but the socket: a copy of another process's socket
 * would hide that its other end was closed. */
static void aside_detach(int fd)
{
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; null >= 0 && i <= STDERR_FILENO; i++)
        dup2(null, i);
#ifdef SYS_close_range /* else the kernel is too old to have it */
    if (fd > STDERR_FILENO + 1)
        syscall(SYS_close_range, STDERR_FILENO + 1, fd - 1, 0);
    syscall(SYS_close_range, fd + 1, ~0U, 0);
#endif
}

int sidecar_start(struct sidecar *out, int type, void (*body)(int fd, void *ctx), void *ctx,
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
        aside_detach(fd[1]);
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
    *out = (struct sidecar){fd[0], first};
    return 0;
}

/* ==== the helper ==== */

struct helper {
    int fd;
    pid_t session;
    bool gone;
    void (*on_message)(void *ctx, const struct helper_message *m);
    void *ctx;
};

/* ---- the supervisor, a separate process ---- */

/* True: it ended without a crash. */
static bool helper_run_once(const struct helper_program *p, const struct helper_task *t)
{
    int status = 0;
    const pid_t pid = fork();
    if (pid == 0) {
        p->main(t, p->ctx);
        _exit(0);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void helper_supervise(int fd, void *ctx)
{
    struct helper_task t = {.fd = fd};
    if (recv(fd, &t.begin, sizeof t.begin, 0) != (ssize_t)sizeof t.begin)
        return; /* there is no run */
    t.memory = mmap(NULL, HELPER_MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (t.memory == MAP_FAILED)
        return;
    for (int i = 0; i <= HELPER_RESTARTS && !helper_run_once(ctx, &t); i++) {
        t.again = true;
        if (i < HELPER_RESTARTS)
            (void)!helper_report(&t, &(struct helper_message){.kind = HELPER_AGAIN});
    }
}

/* ---- the recorder's side ---- */

int helper_start(struct helper **out, const struct helper_program *p,
                 void (*on_message)(void *ctx, const struct helper_message *m), void *ctx,
                 struct err *e)
{
    struct helper_program copy = *p;
    struct sidecar sidecar;
    TRY(sidecar_start(&sidecar, SOCK_SEQPACKET, helper_supervise, &copy, e));
    *out = xcalloc(1, sizeof **out);
    **out = (struct helper){
        .fd = sidecar.fd, .session = sidecar.session, .on_message = on_message, .ctx = ctx};
    return 0;
}

/* There are few requests and they are small, so that the socket has room for them. */
static void helper_send(struct helper *h, const void *p, size_t n)
{
    (void)!send(h->fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void helper_begin(struct helper *h, const struct helper_begin *b)
{
    helper_send(h, b, sizeof *b);
}

void helper_request(struct helper *h, enum helper_kind kind)
{
    const struct helper_message m = {.kind = kind};
    if (h)
        helper_send(h, &m, sizeof m);
}

int helper_fd(const struct helper *h)
{
    return h && !h->gone ? h->fd : -1;
}

pid_t helper_session(const struct helper *h)
{
    return h ? h->session : 0;
}

/* 1: a message has come; 0: none; -1: the helper has ended. */
static int helper_receive(struct helper *h, struct helper_message *m)
{
    const ssize_t n = recv(h->fd, m, sizeof *m, MSG_DONTWAIT);
    if (n == (ssize_t)sizeof *m)
        return 1;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    h->gone = true;
    return -1;
}

bool helper_take(struct helper *h)
{
    struct helper_message m;
    int got;
    while ((got = helper_receive(h, &m)) > 0)
        h->on_message(h->ctx, &m);
    return got == 0;
}

bool helper_wait(struct helper *h, enum helper_kind request, enum helper_kind answer,
                 int64_t wait_ns)
{
    const mono_ns until = mono_add(clock_mono(), wait_ns);
    struct helper_message m;
    helper_request(h, request);
    while (h && !h->gone) {
        const int got = helper_receive(h, &m);
        const int64_t left_ns = mono_diff(until, clock_mono());
        if (got > 0 && m.kind == HELPER_AGAIN)
            helper_request(h, request);
        else if (got > 0)
            h->on_message(h->ctx, &m);
        if (got > 0 && m.kind == answer)
            return true;
        if (got == 0 && wait_ns >= 0 && left_ns <= 0)
            return false;
        struct pollfd p = {.fd = h->fd, .events = POLLIN};
        if (got == 0)
            poll(&p, 1, wait_ns < 0 ? -1 : (int)(left_ns / NS_PER_MS) + 1);
    }
    return false;
}

void helper_stop(struct helper *h)
{
    if (!h)
        return;
    close(h->fd);
    free(h);
}

/* ---- the helper's side ---- */

bool helper_report(const struct helper_task *t, const struct helper_message *m)
{
    return send(t->fd, m, sizeof *m, MSG_NOSIGNAL) == (ssize_t)sizeof *m;
}

bool helper_is_alone(const struct helper_task *t)
{
    struct pollfd p = {.fd = t->fd};
    return poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR);
}

bool helper_next(const struct helper_task *t, struct helper_message *out)
{
    ssize_t n;
    do
        n = recv(t->fd, out, sizeof *out, 0);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof *out;
}

bool window_file_parse(struct window_file *out, const char *name)
{
    struct run_saved saved;
    int end = 0;
    out->name = name;
    if (run_saved_parse(name, &saved, NULL)) {
        snprintf(out->kind, sizeof out->kind, "tensors");
        out->pid = saved.pid;
        out->k = saved.k;
        return true;
    }
    if (sscanf(name, "%15[a-z]-%9u-%9u.json%n", out->kind, &out->pid, &out->k, &end) != 3 ||
        end == 0)
        return false;
    if (name[end] != '\0' && strcmp(name + end, ".gz") != 0)
        return false;
    return strcmp(out->kind, "detail") == 0 || strcmp(out->kind, "python") == 0;
}
