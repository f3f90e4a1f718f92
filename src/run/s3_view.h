/* SPDX-License-Identifier: Apache-2.0 */
/* s3_view.h - what is in a bucket, as of a few seconds ago.
 *
 * Readers of a run look for many files, one by one. A view is the list of all keys of a run, or of
 * the names in one folder, from one LIST; it answers them all. It is used for S3_VIEW_MS, then made
 * anew. Views and clients are shared by all threads of the process: storage.h has no place for
 * them, since a location is only a text. */
#ifndef RUN_S3_VIEW_H
#define RUN_S3_VIEW_H

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "net/s3.h"

enum { S3_VIEW_MS = 5000 };

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

struct s3_view_entry {
    const char *name; /* after the root and its slash */
    bool folder;      /* only of a view of one folder */
    uint64_t bytes, version;
    int64_t changed_s;
    const char *etag;
};

struct s3_view {
    struct s3_view_entry *v; /* by the bytes of their names */
    size_t n, cap;
    int64_t server_s;     /* the server's clock */
    const char *endpoint; /* s3_endpoint */
    bool foreign;         /* of a run: the root is none, and the list was ended */
    /* s3_view.c's own: */
    struct arena arena;
    char root[PATH_LEN];
    bool deep;
    mono_ns taken;
    int refs;
};

/* deep: all keys below the root, which is a run; else the names in it. To be released. */
MUST_CHECK int s3_view_get(struct s3_view **out, const char *root, bool deep, struct err *e);
/* The one that is there and fresh, NULL: none. To be released. */
struct s3_view *s3_view_cached(const char *root, bool deep);
void s3_view_release(struct s3_view *v); /* NULL is fine */
/* Something in or below it was changed by us. */
void s3_view_expire(const char *location);

/* The entry of a file; NULL: there is none. */
const struct s3_view_entry *s3_view_find(const struct s3_view *v, const char *name);
/* The first entry that begins with `start`; v->n: none. The others follow it. */
size_t s3_view_first(const struct s3_view *v, const char *start);

#endif
