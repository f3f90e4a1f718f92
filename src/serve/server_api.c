/* SPDX-License-Identifier: Apache-2.0 */
/* server_api.c - a request to the API: its route is found in the table, and it is answered from the
 * cache or by a worker thread, which has the run for itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/gzip.h"
#include "base/mem.h"
#include "serve/hash.h"
#include "serve/memo.h"
#include "serve/server_internal.h"

enum {
    API_STEPS = 2,      /* "api", "v1" */
    API_FILE_STEPS = 4, /* and "files", RUN */
};

/* A document about a run: it may run its own script, but has no access to this server. */
static const char document_csp[] =
    "sandbox allow-scripts allow-downloads allow-popups; default-src 'none'; "
    "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; font-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

struct api_request {
    struct work_job job;
    struct server *server;
    struct exchange *x;
    struct arena arena;
    const struct route *route;
    struct route_request request;
    bool gzip;
    struct runs_hold hold;
};

/* ---- cached answers ---- */

struct api_value {
    struct memo_value value;
    struct reply *reply;
};

static void api_free_value(struct memo_value *v)
{
    struct api_value *x = (struct api_value *)v;
    reply_free(x->reply);
    free(x);
}

/* The route, the run and every value: with the run's version all that an answer depends on. */
static void api_put_key(struct buf *key, const struct api_request *q)
{
    buf_printf(key, "answer %td %d %d %s\n", q->route - routes, q->gzip, q->request.may_control,
               q->request.name ? q->request.name : "");
    for (size_t i = 0; i < q->request.n_values; i++)
        buf_printf(key, "%s=%s\n", q->request.values[i].param->name, q->request.values[i].text);
}

static bool api_is_cached(const struct api_request *q)
{
    return (q->route->flags & ROUTE_CACHE) != 0;
}

static struct reply *api_cached(const struct api_request *q, uint64_t version)
{
    struct buf key = {0};
    api_put_key(&key, q);
    struct memo_value *v = memo_get(runs_memo(q->server->runs, CACHE_ANSWERS),
                                    &(struct memo_key){key.p, key.len, version}, NULL);
    struct reply *r = v ? reply_ref(((struct api_value *)v)->reply) : NULL;
    memo_unref(v);
    buf_free(&key);
    return r;
}

static void api_cache(const struct api_request *q, struct reply *r)
{
    struct buf key = {0};
    struct api_value *x = xcalloc(1, sizeof *x);
    *x = (struct api_value){{.bytes = reply_bytes(r), .free = api_free_value}, reply_ref(r)};
    atomic_init(&x->value.refs, 1);
    api_put_key(&key, q);
    memo_put(runs_memo(q->server->runs, CACHE_ANSWERS),
             &(struct memo_key){key.p, key.len, q->request.version}, &x->value);
    memo_unref(&x->value);
    buf_free(&key);
}

/* Without reading the disk: only if the version of the run was read a moment ago. */
static struct reply *api_cached_now(const struct api_request *q)
{
    uint64_t version = 0;
    if (!api_is_cached(q))
        return NULL;
    if (q->request.name && !runs_version(q->server->runs, q->request.name, &version))
        return NULL;
    return api_cached(q, version);
}

/* ---- new answers ---- */

static struct reply *api_reply_of(const struct api_request *q, struct route_answer *a)
{
    char etag[HTTP_ETAG_LEN];
    struct buf small = {0};
    if (a->stream)
        return a->stream;
    const bool tagged = api_is_cached(q) && a->status == 200;
    const bool gzip = q->gzip && gzip_pack(a->body.p, a->body.len, a->noise, &small);
    const struct reply_head head = {
        .status = a->status,
        .type = q->route->type,
        .etag = tagged ? etag : NULL,
        .cache = tagged ? "private, no-cache" : NULL,
        .encoding = gzip ? "gzip" : NULL,
        .file_name = a->file_name,
        .csp = q->route->document ? document_csp : NULL,
    };
    snprintf(etag, sizeof etag, "\"%016llx%c\"",
             (unsigned long long)hash_bytes(a->body.p, a->body.len), gzip ? 'g' : 'p');
    struct reply *r = reply_make(&head, gzip ? &small : &a->body);
    buf_free(&a->body);
    return r;
}

static struct reply *api_reply_of_err(const struct route_answer *a, const struct err *e)
{
    return reply_error(a->status == 200 ? http_status_of(e) : a->status, e->msg);
}

