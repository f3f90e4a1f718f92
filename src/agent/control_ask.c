/* SPDX-License-Identifier: Apache-2.0 */
/* control_ask.c - the user's side of the control socket. See control.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/control.h"
#include "base/trust.h"

enum { ASK_SECONDS = 5 };

/* A connected socket, or -1 with errno. */
static int connect_to(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    const struct timeval limit = {.tv_sec = ASK_SECONDS};
    snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0)
        return fd;
    const int sys = errno;
    close(fd);
    errno = sys;
    return -1;
}

/* Two folders that only their owner can write. In /tmp any user can create such a name first. */
static bool control_ask_is_of(uid_t owner, const char *socket_path)
{
    char dir[CONTROL_PATH];
    struct stat st;
    snprintf(dir, sizeof dir, "%s", socket_path);
    for (int i = 0; i < 2; i++) {
        *strrchr(dir, '/') = 0;
        if (lstat(dir, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != owner ||
            trust_others_write(&st))
            return false;
    }
    return true;
}

/* Who listens, as the kernel saw it then. */
static bool listener_is(int fd, uid_t owner)
{
    struct ucred u;
    socklen_t n = sizeof u;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &u, &n) == 0 && (u.uid == owner || u.uid == 0);
}

static int connect_checked(const char *path, uid_t owner, int *out, struct err *e)
{
    struct stat st;
    if (lstat(path, &st) < 0 && errno == ENOENT)
        return ERR_NOT_FOUND;
    const int fd = connect_to(path);
    if (fd < 0 && (errno == EACCES || errno == EPERM))
        return err_sys(e, "ask the recorder at '%s'", path);
    if (fd < 0)
        return ERR_NOT_FOUND;
    if (control_ask_is_of(owner, path) && listener_is(fd, owner)) {
        *out = fd;
        return 0;
    }
    close(fd);
    errno = EPERM;
    return err_sys(e, "the control socket '%s' is not used: another user made it or its folder",
                   path);
}

static int find_recorder(const char *run_id, const char *node_id, uid_t owner, int *fd,
                         struct err *e)
{
    char path[CONTROL_PATH];
    if (owner != geteuid() && geteuid() != 0) {
        errno = EPERM;
        return err_sys(e, "run '%s' belongs to another user (uid %u)", run_id, (unsigned)owner);
    }
    int rc = ERR_NOT_FOUND;
    for (unsigned n = 0; control_path(path, n, owner, run_id, node_id); n++) {
        const int one = *path ? connect_checked(path, owner, fd, e) : ERR_NOT_FOUND;
        if (one == 0)
            return 0;
        rc = one == ERR_NOT_FOUND ? rc : one; /* a trap in one place hides no recorder in another */
    }
    if (rc != ERR_NOT_FOUND)
        return rc;
    return err_set(e, ERR_NOT_FOUND, "no recorder of run '%s', node '%s' runs on this machine",
                   run_id, node_id);
}

static int exchange(int fd, const char *request, char *line, size_t size, struct err *e)
{
    char text[CONTROL_LINE + 1];
    const int n = snprintf(text, sizeof text, "%s\n", request);
    if (n < 0 || n >= (int)sizeof text || strchr(request, '\n'))
        return err_set(e, ERR_USAGE, "request '%.40s...' is too long", request);
    if (send(fd, text, (size_t)n, MSG_NOSIGNAL) != n)
        return err_sys(e, "send to the recorder");
    size_t len = 0;
    while (len < size - 1 && !memchr(line, '\n', len)) {
        const ssize_t got = recv(fd, line + len, size - 1 - len, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_sys(e, "the recorder did not answer");
        if (got == 0)
            break;
        len += (size_t)got;
    }
    line[len] = 0;
    line[strcspn(line, "\n")] = 0;
    return len ? 0 : err_set(e, ERR_FORMAT, "the recorder closed the connection without an answer");
}

int control_ask(const char *run_id, const char *node_id, uid_t owner, const char *request,
                char out[CONTROL_ANSWER], struct err *e)
{
    char line[CONTROL_ANSWER] = "";
    int fd = -1;
    int rc = find_recorder(run_id, node_id, owner, &fd, e);
    if (rc)
        return rc;
    rc = exchange(fd, request, line, sizeof line, e);
    close(fd);
    if (rc)
        return rc;
    if (strncmp(line, "error ", 6) == 0)
        return err_set(e, ERR_USAGE, "%s", line + 6);
    if (strncmp(line, "ok", 2) != 0)
        return err_set(e, ERR_FORMAT, "the recorder answered '%s'", line);
    snprintf(out, CONTROL_ANSWER, "%s", line + 2 + (line[2] == ' '));
    return 0;
}
