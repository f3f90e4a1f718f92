/* SPDX-License-Identifier: Apache-2.0 */
/* http.h - just enough HTTP/1.1 to query a cloud's metadata service: one short answer per
 * connection, no TLS, no proxy. Every wait is bounded.
 *
 * The recorder queries it every few seconds, so this is not done by libcurl (net/curl.h): loaded,
 * that takes 9 MB, more than the recorder itself. */
#ifndef AGENT_HTTP_H
#define AGENT_HTTP_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"

/* ---- connections ---- */

/* A TCP connection of which every wait is bounded: `until` applies to all that a call does.
 * Names are not looked up: that cannot be bounded. */

enum { NET_HOST = 256 };

/* "example.org:25", "127.0.0.1", "[::1]:8080". The port is `otherwise` where none is given. */
MUST_CHECK int net_place_parse(const char *text, size_t len, int otherwise, char host[NET_HOST],
                               int *port, struct err *e);
MUST_CHECK int net_send(int fd, const void *p, size_t n, mono_ns until, struct err *e);
/* Up to n bytes as soon as there are some; *got 0: the peer has closed. */
MUST_CHECK int net_recv(int fd, void *p, size_t n, mono_ns until, size_t *got, struct err *e);

/* ---- requests ---- */

enum { HTTP_MOST = 16 * 1024 }; /* head and body together */

struct http_host {
    uint32_t address; /* network order */
    uint16_t port;
    char text[32]; /* for the Host line */
};

struct http_answer {
    int status;
    const char *body; /* inside the bytes given, not ended by a NUL */
    size_t len;
};

/* "169.254.169.254", "127.0.0.1:8080", with or without "http://". */
MUST_CHECK int http_host_parse(struct http_host *out, const char *text, struct err *e);
/* A whole answer as it was read up to the peer's end of file. Pure. ERR_FORMAT when it is not an
 * answer, is cut short, or uses a transfer coding. */
MUST_CHECK int http_answer_parse(const char *p, size_t n, struct http_answer *out, struct err *e);
/* Where a URL points at: "http://host[:port]/path?query", with https too. */
struct http_url {
    bool tls;
    char host[NET_HOST];
    int port;
    const char *path; /* inside the text given; "" means "/" */
};

MUST_CHECK int http_url_parse(struct http_url *out, const char *text, struct err *e);
/* Sends `method path` with the header lines (each ended by \r\n; may be "") and reads the answer
 * into buf, which out->body then points into. Takes at most timeout_ms. */
MUST_CHECK int http_ask(const struct http_host *h, const char *method, const char *path,
                        const char *headers, int timeout_ms, char buf[HTTP_MOST],
                        struct http_answer *out, struct err *e);

#endif
