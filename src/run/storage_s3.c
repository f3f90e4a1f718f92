/* SPDX-License-Identifier: Apache-2.0 */
/* storage_s3.c - storage.h on S3 and servers that speak its protocol: s3://BUCKET/PREFIX/RUN/...
 *
 * Looking is answered from a view (s3_view.h): one LIST for all files of a run. Reading takes whole
 * objects into the cache of this machine (object_cache.h), by ETag, and reads or maps the copy. A
 * reader needs nearly all of a file: the heads of its blocks are all over it. So opening a run
 * costs one LIST, and one GET for each file that is not in the cache.
 *
 * Files that grow are there in parts (parts.h) and a tail that is replaced as a whole. The order of
 * docs/format.md, tail before file, holds: an object that changed since the view was taken is not
 * read (If-Match), and the view is taken anew.
 *
 * Runs are recorded in a local folder and shipped from there (src/ship). So nothing is made here:
 * stage, claim and publish refuse. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "run/object_cache.h"
#include "run/parts.h"
#include "run/run_names.h"
#include "run/s3_view.h"
#include "run/storage.h"

enum {
    FETCH_BYTES = 16 << 20,
    FETCH_ATTEMPTS = 3,     /* with a new view, when the object has changed */
    ALIVE_S = 3 * 60,       /* three intervals of shipping */
    TRIM_BYTES = 256 << 20, /* fetched between two looks at the size of the cache */
};

/* ---- which run a location is in ---- */

struct s3_spot {
    char root[PATH_LEN]; /* the run, or any folder when `name` is "" */
    const char *name;    /* below the root */
};

static void s3_spot_cut(struct s3_spot *s, const char *location, const char *name)
{
    snprintf(s->root, sizeof s->root, "%.*s", (int)(name - location - 1), location);
    s->name = name;
}

/* Whether a view says that it is a run; its run.json is looked for before anything else. */
static bool s3_is_known_run(const char *root)
{
    struct s3_view *v = s3_view_cached(root, true);
    const bool is = v && !v->foreign && s3_view_find(v, RUN_ABOUT);
    s3_view_release(v);
    return is;
}

/* The start of the component before `name`. */
static const char *s3_component_before(const char *location, const char *name)
{
    const char *p = name - 1;
    while (p > location && p[-1] != '/')
        p--;
    return p;
}

/* RUN/run.json, RUN/node-ID/FILE, anything in what is known as a run, or any other folder. A run
 * may itself be called "node-1", so a location that ends like that is not always a node. */
static void s3_spot_of(struct s3_spot *s, const char *location)
{
    const char *base = strrchr(location, '/') + 1;
    const char *before = s3_component_before(location, base);
    if (run_file_kind(base, false) != RUN_FILE_OTHER) {
        s3_spot_cut(s, location, base);
        return;
    }
    if (run_node_id(before)) {
        s3_spot_cut(s, location, before);
        return;
    }
    s3_spot_cut(s, location, base);
    if (s3_is_known_run(s->root))
        return;
    snprintf(s->root, sizeof s->root, "%s", location);
    s->name = "";
}

static int s3_missing(const char *path, struct err *e)
{
    errno = ENOENT;
    return err_sys(e, "open '%s'", path);
}

/* ---- looking ---- */

static struct storage_stat s3_stat_of(const struct s3_view_entry *x)
{
    return (struct storage_stat){
        .kind = x->folder ? STORAGE_FOLDER : STORAGE_FILE,
        .bytes = x->bytes,
        .changed_ns = x->changed_s * NS_PER_S,
        .version = x->version,
    };
}

/* A folder is what keys begin with; its version is that of all of them. */
static bool s3_stat_folder(const struct s3_view *v, const char *name, struct storage_stat *out)
{
    char start[PATH_LEN];
    snprintf(start, sizeof start, "%s%s", name, *name ? "/" : "");
    *out = (struct storage_stat){.kind = STORAGE_FOLDER};
    size_t i = s3_view_first(v, start);
    const bool there = i < v->n || (v->foreign && !*name);
    for (; i < v->n && text_starts(v->v[i].name, start); i++) {
        out->version += v->v[i].version;
        out->changed_ns = MAX_OF(out->changed_ns, v->v[i].changed_s * NS_PER_S);
    }
    return there;
}

