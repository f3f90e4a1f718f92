/* SPDX-License-Identifier: Apache-2.0 */
/* serving.c - see serving.h. */
#include "cmd/serving.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/helper.h"

int serving_check_page(struct err *e)
{
    if (server_has_page())
        return 0;
    return err_set(e, ERR_NOT_FOUND,
                   "this program was built without the dashboard's page; install a wheel or "
                   "package, or build it with 'make build'. 'footplate serve --api-only' serves "
                   "the API without the page");
}

void serving_block(sigset_t *ending)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    sigemptyset(ending);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        sigaddset(ending, ends[i]);
    pthread_sigmask(SIG_BLOCK, ending, NULL);
    signal(SIGPIPE, SIG_IGN);
}

void serving_wait(const sigset_t *ending)
{
    int sig;
    sigwait(ending, &sig);
}

/* What the other process says once: where it is, or why it is not. */
struct serving_word {
    struct server_place place;
    struct err err;
};

static void serve_beside(int fd, void *ctx)
{
    const char *folder = ctx;
    const struct server_ask ask = {.folders = &folder,
                                   .n_folders = 1,
                                   .port = SERVER_PORT,
                                   .port_is_wish = true,
                                   .control = true};
    struct serving_word w = {0};
    struct server *s = NULL;
    char never;
    (void)!server_open(&s, &ask, &w.place, &w.err);
    if (send(fd, &w, sizeof w, MSG_NOSIGNAL) == (ssize_t)sizeof w && s)
        (void)!aside_read(fd, &never, 1); /* until the recording's process is gone */
    server_close(s);
}

int serving_start(struct serving *out, const char *folder, struct err *e)
{
    struct serving_word w;
    struct aside aside;
    out->fd = -1;
    int rc = serving_check_page(e);
    if (rc == 0)
        rc = aside_start(&aside, SOCK_STREAM, serve_beside, (void *)(uintptr_t)folder, e);
    if (rc)
        return rc;
    out->fd = aside.fd;
    if (!aside_read(out->fd, &w, sizeof w))
        w.err = (struct err){.code = ERR_SYS, .msg = "its process ended"};
    if (w.err.code == 0) {
        out->place = w.place;
        return 0;
    }
    close(out->fd);
    out->fd = -1;
    *e = w.err;
    return e->code;
}

void serving_linger(const struct serving *s)
{
    sigset_t ending;
    if (s->fd < 0 || !isatty(STDIN_FILENO))
        return;
    fprintf(stderr, "footplate: dashboard still running at %s; press Ctrl-C to stop\n",
            s->place.address);
    serving_block(&ending);
    serving_wait(&ending);
}
