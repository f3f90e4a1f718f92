/* SPDX-License-Identifier: Apache-2.0 */
/* storage_s3.h - places in S3, and clients for them. */
#ifndef RUN_STORAGE_S3_H
#define RUN_STORAGE_S3_H

#include "base/err.h"
#include "net/s3.h"
#include "run/object_storage.h"

#define S3_SCHEME "s3://"

/* "s3://BUCKET/KEY" in its parts; no slash at the end of the key, nor two in a row. */
struct s3_place {
    char bucket[64];
    char key[S3_KEY_MOST + 1];
};

MUST_CHECK int s3_place_of(struct s3_place *out, const char *location, struct err *e);

/* A client for the bucket, which no other thread uses until it is given back. */
MUST_CHECK int s3_client_take(struct s3 **out, const char *bucket, struct err *e);
void s3_client_give(struct s3 *s, const char *bucket);

/* Something to do for each of n items of a bucket. */
struct s3_batch {
    const char *bucket;
    size_t n;
    int (*fetch)(void *ctx, struct s3 *s3, size_t i, struct err *e);
    void *ctx;
};

/* All of it, by this thread and up to so many others, each with a separate client: most of the
 * time they wait for the network. An error ends it. */
MUST_CHECK int s3_batch_run(const struct s3_batch *b, size_t others, struct err *e);

#endif
