/* SPDX-License-Identifier: Apache-2.0 */
/* dashboard.c - see dashboard.h. */
#include "session/dashboard.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/helper.h"

int dashboard_check_page(struct err *e)
{
    if (server_has_page())
        return 0;
    return err_set(e, ERR_NOT_FOUND,
                   "this program was built without the dashboard's page; install a wheel or "
                   "package, or build it with 'make build'. 'footplate serve --api-only' serves "
                   "the API without the page");
}

void dashboard_block(sigset_t *ending)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    sigemptyset(ending);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        sigaddset(ending, ends[i]);
    pthread_sigmask(SIG_BLOCK, ending, NULL);
    signal(SIGPIPE, SIG_IGN);
}

void dashboard_wait(const sigset_t *ending)
{
    int sig;
    sigwait(ending, &sig);
}

/* The one message of the other process: its address, or its error. */
struct dashboard_start {
    struct server_place place;
    struct err err;
};

static void dashboard_process(int fd, void *ctx)
{
    const char *folder = ctx;
    const struct server_options ask = {.folders = &folder,
                                       .n_folders = 1,
                                       .port = SERVER_PORT,
                                       .port_is_preferred = true,
                                       .control = true};
    struct dashboard_start w = {0};
    struct server *s = NULL;
    char never;
    (void)!server_open(&s, &ask, &w.place, &w.err);
    if (send(fd, &w, sizeof w, MSG_NOSIGNAL) == (ssize_t)sizeof w && s)
        (void)!sidecar_read(fd, &never, 1); /* until the recording's process has ended */
    server_close(s);
}

int dashboard_start(struct dashboard *out, const char *folder, struct err *e)
{
    struct dashboard_start w;
    struct sidecar sidecar;
    out->fd = -1;
    TRY(dashboard_check_page(e));
    TRY(sidecar_start(&sidecar, SOCK_STREAM, dashboard_process, (void *)(uintptr_t)folder, e));
    out->fd = sidecar.fd;
    if (!sidecar_read(out->fd, &w, sizeof w))
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

void dashboard_linger(const struct dashboard *s)
{
    sigset_t ending;
    if (s->fd < 0 || !isatty(STDIN_FILENO))
        return;
    fprintf(stderr, "footplate: dashboard still running at %s; press Ctrl-C to stop\n",
            s->place.address);
    dashboard_block(&ending);
    dashboard_wait(&ending);
}
