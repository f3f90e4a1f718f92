/* SPDX-License-Identifier: Apache-2.0 */
/* control.h - talking to a recorder that runs: one line in, one line out, over a UNIX socket.
 *
 *     interval=100ms        sample at this interval from now on
 *     monitoring=off | on   pause and resume sampling; the job goes on either way
 *     detail=now:3 | +5s:2s | 100:2 | off    record operators; see config/detail_window.h
 *     stop                  end the job: SIGTERM, SIGKILL after a grace time
 *     status                say how the recording goes
 *
 * The answer is "ok ..." or "error ...", then the connection closes. The socket lies in a folder
 * that only its user may enter, and the peer is asked for its user as well. Clients never make the
 * recorder wait: sockets do not block, a line has a limit, and the oldest client makes room. */
#ifndef AGENT_CONTROL_H
#define AGENT_CONTROL_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/err.h"
#include "config/detail_window.h"
#include "config/limits.h"

enum {
    CONTROL_LINE = 128, /* longest request with its newline */
    CONTROL_ANSWER = 256,
    CONTROL_CLIENTS = 4,
    CONTROL_PATH = 108, /* what a socket address holds */
};

enum control_kind {
    CONTROL_INTERVAL,
    CONTROL_MONITORING,
    CONTROL_DETAIL,
    CONTROL_STOP,
    CONTROL_STATUS,
};

struct control_request {
    enum control_kind kind;
    int64_t number;            /* interval in ns; monitoring 0 or 1 */
    struct window_list detail; /* empty: off */
};

/* One request without its newline. Pure. ERR_USAGE says what is allowed. */
MUST_CHECK int control_parse(const char *line, size_t len, struct control_request *out,
                             struct err *e);

/* -- the recorder's side -- */

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

/* Failure leaves a control that serves nobody; the recording can go on without. */
MUST_CHECK int control_open(struct control *c, const char *run_id, const char *node_id,
                            struct err *e);
/* What to poll for; returns how many entries were filled, at most CONTROL_CLIENTS + 1. */
size_t control_poll(const struct control *c, struct pollfd *out);
/* Serves what is ready, without waiting. */
void control_serve(struct control *c);
void control_close(struct control *c); /* also removes the socket */

/* -- the user's side -- */

/* Asks the recorder of a run's node on this machine. `owner` is the user whose run it is (root may
 * ask for others). ERR_NOT_FOUND when no recorder of it runs here; an "error ..." answer comes back
 * as ERR_USAGE; the text behind "ok " goes to `answer`. */
MUST_CHECK int control_ask(const char *run_id, const char *node_id, uid_t owner,
                           const char *request, char answer[CONTROL_ANSWER], struct err *e);

/* The socket's name in the n-th folder it may lie in; false when there is no such folder. The
 * recorder takes the first that it can use, the client tries them all. */
bool control_path(char out[CONTROL_PATH], unsigned n, uid_t owner, const char *run_id,
                  const char *node_id);

#endif
