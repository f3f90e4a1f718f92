/* SPDX-License-Identifier: Apache-2.0 */
/* storage_s3.c - storage.h on S3 and servers that speak its protocol: s3://BUCKET/PREFIX/RUN/...
 *
 * Lookup and reading are those of object_storage.h: opening a run costs one LIST, and one GET for
 * each file that is not in the cache. Files that grow are there in parts (parts.h) and a tail that
 * is replaced as a whole.
 *
 * Runs are recorded in a local folder and shipped from there (src/ship), so nothing is made here.
 */
#include "run/storage_s3.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/thread.h"
#include "base/vec.h"
#include "run/run_names.h"
#include "run/storage.h"
#include "store/format.h"

enum {
    FETCH_BYTES = 8 << 20,
    FETCH_THREADS = 8,     /* of a batch, beside the caller: each waits for round trips */
    RANGE_THREADS = 6,     /* for the ranges of one object */
    FETCH_STACK = 1 << 20, /* bytes */
    S3_VIEW_MS = 5000,
    S3_ALIVE_S = 3 * 60, /* three intervals of shipping */
};

/* ---- places and clients ---- */

int s3_place_of(struct s3_place *out, const char *location, struct err *e)
{
    const char *p = location + strlen(S3_SCHEME);
    const size_t n = strcspn(p, "/");
    if (!text_starts(location, S3_SCHEME) || n >= sizeof out->bucket)
        return err_set(e, ERR_USAGE, "'%.200s' is not s3://BUCKET/PREFIX", location);
    snprintf(out->bucket, sizeof out->bucket, "%.*s", (int)n, p);
    if (!s3_is_bucket(out->bucket))
        return err_set(e, ERR_USAGE, "'%.200s' does not name a bucket: write s3://BUCKET/PREFIX",
                       location);
    size_t len = 0;
    for (p += n; *p && len < S3_KEY_MOST; p++)
        if (*p != '/' || (len && p[1] && p[1] != '/'))
            out->key[len++] = *p;
    out->key[len] = 0;
    return *p ? err_set(e, ERR_LIMIT, "the key of '%.200s' is too long", location) : 0;
}

static const char *s3_client_key(char out[96], const char *bucket)
{
    snprintf(out, 96, S3_SCHEME "%s", bucket);
    return out;
}

int s3_client_take(struct s3 **out, const char *bucket, struct err *e)
{
    char key[96];
    *out = object_client_take(s3_client_key(key, bucket));
    return *out ? 0 : s3_open(out, &(struct s3_config){.bucket = bucket}, e);
}

void s3_client_give(struct s3 *s, const char *bucket)
{
    char key[96];
    if (!object_client_give(s3_client_key(key, bucket), s))
        s3_close(s);
}

/* ---- batches ---- */

struct s3_work {
    const struct s3_batch *batch;
    _Atomic size_t next;
    pthread_mutex_t lock; /* of the rest */
    int rc;
    struct err err;
};

static void *s3_batch_thread(void *arg)
{
    struct s3_work *w = arg;
    const struct s3_batch *b = w->batch;
    struct s3 *s3;
    struct err e;
    int rc = s3_client_take(&s3, b->bucket, &e);
    if (rc == 0) {
        for (size_t i; rc == 0 && (i = atomic_fetch_add(&w->next, 1)) < b->n;)
            rc = b->fetch(b->ctx, s3, i, &e);
        s3_client_give(s3, b->bucket);
    }
    if (rc) {
        pthread_mutex_lock(&w->lock);
        w->rc = rc;
        w->err = e;
        pthread_mutex_unlock(&w->lock);
        atomic_store(&w->next, b->n); /* the others end, too */
    }
    return NULL;
}

