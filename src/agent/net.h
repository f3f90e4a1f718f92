/* SPDX-License-Identifier: Apache-2.0 */
/* net.h - a TCP connection of which every wait is bounded: `until` holds for all that a call does.
 * Names are not looked up: that cannot be bounded. */
#ifndef AGENT_NET_H
#define AGENT_NET_H

#include <netinet/in.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/err.h"

enum { NET_HOST = 256 };

/* "example.org:25", "127.0.0.1", "[::1]:8080". The port is `otherwise` where none is given. */
MUST_CHECK int net_place_parse(const char *text, size_t len, int otherwise, char host[NET_HOST],
                               int *port, struct err *e);
/* A connected socket that does not block. */
MUST_CHECK int net_connect_to(int *fd, const struct sockaddr *a, socklen_t len, mono_ns until,
                              struct err *e);
MUST_CHECK int net_send(int fd, const void *p, size_t n, mono_ns until, struct err *e);
/* Up to n bytes as soon as there are some; *got 0: the peer has closed. */
MUST_CHECK int net_recv(int fd, void *p, size_t n, mono_ns until, size_t *got, struct err *e);

#endif
