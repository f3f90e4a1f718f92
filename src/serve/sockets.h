/* SPDX-License-Identifier: Apache-2.0 */
/* sockets.h - the socket that the server listens on, addresses, and the user at the other end of a
 * connection within this machine. */
#ifndef SERVE_SOCKETS_H
#define SERVE_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/err.h"

/* ---- listening ---- */

struct listen_place {
    int fd;
    int port;
    bool loopback; /* only this machine can reach it */
    bool anywhere; /* 0.0.0.0 or ::, all addresses of the machine */
    bool v6;
};

enum { LISTEN_TRIES = 20 }; /* ports after the preferred one */

/* What an address is, without binding it: digits, or "localhost". */
MUST_CHECK int listen_look(const char *address, struct listen_place *out, struct err *e);
/* `preferred`: when the port is taken one of the next will do. */
MUST_CHECK int listen_open(const char *address, int port, bool preferred, struct listen_place *out,
                           struct err *e);

/* ---- addresses ---- */

bool addr_is_loopback(const struct sockaddr *a);
/* Same address, whatever the ports. */
bool addr_same(const struct sockaddr *a, const struct sockaddr *b);

/* ---- the user at the other end ---- */

/* Only PEER_OURS may do anything. */
enum peer {
    PEER_OURS,    /* a socket of this user or root, open now */
    PEER_OTHERS,  /* another user's, or without an owner: closed, reset, or in another network
                     namespace */
    PEER_UNKNOWN, /* the system does not show the owners of connections */
};

enum peer peer_of(int fd);

#endif
