/* SPDX-License-Identifier: Apache-2.0 */
/* httpd_internal.h - what the files of httpd.h share; nobody else includes it. */
#ifndef SERVE_HTTPD_INTERNAL_H
#define SERVE_HTTPD_INTERNAL_H

#include <microhttpd.h>
#include <stdatomic.h>

#include "serve/conns.h"
#include "serve/httpd.h"

struct reply {
    _Atomic unsigned refs;
    _Atomic unsigned takers; /* connections that it is being sent to */
    struct MHD_Response *response;
    int status;
    size_t bytes;
    bool stream;
    char etag[HTTP_ETAG_LEN]; /* "": none */
};

struct exchange {
    struct httpd *httpd;
    struct MHD_Connection *connection;
    struct conn *conn;
    enum http_method method;
    char *uri;
    struct buf body;
    bool seen, too_large, complete, waits;
    struct reply *reply; /* to be sent */
};

/* What an answer with that tag becomes for who has it already. */
struct MHD_Response *reply_not_modified(const struct reply *r);

#endif