static int s3_storage_stat_raw(const char *path, struct storage_stat *out, struct err *e)
{
    struct s3_spot spot;
    struct s3_view *v;
    s3_spot_of(&spot, path);
    TRY(s3_view_get(&v, spot.root, true, e));
    const struct s3_view_entry *x = *spot.name ? s3_view_find(v, spot.name) : NULL;
    bool there = x != NULL;
    if (x)
        *out = s3_stat_of(x);
    else
        there = s3_stat_folder(v, spot.name, out);
    s3_view_release(v);
    return there ? 0 : s3_missing(path, e);
}

static int s3_storage_stat(const char *path, int flags, struct storage_stat *out, struct err *e)
{
    (void)flags;
    const int rc = s3_storage_stat_raw(path, out, e);
    return rc && parts_may_be(path, e) ? parts_stat(&storage_s3, path, out, e) : rc;
}

/* The entries below `start`, each name once. */
static void s3_visit_below(const struct s3_view *v, const char *start, storage_visit *visit,
                           void *ctx)
{
    const size_t skip = strlen(start);
    char last[PATH_LEN] = "";
    for (size_t i = s3_view_first(v, start); i < v->n && text_starts(v->v[i].name, start); i++) {
        const char *name = v->v[i].name + skip, *slash = strchr(name, '/');
        struct storage_entry x = {.name = name, .stat = s3_stat_of(&v->v[i])};
        char folder[PATH_LEN];
        if (slash) {
            if (strncmp(last, name, (size_t)(slash - name)) == 0 && !last[slash - name])
                continue;
            snprintf(last, sizeof last, "%.*s", (int)(slash - name), name);
            snprintf(folder, sizeof folder, "%s%s", start, last);
            s3_stat_folder(v, folder, &x.stat);
            x.name = last;
        }
        x.kind = x.stat.kind;
        visit(ctx, &x);
    }
}

static int s3_storage_list(const char *folder, int flags, storage_visit *visit, void *ctx,
                           struct err *e)
{
    struct s3_spot spot;
    struct s3_view *v;
    char start[PATH_LEN];
    (void)flags;
    s3_spot_of(&spot, folder);
    const bool deep = *spot.name || s3_is_known_run(spot.root);
    TRY(s3_view_get(&v, spot.root, deep, e));
    snprintf(start, sizeof start, "%s%s", spot.name, *spot.name ? "/" : "");
    s3_visit_below(v, start, visit, ctx);
    s3_view_release(v);
    return 0;
}

static enum storage_alive s3_storage_alive(const char *folder)
{
    struct s3_spot spot;
    struct s3_view *v;
    struct storage_stat st;
    struct err e;
    s3_spot_of(&spot, folder);
    if (s3_view_get(&v, spot.root, true, &e))
        return STORAGE_ALIVE_UNKNOWN;
    enum storage_alive alive = STORAGE_ALIVE_UNKNOWN;
    if (s3_stat_folder(v, spot.name, &st) && st.changed_ns && v->server_s)
        alive = v->server_s - st.changed_ns / NS_PER_S < ALIVE_S ? STORAGE_ALIVE : STORAGE_DEAD;
    s3_view_release(v);
    return alive;
}

/* ---- reading ---- */

