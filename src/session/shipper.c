/* SPDX-License-Identifier: Apache-2.0 */
/* shipper.c - see shipper.h. */
#include "session/shipper.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/helper.h"
#include "ship/ship_live.h"

enum {
    END_MS = 30000,        /* for the rest of a run whose sending went well until then */
    END_FAILING_MS = 5000, /* when it did not */
    STARTS_MOST = 100,     /* of a shipper that is killed again and again */
};

static void shipper_ship(const struct ship_live_ask *ask, const struct ship_live_begin *begin,
                         int fd)
{
    struct shipping how;
    ship_live(ask, begin, fd, &how);
    (void)!send(fd, &how, sizeof how, MSG_NOSIGNAL);
}

/* One that is killed is started again, and goes on where the destination says. */
static void shipper_process(int fd, void *ctx)
{
    struct ship_live_begin begin;
    int status;
    if (!aside_read(fd, &begin, sizeof begin)) /* the job was not started */
        return;
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    for (int i = 0; i < STARTS_MOST; i++) {
        const pid_t pid = fork();
        if (pid == 0) {
            shipper_ship(ctx, &begin, fd);
            _exit(0);
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid || WIFEXITED(status))
            return;
        sleep(1);
    }
}

int shipper_start(struct shipper *out, const struct settings *s, struct arena *a, struct err *e)
{
    struct ship_live_ask *ask = arena_new(a, struct ship_live_ask);
    struct aside aside;
    ask->target = (struct ship_target_ask){.to = s->to, .ca = s->to_ca, .pinned_key = s->to_key};
    ask->interval_ns = s->to_interval_ns;
    out->fd = -1;
    TRY(ship_read_token(s->to_token_file, a, &ask->target.token, e));
    TRY(ship_target_check(&ask->target, e));
    TRY(aside_start(&aside, SOCK_STREAM, shipper_process, ask, e));
    out->fd = aside.fd;
    return 0;
}

void shipper_place(void *ctx, const struct rundir *dir)
{
    struct shipper *s = ctx;
    struct ship_live_begin begin = {.run = ""};
    snprintf(begin.run, sizeof begin.run, "%s", dir->path);
    snprintf(begin.node, sizeof begin.node, "%s", dir->node_id);
    s->dir = *dir;
    if (s->fd >= 0 && send(s->fd, &begin, sizeof begin, MSG_NOSIGNAL) != (ssize_t)sizeof begin) {
        close(s->fd);
        s->fd = -1;
    }
}

/* The state is also in the node's folder, for who gave up waiting. */
bool shipper_end(struct shipper *s, struct shipping *out)
{
    struct err e;
    *out = (struct shipping){.state = SHIPPING_WAITING};
    if (s->fd < 0 || !*s->dir.path)
        return false;
    const bool known = shipping_read(s->dir.path, s->dir.node_id, out, &e) == 0;
    const bool fine = known && out->state == SHIPPING_OK;
    struct pollfd p = {.fd = s->fd, .events = POLLIN};
    struct shipping how;
    if (send(s->fd, "e", 1, MSG_NOSIGNAL) == 1 && poll(&p, 1, fine ? END_MS : END_FAILING_MS) > 0 &&
        aside_read(s->fd, &how, sizeof how))
        *out = how;
    close(s->fd);
    s->fd = -1;
    return true;
}
