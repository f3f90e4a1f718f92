/* SPDX-License-Identifier: Apache-2.0 */
/* s3_view.c - see s3_view.h. */
#include "run/s3_view.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "run/run_names.h"
#include "store/format.h"

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

/* ---- views ---- */

struct s3_view_making {
    struct object_view *view;
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
    struct object_view *v = m->view;
    const char *name = x->key + m->prefix_len;
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
    return object_view_add(v, &entry, e);
}

int s3_view_fill(struct object_view *v, struct err *e)
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
    return rc < 0 ? rc : 0;
}
