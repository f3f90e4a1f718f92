/* SPDX-License-Identifier: Apache-2.0 */
/* ownrules.c - see ownrules.h. Over the socket: a question (length, the folder's path), then an
 * answer (length, JSON). */
#include "agent/ownrules.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/aside.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"

enum { PRIORITY = 10, ANSWER_MOST = 64 << 20 };

struct ownrules {
    int fd; /* -1: the process is gone, and that was told */
    bool awaited;
    struct buf got; /* of the answer so far, with its length before it */
};

/* ---- in the process ---- */

static bool ownrules_answer(int fd, const struct ownrules_way *way, const char *folder)
{
    struct buf b = {0};
    struct err e;
    way->judge(way->ctx, folder, &b);
    const uint64_t len = b.len;
    const bool sent = fd_write_all(fd, &len, sizeof len, "answer", &e) == 0 &&
                      fd_write_all(fd, b.p, b.len, "answer", &e) == 0;
    buf_free(&b);
    return sent;
}

static void ownrules_serve(int fd, void *ctx)
{
    char folder[PATH_LEN];
    uint64_t len;
    setpriority(PRIO_PROCESS, 0, PRIORITY);
    while (aside_read(fd, &len, sizeof len) && len < sizeof folder && aside_read(fd, folder, len)) {
        folder[len] = 0;
        if (!ownrules_answer(fd, ctx, folder))
            break;
    }
}

/* ---- in the recorder ---- */

int ownrules_start(struct ownrules **out, const struct ownrules_way *way, struct err *e)
{
    struct ownrules_way copy = *way;
    int fd;
    const int rc = aside_start(&fd, ownrules_serve, &copy, e);
    if (rc != 0)
        return rc;
    *out = xcalloc(1, sizeof **out);
    (*out)->fd = fd;
    return 0;
}

/* A question fits into any socket's buffer, so this does not wait. */
void ownrules_ask(struct ownrules *o, const char *folder)
{
    struct buf b = {0};
    const uint64_t len = strlen(folder);
    if (o->fd < 0 || o->awaited)
        return;
    buf_put(&b, &len, sizeof len);
    buf_put(&b, folder, len);
    o->awaited = true; /* that it failed is heard of when the answer is asked for */
    (void)!send(o->fd, b.p, b.len, MSG_DONTWAIT | MSG_NOSIGNAL);
    buf_free(&b);
    o->got.len = 0;
}

/* Length of the whole answer with its head; 0: not known yet. */
static uint64_t ownrules_whole(const struct ownrules *o)
{
    uint64_t len;
    if (o->got.len < sizeof len)
        return 0;
    memcpy(&len, o->got.p, sizeof len);
    return len + sizeof len;
}

static int gone(struct ownrules *o, const char *why, struct err *e)
{
    close(o->fd);
    o->fd = -1;
    o->awaited = false;
    return err_set(e, ERR_NOT_FOUND, "%s", why);
}

/* More of the answer; false: there is no more for now. */
static int receive(struct ownrules *o, bool *more, struct err *e)
{
    char piece[1 << 14];
    const ssize_t n = recv(o->fd, piece, sizeof piece, MSG_DONTWAIT);
    *more = n > 0 || (n < 0 && errno == EINTR);
    if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
        return gone(o, "the process that evaluates them has ended", e);
    if (n > 0)
        buf_put(&o->got, piece, (size_t)n);
    if (ownrules_whole(o) > ANSWER_MOST)
        return gone(o, "their output is too long", e);
    return 0;
}

int ownrules_hear(struct ownrules *o, int64_t wait_ns, struct arena *a, struct hosted **out,
                  size_t *n, struct err *e)
{
    const mono_ns until = mono_add(clock_mono(), wait_ns);
    *n = 0;
    while (o->awaited && (ownrules_whole(o) == 0 || o->got.len < ownrules_whole(o))) {
        bool more;
        const int rc = receive(o, &more, e);
        if (rc != 0)
            return rc;
        const int64_t left_ns = mono_diff(until, clock_mono());
        if (!more && left_ns <= 0)
            return 0;
        struct pollfd p = {.fd = o->fd, .events = POLLIN};
        if (!more)
            poll(&p, 1, (int)(left_ns / NS_PER_MS) + 1);
    }
    if (!o->awaited)
        return 0;
    o->awaited = false;
    const char *text = (const char *)o->got.p + sizeof(uint64_t);
    return verdicts_read(text, o->got.len - sizeof(uint64_t), a, out, n, e);
}

void ownrules_stop(struct ownrules *o)
{
    if (!o)
        return;
    if (o->fd >= 0)
        close(o->fd);
    buf_free(&o->got);
    free(o);
}