static int s3_fetch_range(struct s3 *s3, const char *key, const struct s3_view_entry *x,
                          uint64_t at, int fd, struct err *e)
{
    struct s3_got got;
    const uint64_t n = MIN_OF(x->bytes - at, (uint64_t)FETCH_BYTES);
    const struct s3_get q = {
        .key = key,
        .from = (int64_t)at,
        .len = at || n < x->bytes ? n : 0,
        .if_match = *x->etag ? x->etag : NULL,
        .most = FETCH_BYTES,
    };
    TRY(s3_get(s3, &q, &got, e));
    int rc = got.body.len == n ? fd_write_all(fd, got.body.p, n, "the cache", e)
                               : err_set(e, ERR_BUSY, "'%s' has changed", key);
    buf_free(&got.body);
    return rc;
}

/* The object into the cache. ERR_BUSY: it is another one by now. */
static int s3_fetch_object(const struct s3_place *p, const struct s3_view_entry *x,
                           const char *path, struct err *e)
{
    struct s3 *s3;
    struct object_cache_file f;
    TRY(s3_client_take(&s3, p->bucket, e));
    int rc = object_cache_begin(&f, path, e);
    if (rc == 0) {
        for (uint64_t at = 0; at < x->bytes && rc == 0; at += FETCH_BYTES)
            rc = s3_fetch_range(s3, p->key, x, at, f.fd, e);
        if (rc)
            object_cache_drop(&f);
        else
            rc = object_cache_end(&f, e);
    }
    s3_client_give(s3, p->bucket);
    return rc;
}

/* Now and then: to look at the size of the cache means to list it. */
static void s3_note_fetched(uint64_t bytes)
{
    static _Atomic uint64_t fetched = TRIM_BYTES; /* so that the first fetch looks */
    if (atomic_fetch_add(&fetched, bytes) >= TRIM_BYTES) {
        atomic_store(&fetched, 0);
        object_cache_trim();
    }
}

static int s3_fetch_entry(const char *location, const struct s3_view *v,
                          const struct s3_view_entry *x, char path[PATH_LEN], struct err *e)
{
    struct s3_place p;
    struct arena a = {0};
    bool there;
    TRY(s3_place_of(&p, location, e));
    const char *identity =
        arena_printf(&a, "%s\n%s\n%s\n%s", v->endpoint, p.bucket, p.key, x->etag);
    int rc = object_cache_find(identity, x->bytes, path, &there, e);
    arena_free(&a);
    if (rc || there)
        return rc;
    rc = s3_fetch_object(&p, x, path, e);
    if (rc == 0)
        s3_note_fetched(x->bytes);
    return rc;
}

/* The path of the copy of an object. */
static int s3_fetch(const char *location, char path[PATH_LEN], struct err *e)
{
    struct s3_spot spot;
    int rc = 0;
    s3_spot_of(&spot, location);
    for (int attempt = 0; attempt < FETCH_ATTEMPTS; attempt++) {
        struct s3_view *v;
        TRY(s3_view_get(&v, spot.root, true, e));
        const struct s3_view_entry *x = *spot.name ? s3_view_find(v, spot.name) : NULL;
        rc = x ? s3_fetch_entry(location, v, x, path, e) : s3_missing(location, e);
        s3_view_release(v);
        const bool changed = rc == ERR_BUSY || (x && rc == ERR_SYS && e->sys == ENOENT);
        if (!changed)
            break;
        s3_view_expire(location);
    }
    return rc;
}

static int s3_read_raw(const char *path, int64_t from, size_t most, struct arena *a, char **out,
                       size_t *len, struct err *e)
{
    char copy[PATH_LEN];
    TRY(s3_fetch(path, copy, e));
    return file_read_range(copy, from, most, a, out, len, e);
}

static const struct store_source s3_raw = {.read = s3_read_raw};

static int s3_read(const char *path, int64_t from, size_t most, struct arena *a, char **out,
                   size_t *len, struct err *e)
{
    const int rc = s3_read_raw(path, from, most, a, out, len, e);
    if (rc && parts_may_be(path, e))
        return parts_read(&storage_s3, &s3_raw, path, from, most, a, out, len, e);
    return rc;
}