int s3_batch_run(const struct s3_batch *b, size_t others, struct err *e)
{
    struct s3_work w = {.batch = b, .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t threads[FETCH_THREADS];
    struct err ignored; /* this thread does the work of one that cannot be started */
    size_t n = 0;
    while (n < MIN_OF(others, (size_t)FETCH_THREADS) &&
           thread_start(&threads[n], FETCH_STACK, s3_batch_thread, &w, "fetch", &ignored) == 0)
        n++;
    s3_batch_thread(&w);
    while (n)
        pthread_join(threads[--n], NULL);
    if (w.rc)
        *e = w.err;
    return w.rc;
}

/* ---- which run a location is in ---- */

/* The start of the component before `name`. */
static const char *s3_component_before(const char *location, const char *name)
{
    const char *p = name - 1;
    while (p > location && p[-1] != '/')
        p--;
    return p;
}

static void s3_root_cut(char root[PATH_LEN], const char *location, const char *name)
{
    snprintf(root, PATH_LEN, "%.*s", (int)(name - location - 1), location);
}

/* RUN/run.json, RUN/node-ID/FILE, anything in what is known as a run, or any other folder. A run
 * may itself be called "node-1", so a location that ends like that is not always a node. */
static void s3_root_of(char root[PATH_LEN], const char *location)
{
    const char *base = strrchr(location, '/') + 1;
    const char *before = s3_component_before(location, base);
    const bool file = run_file_kind(base, false) != RUN_FILE_OTHER;
    s3_root_cut(root, location, !file && run_node_id(before) ? before : base);
    if (file || run_node_id(before) || object_is_known_run(root))
        return;
    snprintf(root, PATH_LEN, "%s", location);
}

static bool s3_is_deep(const char *root, const char *folder)
{
    return strcmp(root, folder) != 0 || object_is_known_run(root);
}

/* ---- views ---- */

struct s3_view_making {
    struct s3 *s3;
    struct object_view *view;
    const char *prefix;         /* of keys: "", or with a slash at its end */
    uint64_t sum;               /* of all names and versions, in their order */
    char last[S3_KEY_MOST + 1]; /* the key that was listed last */
};

enum {
    VIEW_END = 1, /* no error: the list is not needed any further */
    FOLDER_LISTS_MOST = 16,
    AFTER_LEN = S3_KEY_MOST + 2, /* a key, or with a slash a part of one */
};

/* A run has files, and folders of nodes. A folder of another name in the root shows that the root
 * is no run; then it may have millions of keys. */
static bool s3_view_is_foreign(const char *name)
{
    return strchr(name, '/') && !run_node_id(name) && !text_starts(name, "derived/");
}

static int s3_view_add(void *ctx, const struct s3_object *x, struct err *e)
{
    struct s3_view_making *m = ctx;
    struct object_view *v = m->view;
    const char *name = x->key + strlen(m->prefix);
    snprintf(m->last, sizeof m->last, "%s", x->key);
    if (v->deep && s3_view_is_foreign(name)) {
        v->foreign = true;
        return VIEW_END;
    }
    const size_t len = strlen(name) - x->is_prefix; /* it ends with a slash */
    if (len == 0 || (!x->is_prefix && name[len - 1] == '/'))
        return 0; /* an empty object that some tools make for a folder */
    const struct object_entry entry = {
        .name = arena_strndup(&v->arena, name, len),
        .folder = x->is_prefix,
        .bytes = x->bytes,
        .version = format_sum(x->etag, strlen(x->etag)),
        .changed_ns = x->changed_s * NS_PER_S,
        .etag = arena_strdup(&v->arena, x->etag),
        .alive = STORAGE_ALIVE_UNKNOWN,
    };
    m->sum = hash_more(hash_more(m->sum, name, len), &entry.version, sizeof entry.version);
    return object_view_add(v, &entry, e);
}

/* A folder with more keys than a page has. Pages are of different moments: what two lists in a row
 * have in common was so between them. */
static int s3_view_list_folder(struct s3_view_making *m, const char *folder, struct err *e)
{
    const size_t first = m->view->n;
    uint64_t before = 0;
    for (int lists = 0; lists < FOLDER_LISTS_MOST; lists++) {
        m->view->n = first;
        m->sum = HASH_BEGIN;
        TRY(s3_list(m->s3, &(struct s3_list){.prefix = folder}, s3_view_add, m, e));
        if (lists && m->sum == before)
            return 0;
        before = m->sum;
    }
    return err_set(e, ERR_BUSY, "'%.200s' changes while it is listed", folder);
}

/* The end of a page, and where the next one begins: with the folder that this one may have only in
 * part. */
static int s3_view_end_page(struct s3_view_making *m, size_t first, char after[AFTER_LEN],
                            struct err *e)
{
    struct object_view *v = m->view;
    const size_t skip = strlen(m->prefix), n = skip + strcspn(m->last + skip, "/");
    char folder[AFTER_LEN];
    if (strcmp(m->last, after) <= 0)
        return err_set(e, ERR_FORMAT, "'%.200s': the list of keys does not end", v->root);
    if (!m->last[n]) {
        snprintf(after, AFTER_LEN, "%s", m->last);
        return 0;
    }
    snprintf(folder, sizeof folder, "%.*s/", (int)n, m->last);
    while (v->n > first && text_starts(v->v[v->n - 1].name, folder + skip))
        v->n--;
    if (strcmp(folder, after) == 0) { /* the page was of nothing else */
        TRY(s3_view_list_folder(m, folder, e));
        folder[n]++; /* what comes after a slash */
    }
    snprintf(after, AFTER_LEN, "%s", folder);
    return 0;
}

/* The pages of a list are of different moments, between which the sender of a node may have put a
 * whole file in place of its parts. So all keys of a node are from the same page. */
static int s3_view_list_run(struct s3_view_making *m, struct err *e)
{
    char after[AFTER_LEN] = "";
    for (bool more = true; more;) {
        const size_t first = m->view->n;
        const struct s3_list q = {
            .prefix = m->prefix,
            .start_after = *after ? after : NULL,
            .more = &more,
        };
        TRY(s3_list(m->s3, &q, s3_view_add, m, e));
        if (more)
            TRY(s3_view_end_page(m, first, after, e));
    }
    return 0;
}

static int s3_view_fill(struct object_view *v, struct err *e)
{
    struct s3_place p;
    struct s3_view_making m = {.view = v};
    TRY(s3_place_of(&p, v->root, e));
    m.prefix = arena_printf(&v->arena, "%s%s", p.key, *p.key ? "/" : "");
    TRY(s3_client_take(&m.s3, p.bucket, e));
    const struct s3_list names = {.prefix = m.prefix, .delimiter = "/"};
    const int rc = v->deep ? s3_view_list_run(&m, e) : s3_list(m.s3, &names, s3_view_add, &m, e);
    v->server_s = s3_server_time(m.s3);
    v->endpoint = arena_strdup(&v->arena, s3_endpoint(m.s3));
    s3_client_give(m.s3, p.bucket);
    return rc < 0 ? rc : 0;
}

/* ---- reading ---- */

static int s3_write_at(int fd, const uint8_t *p, size_t n, uint64_t at, struct err *e)
{
    for (ssize_t put; n; p += put, n -= (size_t)put, at += (uint64_t)put) {
        put = pwrite(fd, p, n, (off_t)at);
        if (put < 0 && errno != EINTR)
            return err_sys(e, "write to the cache");
        put = MAX_OF(put, (ssize_t)0);
    }
    return 0;
}

/* The ranges of an object. */
struct s3_ranges {
    struct s3_place place;
    const struct object_entry *entry;
    int fd;
};

static int s3_fetch_range(void *ctx, struct s3 *s3, size_t i, struct err *e)
{
    const struct s3_ranges *r = ctx;
    const struct object_entry *x = r->entry;
    struct s3_got got;
    const uint64_t at = (uint64_t)i * FETCH_BYTES, n = MIN_OF(x->bytes - at, (uint64_t)FETCH_BYTES);
    const struct s3_get q = {
        .key = r->place.key,
        .from = (int64_t)at,
        .len = at || n < x->bytes ? n : 0,
        .if_match = *x->etag ? x->etag : NULL,
        .most = FETCH_BYTES,
    };
    TRY(s3_get(s3, &q, &got, e));
    int rc = got.body.len == n ? s3_write_at(r->fd, got.body.p, n, at, e)
                               : err_set(e, ERR_BUSY, "'%s' has changed", r->place.key);
    buf_free(&got.body);
    return rc;
}

static int s3_fetch(const char *location, const struct object_entry *x, int fd, struct err *e)
{
    struct s3_ranges r = {.entry = x, .fd = fd};
    TRY(s3_place_of(&r.place, location, e));
    const size_t n = (size_t)((x->bytes + FETCH_BYTES - 1) / FETCH_BYTES);
    const struct s3_batch b = {r.place.bucket, n, s3_fetch_range, &r};
    return s3_batch_run(&b, n ? MIN_OF(n - 1, (size_t)RANGE_THREADS) : 0, e);
}

static const struct object_store s3_objects = {
    .view_ms = S3_VIEW_MS,
    .alive_s = S3_ALIVE_S,
    .root_of = s3_root_of,
    .is_deep = s3_is_deep,
    .fill = s3_view_fill,
    .fetch = s3_fetch,
};

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
    object_view_expire(path);
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
    object_view_expire(path);
    return rc == 0;
}

const struct storage storage_s3 = {
    .objects = &s3_objects,
    .source = &object_source,
    .list = object_list,
    .stat = object_stat,
    .put = s3_storage_put,
    .make_runs = object_make_runs,
    .stage = object_stage,
    .claim = object_make_runs,
    .remove = s3_storage_remove,
    .publish = object_publish,
    .range = object_range,
    .sync = object_sync,
    .alive = object_alive,
};
