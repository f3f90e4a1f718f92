/* SPDX-License-Identifier: Apache-2.0 */
/* object_storage.h - what storages have in common whose files are objects on another machine: S3
 * (storage_s3.c) and hubs (storage_hub.c).
 *
 * Readers of a run look for many files, one by one. They are answered from a view: the list of all
 * objects of a run, or of the names in one folder, from one request. It is used for some seconds,
 * then refreshed. Reading takes whole objects into the cache of this machine (object_cache.h), by
 * ETag, and reads or maps the copy: a reader needs nearly all of a file, since the heads of its
 * blocks are all over it. An object that changed since the view was taken is not read; the view is
 * refreshed. So the order of docs/format.md, tail before file, holds.
 *
 * Views and clients are shared by all threads of the process: storage.h has no place for them,
 * since a location is only a text. */
#ifndef RUN_OBJECT_STORAGE_H
#define RUN_OBJECT_STORAGE_H

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "run/storage.h"

struct object_entry {
    const char *name; /* after the root and its slash */
    bool folder;      /* only of a view of one folder */
    uint64_t bytes, version;
    int64_t changed_ns;
    const char *etag;
    const char *text;         /* what is in it, when the list had that; NULL: it is fetched */
    enum storage_alive alive; /* the recorder of its node, where the server knows */
};

struct object_view {
    const struct object_store *store;
    struct object_entry *v; /* by the bytes of their names */
    size_t n, cap;
    int64_t server_s;     /* the server's clock */
    const char *endpoint; /* for the identity of what is cached */
    bool foreign;         /* of a run: the root is none, and the list was ended */
    struct arena arena;
    char root[PATH_LEN];
    bool deep; /* all objects below the root, which is a run or has runs; else the names in it */
    /* object_storage.c's own: */
    mono_ns taken;
    int64_t fresh_ns;
    int refs;
};

/* How a storage does it; struct storage has a pointer to it. */
struct object_store {
    int64_t view_ms; /* a view is used for so long; longer if it took long to make */
    int64_t alive_s; /* a node whose newest object is older is dead */
    /* The root of the view that has this location. */
    void (*root_of)(char root[PATH_LEN], const char *location);
    /* Whether the view to list a folder from has all objects below its root. */
    bool (*is_deep)(const char *root, const char *folder);
    /* Fills the view by object_view_add; any order. */
    int (*fill)(struct object_view *v, struct err *e);
    /* The bytes of an object into the file. ERR_BUSY: it is another one by now. */
    int (*fetch)(const char *location, const struct object_entry *x, int fd, struct err *e);
};

/* ---- operations of struct storage ---- */

extern const struct store_source object_source;
MUST_CHECK int object_list(const char *folder, int flags, storage_visit *visit, void *ctx,
                           struct err *e);
MUST_CHECK int object_stat(const char *path, int flags, struct storage_stat *out, struct err *e);
MUST_CHECK int object_range(const char *path, uint64_t from, void *out, size_t n, size_t *got,
                            struct err *e);
enum storage_alive object_alive(const char *folder);
/* Runs are recorded in a local folder and sent from there (src/ship), so these refuse. */
MUST_CHECK int object_make_runs(const char *folder, bool *made, struct err *e);
MUST_CHECK int object_stage(const char *runs, char *out, struct err *e);
MUST_CHECK int object_publish(const char *from, const char *to, struct err *e);
/* What is put is durable. */
MUST_CHECK int object_sync(const char *folder, struct err *e);

/* ---- for the storages ---- */

/* ERR_LIMIT: there are too many. Texts are the view's. */
MUST_CHECK int object_view_add(struct object_view *v, const struct object_entry *x, struct err *e);
/* Whether the objects of a view make up a run. */
bool object_is_known_run(const char *root);
/* Something in or below it was changed by us. */
void object_view_expire(const char *location);

/* Clients that no thread uses, by what they are for. NULL: there is none. */
void *object_client_take(const char *key);
/* False: there is no room, and the caller closes it. */
bool object_client_give(const char *key, void *client);

#endif
