/* SPDX-License-Identifier: Apache-2.0 */
/* s3_internal.h - s3_send.c signs, sends and tries again; s3.c has the calls. */
#ifndef NET_S3_INTERNAL_H
#define NET_S3_INTERNAL_H

#include "base/arena.h"
#include "net/aws_credentials.h"
#include "net/http_client.h"
#include "net/s3.h"
#include "net/sigv4.h"

struct s3 {
    struct arena arena;
    const char *bucket;
    char region[64];
    const char *endpoint; /* NULL: AWS */
    char *host;           /* that a redirect named; NULL: none */
    const char *ca;
    bool sign;
    int attempts;
    int64_t wait_ms;
    size_t part_bytes; /* 0: the default */
    struct aws_credentials keys;
    bool had_keys;      /* at any time */
    int64_t skew_s;     /* server's clock minus ours */
    int64_t server_s;   /* its latest Date */
    bool send_checksum; /* the server wants one */
    bool no_conditions; /* the server has no conditional writes */
    uint64_t random;    /* state of the generator for delays */
    struct http_client *http;
    struct http_response r;
    struct s3_counts counts;
};

enum { S3_CALL_PAIRS = 6 };

struct s3_call {
    const char *method, *key; /* key "": the bucket */
    struct sigv4_pair query[S3_CALL_PAIRS], headers[S3_CALL_PAIRS];
    size_t n_query, n_headers;
    const void *body;
    size_t body_len, most;
};

/* 0: the answer is in s->r, with a status of 2xx, 304 or 416. */
MUST_CHECK int s3_send(struct s3 *s, const struct s3_call *c, struct err *e);
/* A text of a header, or "" where there is none. */
const char *s3_header(const struct s3 *s, const char *name);

#endif
