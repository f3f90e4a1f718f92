/* SPDX-License-Identifier: Apache-2.0 */
/* http_client.h - requests to an HTTP server, through libcurl (curl.h).
 *
 * A client is one handle with one keep-alive connection: http_client_open, any number of
 * http_client_send one after the other, http_client_close. Two threads have two clients. Redirects
 * are not followed, proxies of the environment are not used, and the address goes to the server as
 * it is given, byte for byte. HTTP/1.1, TLS 1.2 or later. */
#ifndef NET_HTTP_CLIENT_H
#define NET_HTTP_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct http_client;

struct http_client_config {
    const char *ca;         /* a file with certificates; NULL: the system's */
    const char *pinned_key; /* "sha256//BASE64" of the server's public key; NULL: any. Without `ca`,
                               the key alone is checked, so a self-signed certificate is fine. */
};

enum {
    HTTP_CONNECT_MS = 10000,
    HTTP_STALL_S = 30,
    HTTP_BODY_MOST = 64 << 20,
    HTTP_HEADERS_MOST = 64 << 10,
};

struct http_request {
    const char *method;
    const char *url;
    const char *const *headers; /* "Name: value" */
    size_t n_headers;
    const void *body; /* with methods that have one; NULL: none */
    size_t body_len;
    /* Takes the body of a 2xx answer as it comes; NULL: it goes to the response. Not 0: the request
     * ends with that error. */
    int (*sink)(void *ctx, const void *p, size_t n, struct err *e);
    void *sink_ctx;
    size_t body_most;   /* bytes of the answer, more is ERR_LIMIT; 0: HTTP_BODY_MOST */
    int64_t connect_ms; /* 0: HTTP_CONNECT_MS */
    int64_t timeout_ms; /* of the whole request; 0: no limit but that of a stall, HTTP_STALL_S
                           seconds without progress */
};

struct http_response {
    int status;
    struct buf headers; /* lines "Name: value", each with a NUL at its end */
    struct buf body;
    size_t body_bytes; /* received, also those that went to the sink */
};

MUST_CHECK int http_client_open(struct http_client **out, const struct http_client_config *config,
                                struct err *e);
/* 0: the server answered, with whatever status. ERR_NOT_FOUND: no complete answer (not reached,
 * cut, too slow), another attempt may succeed. ERR_FORMAT: the certificate or key is not the right
 * one. ERR_USAGE: the address is not valid. The response is to be freed in any case, and may be
 * reused: it is emptied first. */
MUST_CHECK int http_client_send(struct http_client *c, const struct http_request *q,
                                struct http_response *r, struct err *e);
void http_client_close(struct http_client *c); /* NULL is fine */

/* The value of a header, by its name in any case; NULL: not there. */
const char *http_response_header(const struct http_response *r, const char *name);
void http_response_free(struct http_response *r);

#endif