static struct reply *api_answer_with_run(struct api_request *q, struct route_answer *a,
                                         struct err *e)
{
    const bool run = (q->route->flags & ROUTE_RUN) != 0;
    int rc = runs_take(q->server->runs, q->request.name, run, &q->hold, e);
    if (rc)
        return reply_of_err(e);
    q->request.run = q->hold.run;
    q->request.info = q->hold.info;
    q->request.version = q->hold.version;
    struct reply *r = api_is_cached(q) ? api_cached(q, q->request.version) : NULL;
    rc = r ? 0 : q->route->answer(&q->request, a, e);
    if (!runs_give(q->server->runs, &q->hold)) {
        reply_free(r);
        return reply_error(500, "files of this run were truncated while being read");
    }
    return r ? r : rc ? api_reply_of_err(a, e) : api_reply_of(q, a);
}

static struct reply *api_answer(struct api_request *q)
{
    struct route_answer a = {.status = 200};
    struct err e = {0};
    struct reply *r;
    if (q->route->flags & (ROUTE_RUN | ROUTE_INFO))
        r = api_answer_with_run(q, &a, &e);
    else if (q->route->answer(&q->request, &a, &e) != 0)
        r = api_reply_of_err(&a, &e);
    else
        r = api_reply_of(q, &a);
    buf_free(&a.body);
    if (api_is_cached(q) && reply_status(r) == 200 && !a.passing)
        api_cache(q, r);
    return r;
}

static void api_end(struct api_request *q, struct reply *r)
{
    struct exchange *x = q->x;
    arena_free(&q->arena);
    free(q);
    exchange_answer(x, r);
}

static void api_run_job(struct work_job *j, bool ends)
{
    struct api_request *q = (struct api_request *)j;
    api_end(q, ends ? reply_error(503, "the server is shutting down") : api_answer(q));
}

/* ---- requests ---- */

static struct reply *api_refuse(const struct visit *v, const struct route *route)
{
    if (!(route->flags & ROUTE_CONTROL))
        return NULL;
    if (v->right < RIGHT_CONTROL)
        return reply_error(403, "this token does not allow controlling runs");
    if (!has_json_body(v->x))
        return reply_error(403, "the Content-Type must be application/json");
    return NULL;
}

static struct api_request *api_request_of(struct visit *v, const struct route *route,
                                          const char *name)
{
    struct api_request *q = xcalloc(1, sizeof *q);
    /* A request that has the run for itself waits for the others of this run. */
    const char *key = route->flags & ROUTE_RUN ? name : NULL;
    *q = (struct api_request){.job = {.key = key, .run = api_run_job},
                              .server = v->server,
                              .x = v->x,
                              .route = route,
                              .gzip = accepts_gzip(v->x)};
    q->request =
        (struct route_request){.name = name,
                               .runs = v->server->runs,
                               .may_control = v->right >= RIGHT_CONTROL,
                               .hub = v->server->hub,
                               .by = route->flags & ROUTE_CONTROL ? server_client_name(v) : "",
                               .live = v->server->live,
                               .exchange = v->x};
    if (route->flags & ROUTE_FILES && v->request.n_steps > API_FILE_STEPS) {
        q->request.file = v->request.step[v->request.n_steps - 1];
        if (v->request.n_steps > API_FILE_STEPS + 1)
            q->request.node = v->request.step[API_FILE_STEPS];
    }
    q->request.body = v->x->body;
    q->request.body_len = v->x->body_len;
    q->arena = v->arena; /* with all texts of the request in it */
    v->arena = (struct arena){0};
    return q;
}

static void api_start(struct api_request *q)
{
    struct reply *r = api_cached_now(q);
    if (r) {
        api_end(q, r);
        return;
    }
    exchange_wait(q->x);
    if (!work_add(q->route->flags & ROUTE_SLOW ? q->server->slow : q->server->work, &q->job))
        api_run_job(&q->job, true);
}

void serve_api(struct visit *v)
{
    const char *name;
    bool other = false;
    const enum http_method m = v->x->method;
    const struct route *route = request_route(
        &v->request, API_STEPS, m == HTTP_POST ? ROUTE_POST : ROUTE_GET, &name, &other);
    const bool known = m == HTTP_GET || m == HTTP_POST;
    struct reply *r = route && known   ? api_refuse(v, route)
                      : other || route ? reply_error(405, "method not allowed")
                                       : reply_error(404, "no such API path");
    if (r) {
        exchange_answer(v->x, r);
        return;
    }
    struct err e;
    struct api_request *q = api_request_of(v, route, name);
    q->request.arena = &q->arena;
    if (request_params(&v->request, route, &q->arena, &q->request, &e) != 0)
        api_end(q, reply_of_err(&e));
    else
        api_start(q);
}
