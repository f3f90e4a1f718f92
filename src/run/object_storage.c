/* SPDX-License-Identifier: Apache-2.0 */
/* object_storage.c - see object_storage.h.
 *
 * Why a view may be read without the lock, and why an object that was replaced or cut cannot give
 * a wrong result:
 *
 * - The thread that makes a view fills and sorts it, and only then puts it into shared.views. From
 *   there on nothing in it changes but `refs`, which is used under the lock alone.
 * - The table has one reference to a view and each user has one. A view that is replaced or
 *   expires is freed by the last object_view_unref. Pointers into it (entries, names, ETags) are
 *   valid until their user releases it, so results are copied out before that.
 * - The lock is never held during a request. Two threads may make a view of the same root at the
 *   same time: each uses its own, and one of the two stays in the table.
 * - An idle client is taken out of the table, so at most one thread has it.
 * - An object is fetched under the condition that it still has the ETag of the view (If-Match),
 *   and each answer must have the length that follows from the view. It is in the cache under the
 *   hash of endpoint, location and ETag, by a rename when it is complete. So a copy has all the
 *   bytes of one version of the object. If the object is another one by now, or missing, the view
 *   expires, and object_fetch begins again with a new one.
 * - A copy that is removed from the cache after it was found is missing when it is opened. That is
 *   an error, never other bytes; a copy that is open or mapped stays readable. */
#include "run/object_storage.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "run/object_cache.h"
#include "run/parts.h"
#include "run/run_names.h"

enum {
    VIEWS_MOST = 64,
    CLIENTS_MOST = 8,
    CLIENT_KEY_LEN = 320,
    ENTRIES_MOST = 1000000,
    FETCH_ATTEMPTS = 5,     /* with a new view, when the object has changed */
    FRESH_FACTOR = 5,       /* a view that took a second to make is used for five */
    WHOLE_ATTEMPTS = 2,     /* at a file that is whole or in parts */
    TRIM_BYTES = 256 << 20, /* fetched between two checks of the size of the cache */
};

struct object_client {
    void *client;
    char key[CLIENT_KEY_LEN];
};

