/* SPDX-License-Identifier: Apache-2.0 */
/* ingest.h - runs that are sent to this server, and files of runs that are read from it: the
 * requests below /api/v1/ingest and /api/v1/files (docs/remote.md). */
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
};

struct ingest_ask {
    enum ingest_op op;
    struct receive_place at; /* without the folder of runs */
    enum run_file_kind kind;
    struct receive_part part; /* of INGEST_APPEND, without the bytes */
    bool zstd;
};

/* The value of a header of the request; NULL: absent. */
typedef const char *ingest_header(const void *ctx, const char *name);

/* Pure. 0, or the status to refuse it with, and *why. Texts point into the request. */
int ingest_parse(struct ingest_ask *out, enum http_method m, const struct request *q,
                 ingest_header *header, const void *ctx, const char **why);

/* The bytes from..from+n of a file of `size` bytes that a Range header means. 200: it means none,
 * so all of them; 206; 416. Pure. */
int range_parse(const char *header, uint64_t size, uint64_t *from, uint64_t *n);

/* Before the body is read, see httpd.h. */
int ingest_admit(struct server *s, const struct exchange *x, const char *bearer, uint64_t bytes,
                 size_t *most);
/* Answer the request, now or from another thread. May take the visit's arena over. */
void serve_ingest(struct visit *v, const struct token *t);
void serve_files(struct visit *v);

#endif
