/* SPDX-License-Identifier: Apache-2.0 */
/* httpd.h - HTTP, and the only door to libmicrohttpd.
 *
 * httpd_start, any number of requests, httpd_stop. A few threads speak HTTP and call `request` when
 * a request has come whole. It is answered there with exchange_answer, or handed on: exchange_wait,
 * then exchange_answer from any thread. Each exchange is answered once.
 *
 * A reply is counted: exchange_answer takes one count, reply_free gives one back, so a reply can be
 * cached and sent to many. */
#ifndef SERVE_HTTPD_H
#define SERVE_HTTPD_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

struct httpd;
struct exchange;
struct reply;

enum {
    HTTP_BODY_MOST = 64 << 10, /* unless `admit` allows more */
    HTTP_BODIES = 64 << 20,    /* bytes of larger bodies, of all requests */
    HTTP_LARGE_S = 120,        /* for sending a larger body, instead of HTTP_REQUEST_S */
    HTTP_CONNECTIONS = 4096,
    HTTP_PER_ADDRESS = 512, /* of one address that is not this machine's */
    HTTP_IDLE_S = 10,       /* nothing read and nothing written */
    HTTP_REQUEST_S = 20,    /* from the end of one request to the end of the next */
    HTTP_ANSWER_S = 60,     /* for taking an answer that is not a stream */
    HTTP_UNSENT = 64 << 20, /* bytes of answers that wait for their takers, of all connections */
    HTTP_ETAG_LEN = 24,
};

enum http_method {
    HTTP_GET,
    HTTP_POST,
    HTTP_PUT,
    HTTP_PATCH,
    HTTP_DELETE,
    HTTP_OTHER
}; /* HEAD is a GET here */

struct httpd_options {
    int fd;                 /* bound and listening; closed by httpd_stop */
    unsigned threads;       /* that speak HTTP; at least 1 */
    const char *cert, *key; /* PEM texts; NULL: no TLS */
    void (*request)(void *ctx, struct exchange *x);
    /* Before the body of a request is read: how large it may be, *most of `bytes` or more, or a
     * status to refuse it with. It then goes to `request` without a body. NULL: HTTP_BODY_MOST. */
    int (*admit)(void *ctx, const struct exchange *x, uint64_t bytes, size_t *most);
    void *ctx;
};

MUST_CHECK int httpd_start(struct httpd **out, const struct httpd_options *options, struct err *e);
/* Takes no new connections; all exchanges that wait must be answered before httpd_stop. */
void httpd_quiesce(struct httpd *h);
void httpd_stop(struct httpd *h); /* NULL is fine */
size_t httpd_connections(struct httpd *h);
uint64_t httpd_requests(struct httpd *h);

/* ---- the request ---- */

struct exchange { /* read only */
    enum http_method method;
    const char *uri; /* as it came, not decoded */
    const char *body;
    size_t body_len;  /* a NUL follows */
    int body_refused; /* a status: it was refused before its body was read; 0: it was not */
    const struct sockaddr *peer;
    int fd;
    /* A word for the caller, stored with the connection (0 at first): for facts that are the same
     * for all of its requests. */
    uintptr_t *note;
};

const char *exchange_header(const struct exchange *x, const char *name); /* NULL: absent */

/* ---- answering ---- */

struct reply_head {
    int status;
    const char *type;                                     /* NULL: none */
    const char *etag;                                     /* with its quotes; NULL: none */
    const char *cache;                                    /* Cache-Control; NULL: no-store */
    const char *encoding, *file_name, *cookie, *location; /* NULL: none */
    int retry_after_s;                                    /* 0: none */
    const char *const (*more)[2]; /* names and values; ends with {NULL, NULL}; NULL: none */
    const char *csp;              /* Content-Security-Policy; NULL: the page may load nothing */
};

/* Takes the body over; it is empty afterwards. */
struct reply *reply_make(const struct reply_head *h, struct buf *body);
/* The bytes stay where they are for as long as the program runs. */
struct reply *reply_fixed(const struct reply_head *h, const void *p, size_t n);
struct reply *reply_ref(struct reply *r);
void reply_free(struct reply *r); /* NULL is fine */
size_t reply_bytes(const struct reply *r);
int reply_status(const struct reply *r);

/* A stream: `read` gives the next bytes. When there are none it calls exchange_sleep and returns
 * 0; the producer of bytes calls exchange_wake. -1 ends the stream. `done` is called once, when
 * nothing will be read any more. */
struct reply_source {
    ssize_t (*read)(void *ctx, char *out, size_t most);
    void (*done)(void *ctx);
    void *ctx;
};

struct reply *reply_stream(const struct reply_head *h, const struct reply_source *s);

void exchange_answer(struct exchange *x, struct reply *r); /* takes the reply over */
void exchange_wait(struct exchange *x);  /* only in `request`; exchange_answer comes later */
void exchange_sleep(struct exchange *x); /* only in a stream's `read` */
void exchange_wake(struct exchange *x);
bool exchange_gone(const struct exchange *x); /* the client hung up while it slept */

#endif
