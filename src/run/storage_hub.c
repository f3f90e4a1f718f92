/* SPDX-License-Identifier: Apache-2.0 */
/* storage_hub.c - storage.h on a server with runs (footplate serve): https://HOST[:PORT]/RUN/...
 *
 * Lookup and reading are those of object_storage.h. A view is one request, GET /api/v1/files/RUN
 * for a run, GET /api/v1/files for all of them. Its answer has the small JSON files themselves, so
 * a list of runs needs no request for each, and opening a run one for each data file that is not in
 * the cache.
 *
 * Files that grow are there as they are on the hub: a tail, and a sealed file. Both are fetched
 * only if they still are what the view had (If-Match), so a tail is never newer than the file.
 *
 * Nothing is recorded here. Notes can be changed and runs removed, with a token for that. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json_read.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "net/hub_client.h"
#include "net/sigv4.h"
#include "run/object_storage.h"
#include "run/run_names.h"
#include "store/format.h"

enum {
    FETCH_BYTES = 16 << 20,
    LIST_BYTES_MOST = 64 << 20, /* of one page */
    HUB_VIEW_MS = 1000,
    HUB_ALIVE_S = 30, /* as for files of this machine without a lock, see run_info.c */
    SMALL_ANSWER = 1 << 20,
};

#define FILES_PATH "/api/v1/files"
#define RUNS_PATH  "/api/v1/runs/"

/* ---- places ---- */

struct hub_place {
    char base[HUB_BASE_LEN]; /* "https://HOST[:PORT]" */
    const char *run;         /* "" of the hub itself; to be cut after run_len */
    size_t run_len;
    const char *name; /* of the file in the run; "": the run itself */
};

static int hub_place_of(struct hub_place *out, const char *location, struct err *e)
{
    const char *rest;
    TRY(hub_address_of(out->base, &rest, location, e));
    out->run = rest + strspn(rest, "/");
    out->run_len = strcspn(out->run, "/");
    out->name = out->run + out->run_len;
    out->name += strspn(out->name, "/");
    return 0;
}

/* The run, or the hub. A location that is none has an error when the view is filled. */
static void hub_root_of(char root[PATH_LEN], const char *location)
{
    struct hub_place p;
    struct err e;
    const bool good = hub_place_of(&p, location, &e) == 0;
    const size_t n = !good       ? strlen(location)
                     : p.run_len ? (size_t)(p.run + p.run_len - location)
                                 : strlen(p.base);
    snprintf(root, PATH_LEN, "%.*s", (int)n, location);
}

static bool hub_is_deep(const char *root, const char *folder)
{
    (void)root;
    (void)folder;
    return true;
}

/* FILES_PATH or RUNS_PATH, the run, and `end`, encoded. */
static void hub_put_path(struct buf *out, const char *start, const struct hub_place *p,
                         const char *end)
{
    struct arena a = {0};
    buf_printf(out, "%s", start);
    sigv4_encode(out, arena_strndup(&a, p->run, p->run_len), false);
    sigv4_encode(out, end, true);
    buf_u8(out, 0);
    arena_free(&a);
}

/* One request with a client that no other thread has meanwhile. */
static int hub_call(const char *base, const struct hub_call *q, struct http_response *r,
                    struct err *e)
{
    struct hub_client *c = object_client_take(base);
    if (!c)
        TRY(hub_client_open(&c, base, e));
    const int rc = hub_client_send(c, q, r, e);
    if (!object_client_give(base, c))
        hub_client_close(c);
    return rc;
}

/* ---- views ---- */

static enum storage_alive hub_alive_of(const json_t *node)
{
    const char *word = json_string_value(json_object_get(node, "recorder"));
    return word && strcmp(word, "alive") == 0  ? STORAGE_ALIVE
           : word && strcmp(word, "dead") == 0 ? STORAGE_DEAD
                                               : STORAGE_ALIVE_UNKNOWN;
}

