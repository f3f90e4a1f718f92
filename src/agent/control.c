/* SPDX-License-Identifier: Apache-2.0 */
/* control.c - the recorder's side of the control socket. See control.h. */
#include "agent/control.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* A folder that is ours alone: no other user can put a socket there in our name, or reach ours. */
static int private_folder(const char *path, struct err *e)
{
    struct stat st;
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return err_sys(e, "create folder '%s'", path);
    if (lstat(path, &st) < 0)
        return err_sys(e, "stat '%s'", path);
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077) != 0)
        return err_set(e, ERR_USAGE, "'%s' is not a folder that only this user can access", path);
    return 0;
}

static int make_folders(const char *socket_path, struct err *e)
{
    char dir[CONTROL_PATH], *slash;
    snprintf(dir, sizeof dir, "%s", socket_path);
    *strrchr(dir, '/') = 0;
    slash = strrchr(dir, '/');
    *slash = 0;
    int rc = private_folder(dir, e);
    *slash = '/';
    return rc ? rc : private_folder(dir, e);
}

/* Whether a recorder answers there; a socket left by a killed one does not. */
static bool is_alive(const struct sockaddr_un *a)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const bool alive =
        fd >= 0 && (connect(fd, (const struct sockaddr *)a, sizeof *a) == 0 || errno == EAGAIN);
    if (fd >= 0)
        close(fd);
    return alive;
}

static int listen_at(struct control *c, const char *path, struct err *e)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    TRY(make_folders(path, e));
    snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
    if (is_alive(&a))
        return err_set(e, ERR_BUSY, "another recorder is listening at '%s'", path);
    unlink(path);
    c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (c->fd < 0)
        return err_sys(e, "socket");
    if (bind(c->fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(c->fd, CONTROL_CLIENTS) < 0) {
        err_sys(e, "listen at '%s'", path);
        close(c->fd);
        c->fd = -1;
        return e->code;
    }
    snprintf(c->path, sizeof c->path, "%s", path);
    return 0;
}

int control_open(struct control *c, const char *run_id, const char *node_id, struct err *e)
{
    char path[CONTROL_PATH];
    int rc = err_set(e, ERR_NOT_FOUND, "no folder for a control socket");
    c->fd = -1;
    for (int i = 0; i < CONTROL_CLIENTS; i++)
        c->client[i].fd = -1;
    for (unsigned n = 0; control_path(path, n, geteuid(), run_id, node_id); n++) {
        if (!*path)
            continue;
        rc = listen_at(c, path, e);
        if (rc == 0 || rc == ERR_BUSY)
            break;
    }
    return rc;
}

size_t control_poll(const struct control *c, struct pollfd *out)
{
    size_t n = 0;
    if (c->fd < 0)
        return 0;
    out[n++] = (struct pollfd){.fd = c->fd, .events = POLLIN};
    for (int i = 0; i < CONTROL_CLIENTS; i++)
        if (c->client[i].fd >= 0)
            out[n++] = (struct pollfd){.fd = c->client[i].fd, .events = POLLIN};
    return n;
}

static void control_drop(struct control_client *k)
{
    if (k->fd >= 0)
        close(k->fd);
    k->fd = -1;
    k->n = 0;
}

static bool may_ask(int fd)
{
    struct ucred u;
    socklen_t n = sizeof u;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &u, &n) == 0 &&
           (u.uid == geteuid() || u.uid == 0);
}

static struct control_client *free_client(struct control *c)
{
    struct control_client *oldest = &c->client[0];
    for (int i = 0; i < CONTROL_CLIENTS; i++) {
        if (c->client[i].fd < 0)
            return &c->client[i];
        if (c->client[i].turn < oldest->turn)
            oldest = &c->client[i];
    }
    control_drop(oldest);
    return oldest;
}

/* At most one a round, so a flood of connections cannot block the loop here. */
static void take_client(struct control *c)
{
    const int fd = accept4(c->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return;
    if (!may_ask(fd)) {
        close(fd);
        return;
    }
    struct control_client *k = free_client(c);
    k->fd = fd;
    k->turn = ++c->turns;
    k->n = 0;
}

static void control_answer(struct control *c, struct control_client *k, size_t len)
{
    struct control_request r;
    struct err e;
    char text[CONTROL_ANSWER - 16] = "", line[CONTROL_ANSWER];
    bool ok = control_parse(k->line, len, &r, &e) == 0;
    if (ok)
        ok = c->handle(c->ctx, &r, text, sizeof text);
    else
        snprintf(text, sizeof text, "%.200s", e.msg);
    const int n = snprintf(line, sizeof line, "%s %s\n", ok ? "ok" : "error", text);
    /* Into an empty socket buffer this always fits; a client that has gone away does not matter. */
    (void)!send(k->fd, line, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
    control_drop(k);
}

static void control_hear(struct control *c, struct control_client *k)
{
    const ssize_t got = recv(k->fd, k->line + k->n, sizeof k->line - k->n, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        control_drop(k);
        return;
    }
    k->n += (size_t)got;
    const char *end = memchr(k->line, '\n', k->n);
    if (end)
        control_answer(c, k, (size_t)(end - k->line));
    else if (k->n == sizeof k->line)
        control_answer(c, k, k->n);
}

void control_serve(struct control *c)
{
    if (c->fd < 0)
        return;
    take_client(c);
    for (int i = 0; i < CONTROL_CLIENTS; i++)
        if (c->client[i].fd >= 0)
            control_hear(c, &c->client[i]);
}

void control_close(struct control *c)
{
    if (c->fd < 0)
        return;
    unlink(c->path);
    close(c->fd);
    c->fd = -1;
    for (int i = 0; i < CONTROL_CLIENTS; i++)
        control_drop(&c->client[i]);
}
