/* SPDX-License-Identifier: Apache-2.0 */
/* server_api.c - one question to the API: found in the table, answered from what is kept, or handed
 * to a worker that has the run for itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/mem.h"
#include "base/text.h"
#include "serve/gzip.h"
#include "serve/hash.h"
#include "serve/memo.h"
#include "serve/server_internal.h"

enum { API_STEPS = 2 }; /* "api", "v1" */

/* A document that was made of a run: it may run its own script, but as a stranger to this server.
 */
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
    struct route_request ask;
    bool gzip;
    struct runs_hold hold;
};

/* ---- answers that are kept ---- */

struct answer_value {
    struct memo_value value;
    struct reply *reply;
};

static void answer_free(struct memo_value *v)
{
    struct answer_value *x = (struct answer_value *)v;
    reply_free(x->reply);
    free(x);
}

/* The route, the run and every value: with the run's version all that an answer depends on. */
static void server_api_put_key(struct buf *key, const struct api_request *q)
{
    buf_printf(key, "answer %td %d %d %s\n", q->route - routes, q->gzip, q->ask.may_control,
               q->ask.name ? q->ask.name : "");
    for (size_t i = 0; i < q->ask.n_values; i++)
        buf_printf(key, "%s=%s\n", q->ask.values[i].param->name, q->ask.values[i].text);
}

static bool is_kept(const struct api_request *q)
{
    return (q->route->flags & ROUTE_CACHE) != 0;
}

static struct reply *kept(const struct api_request *q, uint64_t version)
{
    struct buf key = {0};
    server_api_put_key(&key, q);
    struct memo_value *v = memo_get(runs_memo(q->server->runs, CACHE_ANSWERS),
                                    &(struct memo_key){key.p, key.len, version}, NULL);
    struct reply *r = v ? reply_ref(((struct answer_value *)v)->reply) : NULL;
    memo_unref(v);
    buf_free(&key);
    return r;
}

static void server_api_keep(const struct api_request *q, struct reply *r)
{
    struct buf key = {0};
    struct answer_value *x = xcalloc(1, sizeof *x);
    *x = (struct answer_value){{.bytes = reply_bytes(r), .free = answer_free}, reply_ref(r)};
    atomic_init(&x->value.refs, 1);
    server_api_put_key(&key, q);
    memo_put(runs_memo(q->server->runs, CACHE_ANSWERS),
             &(struct memo_key){key.p, key.len, q->ask.version}, &x->value);
    memo_unref(&x->value);
    buf_free(&key);
}

/* Without asking the disk: only when somebody has just looked at the run. */
static struct reply *kept_already(const struct api_request *q)
{
    uint64_t version = 0;
    if (!is_kept(q))
        return NULL;
    if (q->ask.name && !runs_version(q->server->runs, q->ask.name, &version))
        return NULL;
    return kept(q, version);
}

/* ---- making answers ---- */