/* A copy does not grow, whatever the object does. */
static int s3_map(const char *path, bool growing, struct fmap *out, struct err *e)
{
    char copy[PATH_LEN];
    (void)growing;
    const int rc = s3_fetch(path, copy, e);
    if (rc)
        return parts_may_be(path, e) ? parts_map(&storage_s3, &s3_raw, path, out, e) : rc;
    return fmap_open(copy, false, out, e);
}

static const struct store_source s3_source = {s3_read, s3_map};

static int s3_range(const char *path, uint64_t from, void *out, size_t n, size_t *got,
                    struct err *e)
{
    char copy[PATH_LEN];
    TRY(s3_fetch(path, copy, e));
    return storage_local.range(copy, from, out, n, got, e);
}

/* ---- writing ---- */

static int s3_storage_put(const char *path, const void *p, size_t n, enum storage_put how,
                          struct err *e)
{
    struct s3_place place;
    struct s3 *s3;
    TRY(s3_place_of(&place, path, e));
    TRY(s3_client_take(&s3, place.bucket, e));
    const int rc = s3_put(s3, place.key, p, n, how == STORAGE_PUT_ABSENT, e);
    s3_client_give(s3, place.bucket);
    s3_view_expire(path);
    return rc;
}

struct s3_removal {
    struct arena arena;
    const char **keys;
    size_t n, cap;
};

static int s3_note_key(void *ctx, const struct s3_object *x, struct err *e)
{
    struct s3_removal *r = ctx;
    (void)e;
    *ARENA_ADD(&r->arena, r->keys, r->n, r->cap) = arena_strdup(&r->arena, x->key);
    return 0;
}

static int s3_remove_keys(struct s3 *s3, const struct s3_place *p, enum storage_remove what,
                          struct err *e)
{
    struct s3_removal r = {0};
    int rc = 0;
    if (what == STORAGE_REMOVE_FILE)
        return s3_delete(s3, p->key, e);
    const char *prefix = arena_printf(&r.arena, "%s/", p->key);
    rc = s3_list(s3, &(struct s3_list){.prefix = prefix}, s3_note_key, &r, e);
    if (rc == 0 && what == STORAGE_REMOVE_EMPTY && r.n)
        rc = err_set(e, ERR_BUSY, "it is not empty");
    for (size_t i = 0; i < r.n && rc == 0; i++)
        rc = s3_delete(s3, r.keys[i], e);
    arena_free(&r.arena);
    return rc;
}

static bool s3_storage_remove(const char *path, enum storage_remove what)
{
    struct s3_place p;
    struct s3 *s3;
    struct err e;
    if (s3_place_of(&p, path, &e) || !*p.key || s3_client_take(&s3, p.bucket, &e))
        return false;
    const int rc = s3_remove_keys(s3, &p, what, &e);
    s3_client_give(s3, p.bucket);
    s3_view_expire(path);
    return rc == 0;
}

static int s3_refuse(const char *path, struct err *e)
{
    return err_set(
        e, ERR_USAGE,
        "a run cannot be made at '%.200s': record it in a local folder and send it there "
        "with 'footplate push'",
        path);
}

static int s3_make_runs(const char *folder, bool *made, struct err *e)
{
    (void)made;
    return s3_refuse(folder, e);
}

static int s3_stage(const char *runs, char *out, struct err *e)
{
    (void)out;
    return s3_refuse(runs, e);
}

static int s3_publish(const char *from, const char *to, struct err *e)
{
    (void)from;
    return s3_refuse(to, e);
}

/* What is put is durable. */
static int s3_sync(const char *folder, struct err *e)
{
    (void)folder;
    (void)e;
    return 0;
}

const struct storage storage_s3 = {
    .source = &s3_source,
    .list = s3_storage_list,
    .stat = s3_storage_stat,
    .put = s3_storage_put,
    .make_runs = s3_make_runs,
    .stage = s3_stage,
    .claim = s3_make_runs,
    .remove = s3_storage_remove,
    .publish = s3_publish,
    .range = s3_range,
    .sync = s3_sync,
    .alive = s3_storage_alive,
};
