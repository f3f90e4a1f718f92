/* SPDX-License-Identifier: Apache-2.0 */
/* s3_view.h - places in S3, clients for them, and the LIST that a view of object_storage.h is made
 * from. */
#ifndef RUN_S3_VIEW_H
#define RUN_S3_VIEW_H

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

/* See struct object_store. */
MUST_CHECK int s3_view_fill(struct object_view *v, struct err *e);

#endif
