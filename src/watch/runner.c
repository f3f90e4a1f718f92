/* SPDX-License-Identifier: Apache-2.0 */
/* runner.c - see action.h. Over a pair of sockets: a request (which task, how long, how many bytes,
 * the bytes), then an answer (struct runner_result). */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/helper.h"
#include "agent/http.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "watch/action.h"

enum { FAILED = 1, NOT_STARTED = 127, LOOK_MS = 20, TEXT_MOST = 16 << 20 };

/* How much later than the command's own limit the answer may come. */
#define ANSWER_NS (5 * NS_PER_S)

struct runner {
    int fd;
};

struct runner_question {
    uint64_t task, len;
    int64_t timeout_ns;
};

/* ---- in the runner ---- */

/* A task that runs. */
struct running {
    const struct runner_task *task;
    pid_t pid;
    int in, out; /* its stdin, its stdout and stderr; -1: closed */
    const char *text;
    size_t left;
    mono_ns until;
    size_t kept;
};

static _Noreturn void become(const struct running *c, int in, int out)
{
    const struct runner_task *t = c->task;
    struct err e;
    setpgid(0, 0);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    if (!t->argv) {
        if (t->call(t->ctx, c->text, c->left, &e) == 0)
            _exit(0);
        dprintf(STDERR_FILENO, "%s", e.msg);
        _exit(FAILED);
    }
    signal(SIGPIPE, SIG_DFL);
    execvp(t->argv[0], (char *const *)(uintptr_t)t->argv); /* exec does not write to it */
    dprintf(STDERR_FILENO, "cannot run '%s': %s\n", t->argv[0], strerror(errno));
    _exit(NOT_STARTED);
}

static bool start(struct running *c)
{
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) < 0)
        return false;
    if (pipe2(out, O_CLOEXEC) < 0) {
        close(in[0]);
        close(in[1]);
        return false;
    }
    c->pid = fork();
    if (c->pid == 0)
        become(c, in[0], out[1]);
    close(in[0]);
    close(out[1]);
    c->in = in[1];
    c->out = out[0];
    if (c->pid < 0) {
        close(in[1]);
        close(out[0]);
        return false;
    }
    setpgid(c->pid, c->pid); /* here too: whichever of the two comes first */
    fcntl(c->in, F_SETFL, O_NONBLOCK);
    fcntl(c->out, F_SETFL, O_NONBLOCK);
    return true;
}

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* A command need not read its input. */
static void feed(struct running *c)
{
    const ssize_t n = c->left ? write(c->in, c->text, c->left) : 0;
    if (n > 0) {
        c->text += n;
        c->left -= (size_t)n;
    }
    if (c->left == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        close_end(&c->in);
}

/* Stores the end of its output. */
static bool runner_take(struct running *c, char output[RUNNER_OUTPUT])
{
    char some[RUNNER_OUTPUT / 2];
    const ssize_t n = read(c->out, some, sizeof some);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        close_end(&c->out);
    if (n <= 0)
        return false;
    const size_t more = (size_t)n, room = RUNNER_OUTPUT - 1;
    const size_t drop = c->kept + more > room ? c->kept + more - room : 0;
    memmove(output, output + drop, c->kept - drop);
    c->kept -= drop;
    memcpy(output + c->kept, some, more);
    c->kept += more;
    return true;
}

/* Its end is polled, not waited for: a process that it left running may have the pipe open. */
static int runner_follow(struct running *c, struct runner_result *r)
{
    int status;
    while (waitpid(c->pid, &status, WNOHANG) == 0) {
        struct pollfd p[] = {{.fd = c->in, .events = POLLOUT}, {.fd = c->out, .events = POLLIN}};
        if (!r->timed_out && clock_mono().ns >= c->until.ns) {
            r->timed_out = true;
            kill(-c->pid, SIGKILL);
        }
        poll(p, 2, LOOK_MS);
        if (p[0].revents)
            feed(c);
        if (p[1].revents)
            runner_take(c, r->output);
    }
    while (c->out >= 0 && runner_take(c, r->output))
        ;
    close_end(&c->in);
    close_end(&c->out);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void run_one(const struct runner_task *t, const char *text, const struct runner_question *q,
                    struct runner_result *r)
{
    struct running c = {.task = t, .text = text, .left = q->len};
    *r = (struct runner_result){.status = NOT_STARTED};
    c.until = mono_add(clock_mono(), q->timeout_ns);
    if (!start(&c))
        return;
    if (!t->argv)
        c.left = 0; /* the child has it already */
    r->status = runner_follow(&c, r);
}

/* Whether the request is valid. */
struct offer {
    const struct runner_task *tasks;
    size_t n;
};

static void runner_serve(int fd, void *ctx)
{
    const struct offer *o = ctx;
    struct runner_question q;
    struct runner_result r;
    struct err e;
    while (sidecar_read(fd, &q, sizeof q) && q.task < o->n && q.len <= TEXT_MOST) {
        char *text = xmalloc(q.len + 1);
        const bool whole = sidecar_read(fd, text, q.len);
        if (whole)
            run_one(&o->tasks[q.task], text, &q, &r);
        free(text);
        if (!whole || fd_write_all(fd, &r, sizeof r, "answer", &e) != 0)
            break;
    }
}

/* ---- in the recorder ---- */

int runner_start(struct runner **out, const struct runner_task *tasks, size_t n, struct err *e)
{
    struct offer offer = {tasks, n};
    struct sidecar sidecar;
    TRY(sidecar_start(&sidecar, SOCK_STREAM, runner_serve, &offer, e));
    *out = xcalloc(1, sizeof **out);
    (*out)->fd = sidecar.fd;
    return 0;
}

static int runner_ask(struct runner *r, const struct runner_question *q, const void *text,
                      mono_ns until, struct runner_result *out, struct err *e)
{
    int rc = net_send(r->fd, q, sizeof *q, until, e);
    if (rc == 0)
        rc = net_send(r->fd, text, q->len, until, e);
    char *to = (char *)out;
    for (size_t have = 0, got; rc == 0 && have < sizeof *out; have += got) {
        rc = net_recv(r->fd, to + have, sizeof *out - have, until, &got, e);
        if (rc == 0 && got == 0)
            rc = err_set(e, ERR_NOT_FOUND, "the helper process for actions has ended");
    }
    return rc;
}

int runner_run(struct runner *r, size_t task, const void *text, size_t n, int64_t timeout_ns,
               struct runner_result *out, struct err *e)
{
    const struct runner_question q = {task, n, timeout_ns};
    if (!r)
        return err_set(e, ERR_NOT_FOUND, "the helper process for actions is not running");
    if (r->fd < 0)
        return err_set(e, ERR_NOT_FOUND, "the helper process for actions has ended");
    const int rc = runner_ask(r, &q, text, mono_add(clock_mono(), timeout_ns + ANSWER_NS), out, e);
    out->output[RUNNER_OUTPUT - 1] = 0;
    if (rc != 0) /* an answer that comes later would be taken for another's */
        close_end(&r->fd);
    return rc;
}

void runner_stop(struct runner *r)
{
    if (!r)
        return;
    close_end(&r->fd);
    free(r);
}