static struct {
    pthread_mutex_t lock;
    struct object_view *views[VIEWS_MOST];
    struct object_client idle[CLIENTS_MOST];
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const struct object_store *object_store_of(const char *location)
{
    const struct object_store *s = storage_of(location)->objects;
    assert(s);
    return s;
}

/* ==== clients ==== */

void *object_client_take(const char *key)
{
    void *found = NULL;
    pthread_mutex_lock(&shared.lock);
    for (size_t i = 0; i < CLIENTS_MOST && !found; i++)
        if (shared.idle[i].client && strcmp(shared.idle[i].key, key) == 0) {
            found = shared.idle[i].client;
            shared.idle[i].client = NULL;
        }
    pthread_mutex_unlock(&shared.lock);
    return found;
}

bool object_client_give(const char *key, void *client)
{
    bool given = false;
    assert(client); /* NULL marks a free place */
    pthread_mutex_lock(&shared.lock);
    for (size_t i = 0; i < CLIENTS_MOST && !given && strlen(key) < CLIENT_KEY_LEN; i++)
        if (!shared.idle[i].client) {
            shared.idle[i].client = client;
            snprintf(shared.idle[i].key, sizeof shared.idle[i].key, "%s", key);
            given = true;
        }
    pthread_mutex_unlock(&shared.lock);
    return given;
}

/* ==== views ==== */

static void object_view_free(struct object_view *v)
{
    arena_free(&v->arena);
    free(v->v);
    free(v);
}

/* Under the lock. */
static void object_view_unref(struct object_view *v)
{
    assert(!v || v->refs > 0);
    if (v && --v->refs == 0)
        object_view_free(v);
}

static void object_view_release(struct object_view *v)
{
    pthread_mutex_lock(&shared.lock);
    object_view_unref(v);
    pthread_mutex_unlock(&shared.lock);
}

/* Whether the location is the root or below it. */
static bool object_is_below(const char *location, const char *root)
{
    const size_t n = strlen(root);
    return strncmp(location, root, n) == 0 &&
           (!location[n] || location[n] == '/' || (n && root[n - 1] == '/'));
}

static bool object_view_has(const struct object_view *v, const char *root, bool deep)
{
    if (v->deep == deep && strcmp(v->root, root) == 0)
        return true;
    return deep && v->deep && !v->foreign && object_is_below(root, v->root);
}

/* The newest one that is there; NULL: it is not fresh, or there is none. To be released. It may be
 * that of a folder above the root, so names are taken by object_name_in. Never an older one,
 * however fresh: a caller that has seen the newest must not go back in time. */
static struct object_view *object_view_cached(const char *root, bool deep)
{
    struct object_view *found = NULL;
    pthread_mutex_lock(&shared.lock);
    for (size_t i = 0; i < VIEWS_MOST; i++) {
        struct object_view *x = shared.views[i];
        if (x && object_view_has(x, root, deep) && (!found || x->taken.ns > found->taken.ns))
            found = x;
    }
    if (found && mono_diff(clock_mono(), found->taken) >= found->fresh_ns)
        found = NULL;
    if (found)
        found->refs++;
    pthread_mutex_unlock(&shared.lock);
    return found;
}

/* In the place of an older one of the same root, or of the oldest. A list that took long may come
 * after one that was taken later: it is not shared. */
static void object_view_share(struct object_view *v)
{
    pthread_mutex_lock(&shared.lock);
    assert(v->refs == 1); /* no other thread has it yet */
    size_t at = 0;
    bool late = false;
    for (size_t i = 0; i < VIEWS_MOST; i++) {
        const struct object_view *x = shared.views[i], *best = shared.views[at];
        if (x && x->deep == v->deep && strcmp(x->root, v->root) == 0) {
            late = x->taken.ns > v->taken.ns;
            at = i;
            break;
        }
        if (best && (!x || x->taken.ns < best->taken.ns))
            at = i;
    }
    if (!late) {
        object_view_unref(shared.views[at]);
        shared.views[at] = v;
        v->refs++;
    }
    pthread_mutex_unlock(&shared.lock);
}

/* Users of such a view continue with it; the next object_view_get makes a new one. One that is
 * being made at this moment is shared later all the same: its list may be older than the change.
 * A changed object is then not fetched, for its ETag is another one, and that view expires too. */
void object_view_expire(const char *location)
{
    pthread_mutex_lock(&shared.lock);
    for (size_t i = 0; i < VIEWS_MOST; i++)
        if (shared.views[i] && object_is_below(location, shared.views[i]->root)) {
            object_view_unref(shared.views[i]);
            shared.views[i] = NULL;
        }
    pthread_mutex_unlock(&shared.lock);
}

int object_view_add(struct object_view *v, const struct object_entry *x, struct err *e)
{
    assert(v->refs == 1 && x->name); /* it is being filled, and not shared yet */
    if (v->n >= ENTRIES_MOST)
        return err_set(e, ERR_LIMIT, "'%.200s' has more than %d objects", v->root, ENTRIES_MOST);
    *VEC_ADD(v->v, v->n, v->cap) = *x;
    return 0;
}

COMPARE_NAMES(object_entry_by_name, struct object_entry, name)

/* To be released. */
static int object_view_get(struct object_view **out, const char *root, bool deep, struct err *e)
{
    *out = object_view_cached(root, deep);
    if (*out)
        return 0;
    struct object_view *v = xcalloc(1, sizeof *v);
    v->store = object_store_of(root);
    v->deep = deep;
    v->refs = 1;
    v->taken = clock_mono();
    int rc = path_join(v->root, e, "%s", root);
    if (rc == 0)
        rc = v->store->fill(v, e);
    if (rc) {
        object_view_free(v);
        return rc;
    }
    SORT(v->v, v->n, object_entry_by_name);
    v->fresh_ns =
        MAX_OF(v->store->view_ms * NS_PER_MS, FRESH_FACTOR * mono_diff(clock_mono(), v->taken));
    object_view_share(v);
    *out = v;
    return 0;
}

/* ---- lookup ---- */

/* The first entry that begins with `start`; v->n: none. The others follow it. */
static size_t object_view_first(const struct object_view *v, const char *start)
{
    const size_t i = SEARCH_FIRST(k, 0, v->n, strcmp(v->v[k].name, start) < 0);
    return i < v->n && text_starts(v->v[i].name, start) ? i : v->n;
}

/* The entry of a file; NULL: there is none. */
static const struct object_entry *object_view_find(const struct object_view *v, const char *name)
{
    const size_t i = *name ? object_view_first(v, name) : v->n;
    return i < v->n && strcmp(v->v[i].name, name) == 0 ? &v->v[i] : NULL;
}

/* The name that a location, at or below its root, has in a view. */
static const char *object_name_in(const struct object_view *v, const char *location)
{
    const char *name = location + strlen(v->root);
    assert(object_is_below(location, v->root));
    return name + strspn(name, "/");
}

bool object_is_known_run(const char *root)
{
    char about[PATH_LEN];
    struct err e;
    struct object_view *v = object_view_cached(root, true);
    const bool is = v && !v->foreign && run_path(about, root, RUN_ABOUT, &e) == 0 &&
                    object_view_find(v, object_name_in(v, about));
    if (v)
        object_view_release(v);
    return is;
}

static int object_missing(const char *path, struct err *e)
{
    errno = ENOENT;
    return err_sys(e, "open '%s'", path);
}

static struct storage_stat object_stat_of(const struct object_entry *x)
{
    return (struct storage_stat){
        .kind = x->folder ? STORAGE_FOLDER : STORAGE_FILE,
        .bytes = x->bytes,
        .changed_ns = x->changed_ns,
        .version = x->version,
    };
}

/* A folder is what names begin with; its version is that of all of them. */
static bool object_stat_folder(const struct object_view *v, const char *name,
                               struct storage_stat *out)
{
    char start[PATH_LEN];
    snprintf(start, sizeof start, "%s%s", name, *name ? "/" : "");
    *out = (struct storage_stat){.kind = STORAGE_FOLDER};
    size_t i = object_view_first(v, start);
    const bool there = i < v->n || (v->foreign && !*name);
    for (; i < v->n && text_starts(v->v[i].name, start); i++) {
        out->version += v->v[i].version;
        out->changed_ns = MAX_OF(out->changed_ns, v->v[i].changed_ns);
    }
    return there;
}

static int object_stat_raw(const char *path, struct storage_stat *out, struct err *e)
{
    char root[PATH_LEN];
    struct object_view *v;
    object_store_of(path)->root_of(root, path);
    TRY(object_view_get(&v, root, true, e));
    const char *name = object_name_in(v, path);
    const struct object_entry *x = object_view_find(v, name);
    bool there = x != NULL;
    if (x)
        *out = object_stat_of(x);
    else
        there = object_stat_folder(v, name, out);
    object_view_release(v);
    return there ? 0 : object_missing(path, e);
}

/* A file that grows is in parts until its recorder closes it. Then they are replaced by the file,
 * perhaps after we looked for the file and before we fetched the parts: so neither was found, and
 * the file is there by now. */
int object_stat(const char *path, int flags, struct storage_stat *out, struct err *e)
{
    int rc = 0;
    (void)flags;
    for (int attempt = 0; attempt < WHOLE_ATTEMPTS; attempt++) {
        rc = object_stat_raw(path, out, e);
        if (rc && parts_may_be(path, e))
            rc = parts_stat(storage_of(path), path, out, e);
        if (!rc || !parts_may_be(path, e))
            break;
    }
    return rc;
}

/* The entries below `start`, each name once. */
static void object_visit_below(const struct object_view *v, const char *start, storage_visit *visit,
                               void *ctx)
{
    const size_t skip = strlen(start);
    char last[PATH_LEN] = "";
    for (size_t i = object_view_first(v, start); i < v->n && text_starts(v->v[i].name, start);
         i++) {
        const char *name = v->v[i].name + skip, *slash = strchr(name, '/');
        struct storage_entry x = {.name = name, .stat = object_stat_of(&v->v[i])};
        char folder[PATH_LEN];
        if (slash) {
            if (strncmp(last, name, (size_t)(slash - name)) == 0 && !last[slash - name])
                continue;
            snprintf(last, sizeof last, "%.*s", (int)(slash - name), name);
            snprintf(folder, sizeof folder, "%s%s", start, last);
            object_stat_folder(v, folder, &x.stat);
            x.name = last;
        }
        x.kind = x.stat.kind;
        visit(ctx, &x);
    }
}

int object_list(const char *folder, int flags, storage_visit *visit, void *ctx, struct err *e)
{
    const struct object_store *s = object_store_of(folder);
    struct object_view *v;
    char root[PATH_LEN], start[PATH_LEN];
    (void)flags;
    s->root_of(root, folder);
    TRY(object_view_get(&v, root, s->is_deep(root, folder), e));
    const char *name = object_name_in(v, folder);
    snprintf(start, sizeof start, "%s%s", name, *name ? "/" : "");
    object_visit_below(v, start, visit, ctx);
    object_view_release(v);
    return 0;
}

/* How long nothing may come of a node that is alive: three intervals, which its node.json has. */
static int64_t object_silence_s(const char *folder, const struct object_view *v)
{
    char start[PATH_LEN], path[PATH_LEN];
    int64_t silence_s = v->store->alive_s;
    struct err e;
    if (path_join(start, &e, "%s/", folder))
        return silence_s;
    const char *name = object_name_in(v, start);
    for (size_t i = object_view_first(v, name); i < v->n && text_starts(v->v[i].name, name); i++) {
        const char *file = v->v[i].name + strlen(name);
        json_t *o = NULL;
        if (run_file_kind(file, true) != RUN_FILE_NODE || run_path(path, folder, file, &e) ||
            storage_read_json(&o, path, &e))
            continue;
        const int64_t most_ns = 24 * 3600 * NS_PER_S;
        const int64_t ns = json_get_within(o, RUN_NODE_SHIP, 0, most_ns, 0);
        silence_s = MAX_OF(silence_s, 3 * ns / NS_PER_S);
        json_decref(o);
    }
    return silence_s;
}

enum storage_alive object_alive(const char *folder)
{
    const struct object_store *s = object_store_of(folder);
    struct object_view *v;
    struct storage_stat st;
    struct err e;
    char root[PATH_LEN], start[PATH_LEN];
    s->root_of(root, folder);
    if (path_join(start, &e, "%s/", folder) || object_view_get(&v, root, true, &e))
        return STORAGE_ALIVE_UNKNOWN;
    const size_t i = object_view_first(v, object_name_in(v, start));
    enum storage_alive alive = i < v->n ? v->v[i].alive : STORAGE_ALIVE_UNKNOWN;
    if (alive == STORAGE_ALIVE_UNKNOWN && object_stat_folder(v, object_name_in(v, folder), &st) &&
        st.changed_ns && v->server_s)
        alive = v->server_s - st.changed_ns / NS_PER_S < object_silence_s(folder, v) ? STORAGE_ALIVE
                                                                                     : STORAGE_DEAD;
    object_view_release(v);
    return alive;
}

/* ==== reading ==== */

/* Now and then: to know the size of the cache means to list it. */
static void object_note_fetched(uint64_t bytes)
{
    static _Atomic uint64_t fetched = TRIM_BYTES; /* so that the first fetch checks */
    if (atomic_fetch_add(&fetched, bytes) >= TRIM_BYTES) {
        atomic_store(&fetched, 0);
        object_cache_trim();
    }
}

/* Into the cache. ERR_BUSY: it is another object by now. */
static int object_fetch_to(const char *location, const struct object_view *v,
                           const struct object_entry *x, const char *path, struct err *e)
{
    struct object_cache_file f;
    TRY(object_cache_begin(&f, path, e));
    const int rc = v->store->fetch(location, x, f.fd, e);
    if (rc) {
        object_cache_drop(&f);
        return rc;
    }
    object_note_fetched(x->bytes);
    return object_cache_end(&f, e);
}

static int object_fetch_entry(const char *location, const struct object_view *v,
                              const struct object_entry *x, char path[PATH_LEN], struct err *e)
{
    struct arena a = {0};
    bool there;
    const char *identity = arena_printf(&a, "%s\n%s\n%s", v->endpoint, location, x->etag);
    int rc = object_cache_find(identity, x->bytes, path, &there, e);
    arena_free(&a);
    return rc || there ? rc : object_fetch_to(location, v, x, path, e);
}

/* What is in an object: its text, or the path of the copy in the cache. */
struct object_copy {
    char *text; /* NULL: none; to be freed */
    size_t len;
    char path[PATH_LEN];
};

static int object_copy_entry(const char *location, const struct object_view *v,
                             const struct object_entry *x, struct object_copy *out, struct err *e)
{
    *out = (struct object_copy){0};
    if (!x->text)
        return object_fetch_entry(location, v, x, out->path, e);
    out->text = xstrdup(x->text);
    out->len = strlen(x->text);
    return 0;
}

static int object_fetch(const char *location, struct object_copy *out, struct err *e)
{
    char root[PATH_LEN];
    int rc = 0;
    object_store_of(location)->root_of(root, location);
    for (int attempt = 0; attempt < FETCH_ATTEMPTS; attempt++) {
        struct object_view *v;
        TRY(object_view_get(&v, root, true, e));
        const struct object_entry *x = object_view_find(v, object_name_in(v, location));
        rc = x ? object_copy_entry(location, v, x, out, e) : object_missing(location, e);
        object_view_release(v);
        const bool changed = rc == ERR_BUSY || (x && err_no_file(rc, e));
        if (!changed)
            break;
        object_view_expire(location);
    }
    return rc;
}

/* The place that `from` means, which counts from the end when it is negative. */
static size_t object_place(size_t len, int64_t from)
{
    const int64_t n = (int64_t)len;
    const int64_t at = from < 0 ? MAX_OF(n + from, 0) : MIN_OF(from, n);
    assert(at >= 0 && at <= n);
    return (size_t)at;
}

static int object_read_raw(const char *path, int64_t from, size_t most, struct arena *a, char **out,
                           size_t *len, struct err *e)
{
    struct object_copy copy;
    TRY(object_fetch(path, &copy, e));
    if (!copy.text)
        return file_read_range(copy.path, from, most, a, out, len, e);
    const size_t at = object_place(copy.len, from);
    int rc = 0;
    if (copy.len - at > most) {
        rc = err_set(e, ERR_LIMIT, "'%.200s' has more than %zu bytes", path, most);
    } else {
        *len = copy.len - at;
        *out = arena_strndup(a, copy.text + at, *len);
    }
    free(copy.text);
    return rc;
}

static const struct store_source object_raw = {.read = object_read_raw};

static int object_read(const char *path, int64_t from, size_t most, struct arena *a, char **out,
                       size_t *len, struct err *e)
{
    int rc = 0;
    for (int attempt = 0; attempt < WHOLE_ATTEMPTS; attempt++) { /* see object_stat */
        rc = object_read_raw(path, from, most, a, out, len, e);
        if (rc && parts_may_be(path, e))
            rc = parts_read(storage_of(path), &object_raw, path, from, most, a, out, len, e);
        if (!rc || !parts_may_be(path, e))
            break;
    }
    return rc;
}

static int object_map_raw(const char *path, struct fmap *out, struct err *e)
{
    struct object_copy copy;
    TRY(object_fetch(path, &copy, e));
    if (!copy.text)
        return fmap_open(copy.path, false, out, e);
    *out = (struct fmap){.p = (uint8_t *)copy.text, .len = copy.len, .copied = copy.len};
    return 0;
}

/* A copy does not grow, whatever the object does. */
static int object_map(const char *path, bool growing, struct fmap *out, struct err *e)
{
    int rc = 0;
    (void)growing;
    for (int attempt = 0; attempt < WHOLE_ATTEMPTS; attempt++) { /* see object_stat */
        rc = object_map_raw(path, out, e);
        if (rc && parts_may_be(path, e))
            rc = parts_map(storage_of(path), &object_raw, path, out, e);
        if (!rc || !parts_may_be(path, e))
            break;
    }
    return rc;
}

const struct store_source object_source = {object_read, object_map};

int object_range(const char *path, uint64_t from, void *out, size_t n, size_t *got, struct err *e)
{
    struct object_copy copy;
    TRY(object_fetch(path, &copy, e));
    if (!copy.text)
        return storage_local.range(copy.path, from, out, n, got, e);
    const size_t at = (size_t)MIN_OF(from, (uint64_t)copy.len);
    *got = MIN_OF(n, copy.len - at);
    memcpy(out, copy.text + at, *got);
    free(copy.text);
    return 0;
}

/* ==== writing ==== */

static int object_refuse(const char *path, struct err *e)
{
    return err_set(
        e, ERR_USAGE,
        "a run cannot be made at '%.200s': record it in a local folder and send it there "
        "with 'footplate push'",
        path);
}

int object_make_runs(const char *folder, bool *made, struct err *e)
{
    (void)made;
    return object_refuse(folder, e);
}

int object_stage(const char *runs, char *out, struct err *e)
{
    (void)out;
    return object_refuse(runs, e);
}

int object_publish(const char *from, const char *to, struct err *e)
{
    (void)from;
    return object_refuse(to, e);
}

int object_sync(const char *folder, struct err *e)
{
    (void)folder;
    (void)e;
    return 0;
}
