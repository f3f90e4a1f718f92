/* SPDX-License-Identifier: Apache-2.0 */
/* aside.h - a process of ours that works beside the recorder and is no child of it.
 *
 * A child of the recorder would look like a part of the job, and would be reaped like one. So this
 * one is made before the recorder adopts orphans, by a parent that ends at once: it belongs to
 * nobody here. Where the recorder is the first process of a pid namespace, it becomes its child all
 * the same, and is known by its session. It holds none of the recorder's files and locks, since
 * there are none yet, nothing of the terminal, and ends when the recorder does, however that ends:
 * its socket closes. */
#ifndef AGENT_ASIDE_H
#define AGENT_ASIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct aside {
    int fd;        /* of a socket */
    pid_t session; /* of the process and all that it starts, and of nobody else */
};

/* Single-threaded, before the job. `body` has the other end of the socket, of `type` SOCK_STREAM or
 * SOCK_SEQPACKET, and in its own process everything `ctx` points to; when it returns the process
 * ends. */
MUST_CHECK int aside_start(struct aside *out, int type, void (*body)(int fd, void *ctx), void *ctx,
                           struct err *e);

/* For the bodies: so many bytes; false: the other side is gone. */
bool aside_read(int fd, void *p, size_t n);

#endif