static struct reply *reply_of(const struct api_request *q, struct route_answer *a)
{
    char etag[HTTP_ETAG_LEN];
    struct buf small = {0};
    if (a->stream)
        return a->stream;
    const bool tagged = is_kept(q) && a->status == 200;
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

static struct reply *answer_with_run(struct api_request *q, struct route_answer *a, struct err *e)
{
    const bool run = (q->route->flags & ROUTE_RUN) != 0;
    int rc = runs_take(q->server->runs, q->ask.name, run, &q->hold, e);
    if (rc)
        return reply_of_err(e);
    q->ask.run = q->hold.run;
    q->ask.info = q->hold.info;
    q->ask.version = q->hold.version;
    struct reply *r = is_kept(q) ? kept(q, q->ask.version) : NULL;
    rc = r ? 0 : q->route->answer(&q->ask, a, e);
    if (!runs_give(q->server->runs, &q->hold)) {
        reply_free(r);
        return reply_error(500, "files of this run were truncated while being read");
    }
    return r ? r : rc ? reply_of_err(e) : reply_of(q, a);
}

static struct reply *server_api_answer(struct api_request *q)
{
    struct route_answer a = {.status = 200};
    struct err e = {0};
    struct reply *r;
    if (q->route->flags & (ROUTE_RUN | ROUTE_INFO))
        r = answer_with_run(q, &a, &e);
    else if (q->route->answer(&q->ask, &a, &e) != 0)
        r = reply_of_err(&e);
    else
        r = reply_of(q, &a);
    buf_free(&a.body);
    if (is_kept(q) && reply_status(r) == 200 && !a.passing)
        server_api_keep(q, r);
    return r;
}

static void server_api_run_job(struct work_job *j, bool ends)
{
    struct api_request *q = (struct api_request *)j;
    struct exchange *x = q->x;
    struct reply *r = ends ? reply_error(503, "the server is shutting down") : server_api_answer(q);
    arena_free(&q->arena);
    free(q);
    exchange_answer(x, r);
}

/* ---- questions ---- */

static bool is_json_post(const struct visit *v)
{
    const char *type = exchange_header(v->x, "Content-Type");
    return type && text_starts(type, TYPE_JSON);
}

static struct reply *server_api_refuse(const struct visit *v, const struct route *route)
{
    if (!(route->flags & ROUTE_CONTROL))
        return NULL;
    if (v->right < RIGHT_CONTROL)
        return reply_error(403, "this token does not allow controlling runs");
    if (!is_json_post(v))
        return reply_error(403, "the Content-Type must be application/json");
    return NULL;
}

static struct api_request *server_api_ask_of(struct visit *v, const struct route *route,
                                             const char *name)
{
    struct api_request *q = xcalloc(1, sizeof *q);
    /* Only who holds the run waits for others who do. */
    const char *key = route->flags & ROUTE_RUN ? name : NULL;
    *q = (struct api_request){.job = {.key = key, .run = server_api_run_job},
                              .server = v->server,
                              .x = v->x,
                              .route = route,
                              .gzip = accepts_gzip(v->x)};
    q->ask = (struct route_request){.name = name,
                                    .runs = v->server->runs,
                                    .may_control = v->right >= RIGHT_CONTROL,
                                    .live = v->server->live,
                                    .exchange = v->x};
    if (route->method == ROUTE_POST)
        q->ask.body = exchange_body(v->x, &q->ask.body_len);
    q->arena = v->arena; /* with all texts of the request in it */
    v->arena = (struct arena){0};
    return q;
}

static void server_api_drop(struct api_request *q)
{
    arena_free(&q->arena);
    free(q);
}

static void put_question(struct api_request *q)
{
    struct exchange *x = q->x;
    struct reply *r = kept_already(q);
    if (r) {
        server_api_drop(q);
        exchange_answer(x, r);
        return;
    }
    exchange_wait(x);
    if (!work_add(q->route->flags & ROUTE_SLOW ? q->server->slow : q->server->work, &q->job)) {
        server_api_drop(q);
        exchange_answer(x, reply_error(503, "the server is shutting down"));
    }
}

static struct reply *no_route(bool other_method)
{
    return other_method ? reply_error(405, "method not allowed")
                        : reply_error(404, "no such API path");
}

void serve_api(struct visit *v)
{
    const char *name;
    bool other = false;
    const enum http_method m = exchange_method(v->x);
    const struct route *route = request_route(
        &v->request, API_STEPS, m == HTTP_POST ? ROUTE_POST : ROUTE_GET, &name, &other);
    struct reply *r =
        !route || m == HTTP_OTHER ? no_route(other || route) : server_api_refuse(v, route);
    if (r) {
        exchange_answer(v->x, r);
        return;
    }
    struct err e;
    struct api_request *q = server_api_ask_of(v, route, name);
    q->ask.arena = &q->arena;
    if (request_params(&v->request, route, &q->arena, &q->ask, &e) != 0) {
        exchange_answer(v->x, reply_of_err(&e));
        server_api_drop(q);
    } else {
        put_question(q);
    }
}
