/* SPDX-License-Identifier: Apache-2.0 */
/* s3_view.c - see s3_view.h. */
#include "run/s3_view.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "run/run_names.h"
#include "store/format.h"

enum { VIEWS_MOST = 64, CLIENTS_MOST = 8, ENTRIES_MOST = 1000000 };

struct s3_idle {
    struct s3 *s3;
    char bucket[64];
};

static struct {
    pthread_mutex_t lock;
    struct s3_view *views[VIEWS_MOST];
    struct s3_idle idle[CLIENTS_MOST];
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ==== places and clients ==== */

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

int s3_client_take(struct s3 **out, const char *bucket, struct err *e)
{
    struct s3 *found = NULL;
    pthread_mutex_lock(&shared.lock);
    for (size_t i = 0; i < CLIENTS_MOST && !found; i++)
        if (shared.idle[i].s3 && strcmp(shared.idle[i].bucket, bucket) == 0) {
            found = shared.idle[i].s3;
            shared.idle[i].s3 = NULL;
        }
    pthread_mutex_unlock(&shared.lock);
    *out = found;
    return found ? 0 : s3_open(out, &(struct s3_config){.bucket = bucket}, e);
}

void s3_client_give(struct s3 *s, const char *bucket)
{
    pthread_mutex_lock(&shared.lock);
    for (size_t i = 0; i < CLIENTS_MOST && s; i++)
        if (!shared.idle[i].s3) {
            shared.idle[i].s3 = s;
            snprintf(shared.idle[i].bucket, sizeof shared.idle[i].bucket, "%s", bucket);
            s = NULL;
        }
    pthread_mutex_unlock(&shared.lock);
    s3_close(s);
}

/* ==== views ==== */

static void s3_view_free(struct s3_view *v)
{
    arena_free(&v->arena);
    free(v->v);
    free(v);
}

/* Under the lock. */
static void s3_view_unref(struct s3_view *v)
{
    if (v && --v->refs == 0)
        s3_view_free(v);
}

void s3_view_release(struct s3_view *v)
{
    pthread_mutex_lock(&shared.lock);
    s3_view_unref(v);
    pthread_mutex_unlock(&shared.lock);
}

static bool s3_view_is_fresh(const struct s3_view *v)
{
    return mono_diff(clock_mono(), v->taken) < S3_VIEW_MS * NS_PER_MS;
}

struct s3_view *s3_view_cached(const char *root, bool deep)
{
    struct s3_view *found = NULL;
    pthread_mutex_lock(&shared.lock);
    for (size_t i = 0; i < VIEWS_MOST && !found; i++) {
        struct s3_view *v = shared.views[i];
        if (v && v->deep == deep && strcmp(v->root, root) == 0 && s3_view_is_fresh(v))
            found = v;
    }
    if (found)
        found->refs++;
    pthread_mutex_unlock(&shared.lock);
    return found;
}

/* In the place of an older one of the same root, or of the oldest. */
static void s3_view_share(struct s3_view *v)
{
    pthread_mutex_lock(&shared.lock);
    size_t at = 0;
    for (size_t i = 0; i < VIEWS_MOST; i++) {
        const struct s3_view *x = shared.views[i], *best = shared.views[at];
        if (x && x->deep == v->deep && strcmp(x->root, v->root) == 0) {
            at = i;
            break;
        }
        if (best && (!x || x->taken.ns < best->taken.ns))
            at = i;
    }
    s3_view_unref(shared.views[at]);
    shared.views[at] = v;
    v->refs++;
    pthread_mutex_unlock(&shared.lock);
}

void s3_view_expire(const char *location)
{
    pthread_mutex_lock(&shared.lock);
    for (size_t i = 0; i < VIEWS_MOST; i++)
        if (shared.views[i] && text_starts(location, shared.views[i]->root)) {
            s3_view_unref(shared.views[i]);
            shared.views[i] = NULL;
        }
    pthread_mutex_unlock(&shared.lock);
}

/* ---- filling ---- */

struct s3_view_making {
    struct s3_view *view;
    size_t prefix_len;
};

enum { VIEW_END = 1 }; /* no error: the list is not needed any further */

/* A run has files, and folders of nodes. A folder of another name in the root shows that the root
 * is no run; then it may have millions of keys. */
static bool s3_view_is_foreign(const char *name)
{
    return strchr(name, '/') && !run_node_id(name) && !text_starts(name, "derived/");
}

static int s3_view_add(void *ctx, const struct s3_object *x, struct err *e)
{
    struct s3_view_making *m = ctx;
    struct s3_view *v = m->view;
    const char *name = x->key + m->prefix_len;
    if (v->deep && s3_view_is_foreign(name)) {
        v->foreign = true;
        return VIEW_END;
    }
    if (v->n >= ENTRIES_MOST)
        return err_set(e, ERR_LIMIT, "'%s' has more than %d keys", v->root, ENTRIES_MOST);
    const size_t len = strlen(name) - x->is_prefix; /* it ends with a slash */
    if (len == 0 || (!x->is_prefix && name[len - 1] == '/'))
        return 0; /* an empty object that some tools make for a folder */
    *VEC_ADD(v->v, v->n, v->cap) = (struct s3_view_entry){
        .name = arena_strndup(&v->arena, name, len),
        .folder = x->is_prefix,
        .bytes = x->bytes,
        .version = format_sum(x->etag, strlen(x->etag)),
        .changed_s = x->changed_s,
        .etag = arena_strdup(&v->arena, x->etag),
    };
    return 0;
}

static int s3_view_by_name(const void *a, const void *b)
{
    return strcmp(((const struct s3_view_entry *)a)->name, ((const struct s3_view_entry *)b)->name);
}

static int s3_view_fill(struct s3_view *v, struct err *e)
{
    struct s3_place p;
    struct s3 *s3;
    TRY(s3_place_of(&p, v->root, e));
    char *prefix = arena_printf(&v->arena, "%s%s", p.key, *p.key ? "/" : "");
    struct s3_view_making m = {v, strlen(prefix)};
    const struct s3_list q = {.prefix = prefix, .delimiter = v->deep ? NULL : "/"};
    TRY(s3_client_take(&s3, p.bucket, e));
    const int rc = s3_list(s3, &q, s3_view_add, &m, e);
    v->server_s = s3_server_time(s3);
    v->endpoint = arena_strdup(&v->arena, s3_endpoint(s3));
    s3_client_give(s3, p.bucket);
    if (v->n) /* of a list with a delimiter folders and files may come apart */
        qsort(v->v, v->n, sizeof *v->v, s3_view_by_name);
    return rc < 0 ? rc : 0;
}

int s3_view_get(struct s3_view **out, const char *root, bool deep, struct err *e)
{
    *out = s3_view_cached(root, deep);
    if (*out)
        return 0;
    struct s3_view *v = xcalloc(1, sizeof *v);
    v->deep = deep;
    v->refs = 1;
    v->taken = clock_mono();
    int rc = path_join(v->root, e, "%s", root);
    if (rc == 0)
        rc = s3_view_fill(v, e);
    if (rc) {
        s3_view_free(v);
        return rc;
    }
    s3_view_share(v);
    *out = v;
    return 0;
}

/* ---- looking ---- */

struct s3_view_search {
    const struct s3_view *view;
    const char *name;
};

static bool s3_view_before(const void *ctx, size_t i)
{
    const struct s3_view_search *s = ctx;
    return strcmp(s->view->v[i].name, s->name) < 0;
}

size_t s3_view_first(const struct s3_view *v, const char *start)
{
    const struct s3_view_search s = {v, start};
    const size_t i = search_first(0, v->n, s3_view_before, &s);
    return i < v->n && text_starts(v->v[i].name, start) ? i : v->n;
}

const struct s3_view_entry *s3_view_find(const struct s3_view *v, const char *name)
{
    const size_t i = s3_view_first(v, name);
    return i < v->n && strcmp(v->v[i].name, name) == 0 ? &v->v[i] : NULL;
}
