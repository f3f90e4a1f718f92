/* SPDX-License-Identifier: Apache-2.0 */
/* server_page.c - the files of the page, and the way in for who has a token. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/mem.h"
#include "serve/assets.h"
#include "serve/gzip.h"
#include "serve/server_internal.h"

#define HTML "text/html; charset=utf-8"

/* The page loads its own scripts, styles and data from here and nothing from elsewhere. */
static const char page_csp[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self'; worker-src 'self'; manifest-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
static const char form_csp[] =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'";

#define PAGE_HEAD                                                                                  \
    "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">"                              \
    "<meta name=\"viewport\" content=\"width=device-width\"><title>Footplate</title><style>"       \
    ":root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}"                            \
    "body{max-width:34rem;margin:4rem auto;padding:0 1rem}"                                        \
    "input,button{font:inherit;padding:.4rem .6rem}code{font-size:.9em}</style></head><body>"

static const char no_page[] = PAGE_HEAD
    "<h1>Footplate</h1><p>This build of Footplate does not contain the dashboard. The API is "
    "available: "
    "<a href=\"/api/v1/status\">status</a>, <a href=\"/api/v1/runs\">runs</a>, "
    "<a href=\"/api/v1/openapi.json\">description</a>.</p>"
    "<p>To get the dashboard, install a wheel or package, or build the program with "
    "<code>make build</code>.</p></body></html>\n";

static const char login_page[] = PAGE_HEAD
    "<h1>Footplate</h1><form method=\"post\" action=\"/login\">"
    "<p><label for=\"token\">Access token (from the person who started this server)</label></p>"
    "<p><input id=\"token\" name=\"token\" type=\"password\" size=\"40\" required "
    "autocomplete=\"current-password\"> <button>Log in</button></p></form></body></html>\n";

/* ---- files ---- */

static struct reply_head server_page_head_of(const struct asset *a, bool gzip)
{
    return (struct reply_head){
        .status = 200,
        .type = a->type,
        .etag = a->etag,
        .cache = a->forever ? "public, max-age=31536000, immutable" : "no-cache",
        .encoding = gzip ? "gzip" : NULL,
        .csp = page_csp,
    };
}

bool server_has_page(void)
{
    return n_assets > 0;
}

void server_page_open(struct server *s)
{
    s->assets = arena_array(&s->arena, struct reply *, n_assets + 1);
    s->assets_plain = arena_array(&s->arena, struct reply *, n_assets + 1);
    for (size_t i = 0; i < n_assets; i++) {
        const struct asset *a = &assets[i];
        const struct reply_head h = server_page_head_of(a, true),
                                plain = server_page_head_of(a, false);
        struct buf b = {0};
        struct err e;
        s->assets[i] = reply_fixed(&h, a->gzip, a->n_gzip);
        if (gzip_unpack(a->gzip, a->n_gzip, a->n_plain, &b, &e) == 0)
            s->assets_plain[i] = reply_make(&plain, &b);
    }
}

void server_page_close(struct server *s)
{
    for (size_t i = 0; s->assets && i < n_assets; i++) {
        reply_free(s->assets[i]);
        reply_free(s->assets_plain[i]);
    }
}

static struct reply *html(int status, const char *text, size_t n, const char *csp)
{
    return reply_fixed(&(struct reply_head){.status = status, .type = HTML, .csp = csp}, text, n);
}

static struct reply *find_asset(const struct visit *v)
{
    const char *uri = exchange_uri(v->x);
    const size_t n = strcspn(uri, "?");
    for (size_t i = 0; i < n_assets; i++) {
        if (strlen(assets[i].path) != n || memcmp(assets[i].path, uri, n) != 0)
            continue;
        struct server *s = v->server;
        const bool gzip = accepts_gzip(v->x) || !s->assets_plain[i];
        return reply_ref(gzip ? s->assets[i] : s->assets_plain[i]);
    }
    return NULL;
}

void serve_page(struct visit *v)
{
    struct reply *r = NULL;
    if (exchange_method(v->x) != HTTP_GET)
        r = reply_error(405, "method not allowed: use GET");
    if (!r)
        r = find_asset(v);
    if (!r && v->request.n_steps == 0)
        r = html(200, no_page, sizeof no_page - 1, form_csp);
    exchange_answer(v->x, r ? r : reply_error(404, "page not found"));
}

/* ---- login ---- */

/* {"token": "..."} of a script, or token=... of the form. NULL: neither. */
static const char *token_of(struct visit *v)
{
    size_t n;
    struct err e;
    const char *type = exchange_header(v->x, "Content-Type"), *body = exchange_body(v->x, &n);
    if (type && strncmp(type, "application/json", 16) == 0) {
        json_t *o = json_loadb(body, n, 0, NULL);
        const char *token = json_get_str(o, "token", &v->arena, NULL);
        json_decref(o);
        return token;
    }
    struct request form = {0};
    if (request_parse_values(&form, body, &v->arena, &e) != 0)
        return NULL;
    for (size_t i = 0; i < form.n_values; i++)
        if (strcmp(form.value[i].name, "token") == 0)
            return form.value[i].text;
    return NULL;
}

static struct reply *reply_session(struct visit *v, const char *session)
{
    char cookie[200];
    struct buf body = {0};
    const char *type = exchange_header(v->x, "Content-Type");
    const bool script = type && strncmp(type, "application/json", 16) == 0;
    snprintf(cookie, sizeof cookie, "%s=%s; Path=/; HttpOnly; SameSite=Strict%s", v->server->cookie,
             session, v->server->tls ? "; Secure" : "");
    if (script)
        buf_printf(&body, "{\"ok\":true}");
    return reply_make(&(struct reply_head){.status = script ? 200 : 303,
                                           .type = script ? "application/json" : NULL,
                                           .cookie = cookie,
                                           .location = script ? NULL : "/"},
                      &body);
}

static struct reply *log_in(struct visit *v)
{
    char session[SESSION_LEN];
    struct err e;
    const char *token = token_of(v);
    if (!token)
        return reply_error(400, "a token is required: {\"token\": \"...\"}");
    const int rc = rights_login(v->server->rights, exchange_peer(v->x), token, session, &e);
    if (rc == 0)
        return reply_session(v, session);
    return reply_error(rc == ERR_BUSY ? 429 : rc == ERR_NOT_FOUND ? 401 : 500, e.msg);
}

void serve_login(struct visit *v)
{
    struct reply *r;
    if (exchange_method(v->x) == HTTP_POST)
        r = log_in(v);
    else if (exchange_method(v->x) == HTTP_GET)
        r = html(200, login_page, sizeof login_page - 1, form_csp);
    else
        r = reply_error(405, "method not allowed: use GET or POST");
    exchange_answer(v->x, r);
}
