/* SPDX-License-Identifier: Apache-2.0 */
/* control_protocol.h - the requests that a running recorder accepts: one line in, one line out,
 * over a UNIX socket.
 *
 *     interval=100ms        sample at this interval from now on
 *     monitoring=off | on   pause and resume sampling; the job continues either way
 *     detail=now:3 | +5s:2s | 100:2 | off    record operators; see config/detail_window.h
 *     stop                  end the job: SIGTERM, SIGKILL after a grace time
 *     status                report the state of the recording
 *
 * The answer is "ok ..." or "error ...", then the connection closes. agent/control.h is the
 * recorder's side, control_client.h the user's. */
#ifndef CONTROL_CONTROL_PROTOCOL_H
#define CONTROL_CONTROL_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/err.h"
#include "config/detail_window.h"

enum {
    CONTROL_LINE = 128, /* longest request with its newline */
    CONTROL_ANSWER = 256,
    CONTROL_PATH = 108, /* the size of a socket address */
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

/* One request without its newline. Pure. ERR_USAGE names what is allowed. */
MUST_CHECK int control_parse(const char *line, size_t len, struct control_request *out,
                             struct err *e);

/* The socket's path in the n-th folder that may contain it; false when there is no such folder. The
 * recorder uses the first that works, the client tries them all. */
bool control_path(char out[CONTROL_PATH], unsigned n, uid_t owner, const char *run_id,
                  const char *node_id);

#endif
