/* SPDX-License-Identifier: Apache-2.0 */
/* s3.h - a client for one bucket of S3, or of a server that speaks its protocol.
 *
 * A client is one connection: s3_open, any number of calls one after the other, s3_close. Two
 * threads have two clients. Keys, region and endpoint are found as in aws_credentials.h; with
 * FOOTPLATE_S3_NO_SIGN=1 requests are not signed, for public buckets. With a user's
 * endpoint the bucket is in the path, on AWS in the host name.
 *
 * Transient failures are retried, with growing random delays: answers 5xx and 429, cut connections,
 * a wrong clock, keys that have expired, another region. Other failures are one sentence:
 *
 *   ERR_SYS, e->sys ENOENT   there is no such key
 *   ERR_SYS, e->sys EACCES   the keys are wrong, or may not do it
 *   ERR_BUSY                 a condition does not hold: another client was first
 *   ERR_NOT_FOUND            the server cannot be reached, or still fails after all attempts
 *   ERR_USAGE                anything else that is wrong with the set-up, as a missing bucket */
#ifndef NET_S3_H
#define NET_S3_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct s3;

struct s3_config {
    const char *bucket;
    int attempts;      /* 0: 5 */
    int64_t wait_ms;   /* base of the delays; 0: 50 ms, and 1 s for a server that is busy */
    size_t part_bytes; /* larger objects are put in parts of this size; 0: 16 MiB above 64 MiB */
};

enum { S3_ETAG_LEN = 96, S3_KEY_MOST = 1024 };

struct s3_object {
    const char *key; /* of a list; for a prefix with the delimiter at its end */
    bool is_prefix;
    uint64_t bytes;
    int64_t changed_s;      /* since the epoch, by the server's clock; 0: not known */
    char etag[S3_ETAG_LEN]; /* with its quotes; opaque */
};

/* What this client has sent; for `cost` in benches and tests. */
struct s3_counts {
    uint64_t puts, gets, lists, deletes, retries; /* as they are billed; HEAD is a get */
    uint64_t bytes_in, bytes_out;
};

/* Whether the name may be one of a bucket. */
bool s3_is_bucket(const char *name);

MUST_CHECK int s3_open(struct s3 **out, const struct s3_config *config, struct err *e);
void s3_close(struct s3 *s); /* NULL is fine */

/* Replaces an object, or with `absent` makes it: ERR_BUSY when it is there. A server without
 * conditional writes gets a GET before, and one after to compare the bytes. */
MUST_CHECK int s3_put(struct s3 *s, const char *key, const void *p, size_t n, bool absent,
                      struct err *e);

/* The same of n bytes that `bytes` copies, a few MiB at a time, in order. It may use the client. */
typedef int s3_bytes(void *ctx, uint64_t at, size_t n, uint8_t *out, struct err *e);
MUST_CHECK int s3_put_from(struct s3 *s, const char *key, s3_bytes *bytes, void *ctx, size_t n,
                           struct err *e);

struct s3_get {
    const char *key;
    int64_t from;              /* negative: so many bytes from the end */
    uint64_t len;              /* 0: up to the end */
    const char *if_match;      /* ETag; another one is ERR_BUSY. NULL: any */
    const char *if_none_match; /* ETag; the same one has no content and `unchanged`. NULL: none */
    size_t most;               /* bytes of the answer */
};

struct s3_got {
    struct buf body; /* to be freed */
    struct s3_object object;
    bool unchanged;
};

MUST_CHECK int s3_get(struct s3 *s, const struct s3_get *q, struct s3_got *out, struct err *e);
MUST_CHECK int s3_head(struct s3 *s, const char *key, struct s3_object *out, struct err *e);
/* One that is not there is no error. */
MUST_CHECK int s3_delete(struct s3 *s, const char *key, struct err *e);

/* All keys that begin with `prefix`, in the order of their bytes. delimiter "/": what has one after
 * the prefix is given as a prefix, once. Not 0: the list ends with that. */
typedef int s3_visit(void *ctx, const struct s3_object *x, struct err *e);

struct s3_list {
    const char *prefix;
    const char *delimiter;   /* NULL: none */
    const char *start_after; /* NULL: from the beginning */
    bool *more;              /* one page, and whether there are others; NULL: all pages */
};

MUST_CHECK int s3_list(struct s3 *s, const struct s3_list *q, s3_visit *visit, void *ctx,
                       struct err *e);

/* The server's own clock at its latest answer, seconds since the epoch; 0: not known. */
int64_t s3_server_time(const struct s3 *s);
const struct s3_counts *s3_counts(const struct s3 *s);
/* As the user set it; "": AWS. */
const char *s3_endpoint(const struct s3 *s);

#endif
