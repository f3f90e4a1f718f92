/* SPDX-License-Identifier: Apache-2.0 */
/* serving.h - how long a dashboard goes on, and one beside a recording. */
#ifndef CMD_SERVING_H
#define CMD_SERVING_H

#include <signal.h>

#include "base/err.h"
#include "serve/server.h"

/* Blocks the signals that end a server, before it starts threads; then waits for one of them. */
void serving_block(sigset_t *ending);
void serving_wait(const sigset_t *ending);

/* A server in a process of its own, so that nothing it does can disturb the recording. It ends with
 * this process, however that ends. */
struct serving {
    int fd; /* -1: none */
    struct server_place place;
};

/* Fails when this program was built without the page, and says how to get it. */
MUST_CHECK int serving_check_page(struct err *e);

/* Before the job starts, and before there are threads. */
MUST_CHECK int serving_start(struct serving *out, const char *folder, struct err *e);
/* With somebody at the terminal it goes on until Ctrl-C. */
void serving_linger(const struct serving *s);

#endif
