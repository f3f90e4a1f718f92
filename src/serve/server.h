/* SPDX-License-Identifier: Apache-2.0 */
/* server.h - the dashboard's server: folders of runs in, an address out.
 *
 * server_open binds and begins to answer; server_close ends everything within a second. Below the
 * folders nothing is written but the runs that are received. One per process: it also takes care of
 * files that are cut while they are read. */
#ifndef SERVE_SERVER_H
#define SERVE_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { SERVER_PORT = 7171, SERVER_ADDRESS_LEN = 128 };

struct server;

struct server_options {
    const char *const *folders;
    size_t n_folders;
    const char *bind;               /* an address; NULL: 127.0.0.1 */
    int port;                       /* 0: any free one */
    bool port_is_preferred;         /* when it is taken, one of the next will do */
    const char *token_file;         /* NULL: none */
    const char *token;              /* of the environment; NULL: none */
    const char *tls_cert, *tls_key; /* files; NULL: no TLS */
    const char *const *hosts;       /* more names that it is reached by */
    size_t n_hosts;
    bool control;    /* whether runs can be controlled through it */
    bool receive;    /* whether it receives runs, into the first folder */
    int64_t keep_ns; /* received runs that are older are removed; 0: none are */
};

struct server_place {
    char address[SERVER_ADDRESS_LEN]; /* "http://127.0.0.1:7171/" */
    int port;
    size_t runs; /* in the folders now */
};

/* False: this program was built without the page; its API works. */
bool server_has_page(void);
MUST_CHECK int server_open(struct server **out, const struct server_options *ask,
                           struct server_place *place, struct err *e);
void server_close(struct server *s); /* NULL is fine */

#endif
