/* SPDX-License-Identifier: Apache-2.0 */
/* dashboard.h - a dashboard that is served during a recording, and how long a server runs. */
#ifndef SESSION_DASHBOARD_H
#define SESSION_DASHBOARD_H

#include <signal.h>

#include "base/err.h"
#include "serve/server.h"

/* Blocks the signals that end a server, before it starts threads; then waits for one of them. */
void dashboard_block(sigset_t *ending);
void dashboard_wait(const sigset_t *ending);

/* A server in a separate process, so that it cannot disturb the recording. It ends with this
 * process, however that ends. */
struct dashboard {
    int fd; /* -1: none */
    struct server_place place;
};

/* Fails when this program was built without the page; the message describes how to get it. */
MUST_CHECK int dashboard_check_page(struct err *e);

/* Before the job starts, and before there are threads. */
MUST_CHECK int dashboard_start(struct dashboard *out, const char *folder, struct err *e);
/* On a terminal it continues to serve until Ctrl-C. */
void dashboard_linger(const struct dashboard *s);

#endif