/* The names come from a stranger, and are only compared. */
static int hub_view_add_files(struct object_view *v, const char *start, const json_t *files,
                              enum storage_alive alive, struct err *e)
{
    for (size_t i = 0; i < json_array_size(files); i++) {
        const json_t *f = json_array_get(files, i);
        const char *name = json_string_value(json_object_get(f, "name"));
        const char *etag = json_get_str(f, "etag", &v->arena, "");
        if (!name || !*name || strchr(name, '/'))
            continue;
        const struct object_entry x = {
            .name = arena_printf(&v->arena, "%s%s", start, name),
            .bytes = (uint64_t)json_get_within(f, "bytes", 0, INT64_MAX, 0),
            .version = format_sum(etag, strlen(etag)),
            .changed_ns = json_get_time(f, "changed_ns", 0),
            .etag = etag,
            .text = json_get_str(f, "text", &v->arena, NULL),
            .alive = alive,
        };
        TRY(object_view_add(v, &x, e));
    }
    return 0;
}

/* `start`: "" in the view of the run, "RUN/" in that of the hub. */
static int hub_view_add_run(struct object_view *v, const char *start, const json_t *run,
                            struct err *e)
{
    const json_t *nodes = json_object_get(run, "nodes");
    TRY(hub_view_add_files(v, start, json_object_get(run, "files"), STORAGE_ALIVE_UNKNOWN, e));
    for (size_t i = 0; i < json_array_size(nodes); i++) {
        const json_t *node = json_array_get(nodes, i);
        const char *id = json_string_value(json_object_get(node, "node"));
        char folder[PATH_LEN];
        if (!id || !*id || strchr(id, '/') || run_node_path(folder, "", id, e))
            continue;
        const char *below = arena_printf(&v->arena, "%s%s/", start, folder + 1);
        TRY(hub_view_add_files(v, below, json_object_get(node, "files"), hub_alive_of(node), e));
    }
    return 0;
}

/* The answer to a GET as a tree. */
static int hub_get_json(const char *base, const char *path, json_t **out, struct err *e)
{
    struct http_response r = {0};
    const struct hub_call q = {.path = path, .most = LIST_BYTES_MOST};
    int rc = hub_call(base, &q, &r, e);
    if (rc == 0)
        rc = hub_answer_tree(base, &r, out, e);
    http_response_free(&r);
    return rc;
}

static int hub_view_fill_run(struct object_view *v, const struct hub_place *p, struct err *e)
{
    struct buf path = {0};
    json_t *run;
    if (run_file_kind(p->run, false) != RUN_FILE_OTHER) { /* is the hub itself a run? */
        errno = ENOENT;
        return err_sys(e, "open '%.300s'", v->root);
    }
    hub_put_path(&path, FILES_PATH "/", p, "");
    int rc = hub_get_json(p->base, (const char *)path.p, &run, e);
    buf_free(&path);
    if (err_no_file(rc, e))
        return err_set(e, ERR_NOT_FOUND, "%s has no run called '%.*s'", p->base, (int)p->run_len,
                       p->run);
    if (rc)
        return rc;
    v->server_s = json_get_time(run, "now_ns", 0) / NS_PER_S;
    rc = hub_view_add_run(v, "", run, e);
    json_decref(run);
    return rc;
}

/* A page of the list of all runs; *after: the name of the last run, NULL: it was the last page. */
static int hub_view_fill_page(struct object_view *v, const char *base, const char **after,
                              struct err *e)
{
    struct buf path = {0};
    json_t *page;
    buf_printf(&path, "%s", FILES_PATH "?after=");
    sigv4_encode(&path, *after, false);
    buf_u8(&path, 0);
    int rc = hub_get_json(base, (const char *)path.p, &page, e);
    buf_free(&path);
    if (rc)
        return rc;
    const json_t *runs = json_object_get(page, "runs");
    for (size_t i = 0; i < json_array_size(runs) && rc == 0; i++) {
        const json_t *run = json_array_get(runs, i);
        const char *name = json_string_value(json_object_get(run, "run"));
        if (name && *name && !strchr(name, '/'))
            rc = hub_view_add_run(v, arena_printf(&v->arena, "%s/", name), run, e);
    }
    v->server_s = json_get_time(page, "now_ns", 0) / NS_PER_S;
    const char *next = json_get_str(page, "next", &v->arena, NULL);
    if (rc == 0 && next && strcmp(next, *after) <= 0) /* it would never end */
        rc = err_set(e, ERR_FORMAT, "%s is not a server of Footplate", base);
    *after = next;
    json_decref(page);
    return rc;
}

static int hub_view_fill(struct object_view *v, struct err *e)
{
    struct hub_place p;
    const char *after = "";
    TRY(hub_place_of(&p, v->root, e));
    v->endpoint = "hub";
    if (p.run_len)
        return hub_view_fill_run(v, &p, e);
    while (after)
        TRY(hub_view_fill_page(v, p.base, &after, e));
    return 0;
}

