/* SPDX-License-Identifier: Apache-2.0 */
/* control.h - the recorder's side of the control socket; control/control_protocol.h lists the
 * requests.
 *
 * The socket is in a folder that only its user may enter, and the peer's user is checked as well.
 * Clients never make the recorder wait: sockets do not block, a line has a limit, and the oldest
 * client makes room. */
#ifndef AGENT_CONTROL_H
#define AGENT_CONTROL_H

#include <poll.h>

#include "base/err.h"
#include "control/control_protocol.h"

enum { CONTROL_CLIENTS = 4 };

struct control_client {
    int fd;        /* -1: free */
    uint64_t turn; /* the smallest came first */
    size_t n;
    char line[CONTROL_LINE];
};

struct control {
    int fd; /* listening; -1: none */
    char path[CONTROL_PATH];
    uint64_t turns;
    struct control_client client[CONTROL_CLIENTS];
    /* Fills the answer's text and returns whether the request was granted. */
    bool (*handle)(void *ctx, const struct control_request *r, char *answer, size_t size);
    void *ctx;
};

/* Failure leaves a control that serves no client; the recording can continue without. */
MUST_CHECK int control_open(struct control *c, const char *run_id, const char *node_id,
                            struct err *e);
/* What to poll for; returns how many entries were filled, at most CONTROL_CLIENTS + 1. */
size_t control_poll(const struct control *c, struct pollfd *out);
/* Serves what is ready, without waiting. */
void control_serve(struct control *c);
void control_close(struct control *c); /* also removes the socket */

#endif
