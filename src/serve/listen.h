/* SPDX-License-Identifier: Apache-2.0 */
/* listen.h - the socket that the server listens on. */
#ifndef SERVE_LISTEN_H
#define SERVE_LISTEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct listen_place {
    int fd;
    int port;
    bool loopback; /* only this machine can reach it */
    bool anywhere; /* 0.0.0.0 or ::, all addresses of the machine */
    bool v6;
};

enum { LISTEN_TRIES = 20 }; /* ports behind the one that is wished for */

/* What an address is, without binding it: digits, or "localhost". */
MUST_CHECK int listen_look(const char *address, struct listen_place *out, struct err *e);
/* `wish`: when the port is taken one of the next will do. */
MUST_CHECK int listen_open(const char *address, int port, bool wish, struct listen_place *out,
                           struct err *e);

#endif