/* ---- reading ---- */

static int hub_fetch_range(const struct hub_place *p, const char *path,
                           const struct object_entry *x, uint64_t at, int fd, struct err *e)
{
    struct http_response r = {0};
    const uint64_t n = MIN_OF(x->bytes - at, (uint64_t)FETCH_BYTES);
    const struct hub_call q = {.path = path,
                               .from = (int64_t)at,
                               .len = (int64_t)n,
                               .if_match = x->etag,
                               .most = FETCH_BYTES};
    int rc = hub_call(p->base, &q, &r, e);
    if (rc == 0)
        rc = r.body.len == n ? fd_write_all(fd, r.body.p, n, "the cache", e)
                             : err_set(e, ERR_BUSY, "'%.200s' has changed", path);
    http_response_free(&r);
    return rc;
}

static int hub_fetch(const char *location, const struct object_entry *x, int fd, struct err *e)
{
    struct hub_place p;
    struct buf path = {0};
    struct arena a = {0};
    int rc = 0;
    TRY(hub_place_of(&p, location, e));
    hub_put_path(&path, FILES_PATH "/", &p, arena_printf(&a, "/%s", p.name));
    for (uint64_t at = 0; at < x->bytes && rc == 0; at += FETCH_BYTES)
        rc = hub_fetch_range(&p, (const char *)path.p, x, at, fd, e);
    buf_free(&path);
    arena_free(&a);
    return rc;
}

static const struct object_store hub_objects = {
    .view_ms = HUB_VIEW_MS,
    .alive_s = HUB_ALIVE_S,
    .root_of = hub_root_of,
    .is_deep = hub_is_deep,
    .fill = hub_view_fill,
    .fetch = hub_fetch,
};

/* ---- writing ---- */

static int hub_post(const struct hub_place *p, const char *end, const char *body, struct err *e)
{
    struct buf path = {0};
    struct http_response r = {0};
    hub_put_path(&path, RUNS_PATH, p, end);
    const struct hub_call q = {.path = (const char *)path.p, .body = body, .most = SMALL_ANSWER};
    const int rc = hub_call(p->base, &q, &r, e);
    buf_free(&path);
    http_response_free(&r);
    return rc;
}

/* Notes alone: everything else was recorded, and is as it is. */
static int hub_storage_put(const char *path, const void *data, size_t n, enum storage_put how,
                           struct err *e)
{
    struct hub_place p;
    struct arena a = {0};
    (void)how;
    TRY(hub_place_of(&p, path, e));
    if (strcmp(p.name, RUN_NOTES) != 0)
        return err_set(e, ERR_USAGE, "'%.200s' cannot be changed from another machine", path);
    const int rc = hub_post(&p, "/notes", arena_strndup(&a, data, n), e);
    arena_free(&a);
    object_view_expire(path);
    return rc;
}

/* A run is removed as a whole, with its run.json; then nothing is left of it. */
static bool hub_storage_remove(const char *path, enum storage_remove what)
{
    struct hub_place p;
    struct arena a = {0};
    struct err e;
    struct buf body = {0};
    struct jw j = {.out = &body};
    if (hub_place_of(&p, path, &e) || !p.run_len || (*p.name && strcmp(p.name, RUN_ABOUT) != 0)) {
        errno = EPERM;
        return false;
    }
    if (!*p.name && what == STORAGE_REMOVE_TREE)
        return true;
    jw_object(&j, NULL);
    jw_str(&j, "run", arena_strndup(&a, p.run, p.run_len));
    jw_end(&j);
    buf_u8(&body, 0);
    const int rc = hub_post(&p, "/delete", (const char *)body.p, &e);
    buf_free(&body);
    arena_free(&a);
    object_view_expire(path);
    errno = rc == ERR_SYS ? e.sys : rc == ERR_BUSY ? EBUSY : rc ? EIO : 0;
    return rc == 0;
}

const struct storage storage_hub = {
    .objects = &hub_objects,
    .source = &object_source,
    .list = object_list,
    .stat = object_stat,
    .put = hub_storage_put,
    .make_runs = object_make_runs,
    .stage = object_stage,
    .claim = object_make_runs,
    .remove = hub_storage_remove,
    .publish = object_publish,
    .range = object_range,
    .sync = object_sync,
    .alive = object_alive,
};
