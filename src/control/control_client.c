/* SPDX-License-Identifier: Apache-2.0 */
/* control_client.c - the user's side of the control socket. See control_client.h.
 *
 * A socket is used only if it and its folders belong to the owner of the run: in /tmp any user can
 * create such a name first. */
#include "control/control_client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/trust.h"

enum { ASK_SECONDS = 5 };

/* A connected socket, or -1 with errno. */
static int control_connect(const char *path)
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

/* The two folders above the socket: only their owner can write there. */
static bool control_folders_are_of(uid_t owner, const char *socket_path)
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

/* The listener's user, as the kernel recorded it at listen(). */
static bool control_listener_is(int fd, uid_t owner)
{
    struct ucred u;
    socklen_t n = sizeof u;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &u, &n) == 0 && (u.uid == owner || u.uid == 0);
}

static int control_connect_checked(const char *path, uid_t owner, int *out, struct err *e)
{
    struct stat st;
    if (lstat(path, &st) < 0 && errno == ENOENT)
        return ERR_NOT_FOUND;
    const int fd = control_connect(path);
    if (fd < 0 && (errno == EACCES || errno == EPERM))
        return err_sys(e, "ask the recorder at '%s'", path);
    if (fd < 0)
        return ERR_NOT_FOUND;
    if (control_folders_are_of(owner, path) && control_listener_is(fd, owner)) {
        *out = fd;
        return 0;
    }
    close(fd);
    errno = EPERM;
    return err_sys(e, "the control socket '%s' is not used: another user made it or its folder",
                   path);
}

static int control_find_recorder(const char *run_id, const char *node_id, uid_t owner, int *fd,
                                 struct err *e)
{
    char path[CONTROL_PATH];
    if (owner != geteuid() && geteuid() != 0) {
        errno = EPERM;
        return err_sys(e, "run '%s' belongs to another user (uid %u)", run_id, (unsigned)owner);
    }
    int rc = ERR_NOT_FOUND;
    for (unsigned n = 0; control_path(path, n, owner, run_id, node_id); n++) {
        const int one = *path ? control_connect_checked(path, owner, fd, e) : ERR_NOT_FOUND;
        if (one == 0)
            return 0;
        rc = one == ERR_NOT_FOUND
                 ? rc
                 : one; /* a foreign socket in one folder does not hide a recorder in another */
    }
    if (rc != ERR_NOT_FOUND)
        return rc;
    return err_set(e, ERR_NOT_FOUND, "no recorder of run '%s', node '%s' runs on this machine",
                   run_id, node_id);
}

static int control_exchange(int fd, const char *request, char *line, size_t size, struct err *e)
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

int control_send(const char *run_id, const char *node_id, uid_t owner, const char *request,
                 char out[CONTROL_ANSWER], struct err *e)
{
    char line[CONTROL_ANSWER] = "";
    int fd = -1;
    int rc = control_find_recorder(run_id, node_id, owner, &fd, e);
    if (rc)
        return rc;
    rc = control_exchange(fd, request, line, sizeof line, e);
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

/* ---- all recorders of a run ---- */

static int control_send_node(const struct control_run_request *q, const char *node, uid_t owner,
                             struct arena *a, struct control_answer *out, size_t *n, struct err *e)
{
    char answer[CONTROL_ANSWER];
    for (size_t i = 0; i < q->n; i++) {
        const int rc = control_send(q->info->id, node, owner, q->requests[i], answer, e);
        if (rc != 0)
            return rc;
        out[(*n)++] = (struct control_answer){node, arena_strdup(a, answer)};
    }
    return 0;
}

static int control_no_recorder(const struct run_info *info, size_t running, struct err *e)
{
    if (running == 0)
        return err_set(e, ERR_NOT_FOUND, "run '%s' is not being recorded (status: %s)", info->name,
                       run_status_name(info->status));
    return err_set(e, ERR_NOT_FOUND, "no recorder of run '%s' is running on this machine",
                   info->name);
}

int control_run(const struct control_run_request *q, struct arena *a, struct control_answer **out,
                size_t *n, struct err *e)
{
    const struct run_info *info = q->info;
    size_t done = 0, running = 0;
    struct stat st;
    *n = 0;
    *out = arena_array(a, struct control_answer, info->n_nodes * q->n + 1);
    if (stat(info->path, &st) < 0)
        return err_sys(e, "'%s'", info->path);
    for (size_t i = 0; i < info->n_nodes; i++) {
        const struct node_info *node = &info->nodes[i];
        if (node->status != RUN_RUNNING || (q->node && strcmp(q->node, node->id) != 0))
            continue;
        running++;
        const int rc = control_send_node(q, node->id, st.st_uid, a, *out, n, e);
        if (rc != 0 && rc != ERR_NOT_FOUND)
            return rc;
        done += rc == 0;
    }
    return done > 0 ? 0 : control_no_recorder(info, running, e);
}
