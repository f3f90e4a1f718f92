/* SPDX-License-Identifier: Apache-2.0 */
/* ingest.h - runs that are sent to this server: the requests below /api/v1/ingest
 * (docs/remote.md). */
#ifndef SERVE_INGEST_H
#define SERVE_INGEST_H

#include "run/receive.h"
#include "serve/httpd.h"
#include "serve/server_internal.h"

enum ingest_op {
    INGEST_STATE,  /* GET of a node: how far each of its files came */
    INGEST_LOOK,   /* GET or HEAD of a file: how far it came */
    INGEST_APPEND, /* PATCH */
    INGEST_PUT,
    INGEST_REMOVE, /* DELETE of a file without data */
    INGEST_ANSWER, /* POST to a node: what its recorder answered to a request (hub_control.h) */
};

struct ingest_ask {
    enum ingest_op op;
    struct receive_place at; /* without the folder of runs */
    enum run_file_kind kind;
    struct receive_part part; /* of INGEST_APPEND, without the bytes */
    bool zstd;
    unsigned within_s; /* the sender looks for requests so often; 0: it takes none */
};

/* The value of a header of the request; NULL: absent. */
typedef const char *ingest_header(const void *ctx, const char *name);

/* Pure. 0, or the status to refuse it with, and *why. Texts point into the request. */
int ingest_parse(struct ingest_ask *out, enum http_method m, const struct request *q,
                 ingest_header *header, const void *ctx, const char **why);

/* Before the body is read, see httpd.h. */
int ingest_admit(struct server *s, const struct exchange *x, const char *bearer, uint64_t bytes,
                 size_t *most);
/* Answers the request, now or from another thread. May take the visit's arena over. */
void serve_ingest(struct visit *v, const struct token *t);

#endif
