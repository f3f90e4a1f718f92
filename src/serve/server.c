/* SPDX-License-Identifier: Apache-2.0 */
/* server.c - see server.h. Checks every request, serves the files of the page and the login, and
 * hands requests to the API on (server_api.c). */
#include "serve/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "base/gzip.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/trust.h"
#include "base/vec.h"
#include "serve/assets.h"
#include "serve/hub.h"
#include "serve/ingest.h"
#include "serve/limits.h"
#include "serve/server_internal.h"
#include "serve/sockets.h"
#include "serve/tls_late.h"

/* ---- replies ---- */

struct reply *reply_error(int status, const char *text)
{
    struct buf b = {0};
    struct jw j = {.out = &b};
    jw_object(&j, NULL);
    jw_str(&j, "error", text);
    jw_end(&j);
    return reply_make(&(struct reply_head){.status = status,
                                           .type = TYPE_JSON,
                                           .retry_after_s = status == 429 ? 60 : 0},
                      &b);
}

struct reply *reply_of_err(const struct err *e)
{
    return reply_error(http_status_of(e), e->msg);
}

struct reply *reply_refused(int status)
{
    static const struct {
        int status, retry_s;
        const char *text;
    } rows[] = {
        {413, 0, "the request is too large"},
        {429, HUB_RETRY_S, "this token sends faster than it may"},
        {503, HUB_RETRY_S, "the hub has more to do than it can queue"},
        {507, HUB_FULL_RETRY_S, "there is no room left: the quota is used up, or the disk is full"},
    };
    size_t i = 0;
    while (rows[i].status != status && i + 1 < COUNT_OF(rows))
        i++;
    struct buf b = {0};
    struct jw j = {.out = &b};
    char limit[64];
    snprintf(limit, sizeof limit, "max-append-size=%d", HUB_APPEND_MOST);
    const char *const more[][2] = {{status == 413 ? "Upload-Limit" : NULL, limit}, {NULL, NULL}};
    jw_object(&j, NULL);
    jw_str(&j, "error", rows[i].text);
    jw_end(&j);
    return reply_make(
        &(struct reply_head){
            .status = status, .type = TYPE_JSON, .retry_after_s = rows[i].retry_s, .more = more},
        &b);
}

bool accepts_gzip(const struct exchange *x)
{
    const char *list = exchange_header(x, "Accept-Encoding");
    const char *word = list ? strcasestr(list, "gzip") : NULL;
    return word && strncmp(word + 4, ";q=0", 4) != 0;
}

bool has_json_body(const struct exchange *x)
{
    const char *type = exchange_header(x, "Content-Type");
    return type && text_starts(type, TYPE_JSON);
}

/* ---- may the client do this? ---- */

static bool server_is_word(const char *header, const char *word)
{
    return header && strcasecmp(header, word) == 0;
}

/* Browsers send where a request comes from; requests of the scripts of other pages are refused. */
static bool server_from_elsewhere(const struct visit *v)
{
    const char *site = exchange_header(v->x, "Sec-Fetch-Site");
    if (!site || server_is_word(site, "same-origin") || server_is_word(site, "none"))
        return false;
    return v->x->method != HTTP_GET ||
           !server_is_word(exchange_header(v->x, "Sec-Fetch-Mode"), "navigate");
}

static struct reply *server_check_place(const struct visit *v)
{
    const struct server *s = v->server;
    const char *host = exchange_header(v->x, "Host");
    if (!host_allowed(host, s->hosts, s->n_hosts, s->place.anywhere))
        return reply_error(403, "unknown host name; start the server with --host NAME");
    if (!origin_allowed(exchange_header(v->x, "Origin"), host) || server_from_elsewhere(v))
        return reply_error(403, "cross-origin requests are refused");
    return NULL;
}

static const char *server_bearer_of(const struct exchange *x)
{
    static const char word[] = "Bearer ";
    const char *header = exchange_header(x, "Authorization");
    return header && strncasecmp(header, word, sizeof word - 1) == 0 ? header + sizeof word - 1
                                                                     : NULL;
}

/* Without tokens only the user of the server may use it; other users of the machine can reach it
 * too. The user of a connection is looked up once, with its first request. */
static struct reply *server_check_user(const struct visit *v)
{
    enum { NOT_LOOKED_UP, LOOKED_UP };
    uintptr_t *note = v->x->note;
    if (*note == NOT_LOOKED_UP)
        *note = LOOKED_UP + (uintptr_t)peer_of(v->x->fd);
    const enum peer peer = (enum peer)(*note - LOOKED_UP);
    if (peer == PEER_OURS)
        return NULL;
    if (peer == PEER_UNKNOWN)
        return reply_error(403, "this system does not show which user a connection belongs to; "
                                "start the server with --token-file FILE");
    return reply_error(
        403, "this dashboard belongs to another user; a token file is needed to share it");
}

static bool server_is_under(const struct request *q, const char *first, const char *second)
{
    return q->n_steps >= 1 && strcmp(q->step[0], first) == 0 &&
           (!second || (q->n_steps >= 2 && strcmp(q->step[1], second) == 0));
}

static bool server_is_ingest(const struct visit *v)
{
    return v->request.n_steps > 2 && strcmp(v->request.step[2], "ingest") == 0;
}

static struct reply *server_check_rights(struct visit *v)
{
    struct server *s = v->server;
    struct err e;
    const char *session = cookie_find(exchange_header(v->x, "Cookie"), s->cookie, &v->arena);
    const int rc = rights_of(s->rights, v->x->peer, server_bearer_of(v->x), session, &v->right, &e);
    if (rc)
        return reply_error(rc == ERR_BUSY ? 429 : 500, e.msg);
    if (v->right == RIGHT_NONE)
        return reply_error(401, "a token is required: see /login");
    if (server_is_ingest(v) ? v->right != RIGHT_WRITE : v->right < RIGHT_READ)
        return reply_error(403, v->right == RIGHT_WRITE
                                    ? "this token only sends runs; it does not show any"
                                    : "sending runs needs a write token");
    return rights_needs_token(s->rights) ? NULL : server_check_user(v);
}

const char *server_client_name(struct visit *v)
{
    char name[TOKEN_NAME_LEN];
    const char *session =
        cookie_find(exchange_header(v->x, "Cookie"), v->server->cookie, &v->arena);
    rights_name(v->server->rights, server_bearer_of(v->x), session, name);
    return arena_strdup(&v->arena, name);
}

/* ---- the page ---- */

/* The page loads its scripts, styles and data from this server only. */
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

static struct reply_head page_head_of(const struct asset *a, bool gzip)
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

static void page_open_assets(struct server *s)
{
    s->assets = arena_array(&s->arena, struct reply *, n_assets + 1);
    s->assets_plain = arena_array(&s->arena, struct reply *, n_assets + 1);
    for (size_t i = 0; i < n_assets; i++) {
        const struct asset *a = &assets[i];
        const struct reply_head h = page_head_of(a, true), plain = page_head_of(a, false);
        struct buf b = {0};
        struct err e;
        s->assets[i] = reply_fixed(&h, a->gzip, a->n_gzip);
        if (gzip_unpack(a->gzip, a->n_gzip, a->n_plain, &b, &e) == 0)
            s->assets_plain[i] = reply_make(&plain, &b);
    }
}

static void page_close_assets(struct server *s)
{
    for (size_t i = 0; s->assets && i < n_assets; i++) {
        reply_free(s->assets[i]);
        reply_free(s->assets_plain[i]);
    }
}

static struct reply *page_html(int status, const char *text, size_t n, const char *csp)
{
    return reply_fixed(&(struct reply_head){.status = status, .type = TYPE_HTML, .csp = csp}, text,
                       n);
}

static struct reply *page_find_asset(const struct visit *v)
{
    const char *uri = v->x->uri;
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

static void page_serve(struct visit *v)
{
    struct reply *r = NULL;
    if (v->x->method != HTTP_GET)
        r = reply_error(405, "method not allowed: use GET");
    if (!r)
        r = page_find_asset(v);
    if (!r && v->request.n_steps == 0)
        r = page_html(200, no_page, sizeof no_page - 1, form_csp);
    exchange_answer(v->x, r ? r : reply_error(404, "page not found"));
}

/* ---- login ---- */

/* {"token": "..."} of a script, or token=... of the form. NULL: neither. */
static const char *login_token_of(struct visit *v)
{
    struct err e;
    if (has_json_body(v->x)) {
        json_t *o = json_loadb(v->x->body, v->x->body_len, 0, NULL);
        const char *token = json_get_str(o, "token", &v->arena, NULL);
        json_decref(o);
        return token;
    }
    struct request form = {0};
    if (request_parse_values(&form, v->x->body, &v->arena, &e) != 0)
        return NULL;
    const size_t at = FIND_FIRST(i, form.n_values, strcmp(form.value[i].name, "token") == 0);
    return at < form.n_values ? form.value[at].text : NULL;
}

static struct reply *login_reply(struct visit *v, const char *session)
{
    char cookie[200];
    struct buf body = {0};
    const bool script = has_json_body(v->x);
    snprintf(cookie, sizeof cookie, "%s=%s; Path=/; HttpOnly; SameSite=Strict%s", v->server->cookie,
             session, v->server->tls ? "; Secure" : "");
    if (script)
        buf_printf(&body, "{\"ok\":true}");
    return reply_make(&(struct reply_head){.status = script ? 200 : 303,
                                           .type = script ? TYPE_JSON : NULL,
                                           .cookie = cookie,
                                           .location = script ? NULL : "/"},
                      &body);
}

static struct reply *login_try(struct visit *v)
{
    char session[SESSION_LEN];
    struct err e;
    const char *token = login_token_of(v);
    if (!token)
        return reply_error(400, "a token is required: {\"token\": \"...\"}");
    const int rc = rights_login(v->server->rights, v->x->peer, token, session, &e);
    if (rc == 0)
        return login_reply(v, session);
    return reply_error(rc == ERR_BUSY ? 429 : rc == ERR_NOT_FOUND ? 401 : 500, e.msg);
}

static void login_serve(struct visit *v)
{
    struct reply *r;
    if (v->x->method == HTTP_POST)
        r = login_try(v);
    else if (v->x->method == HTTP_GET)
        r = page_html(200, login_page, sizeof login_page - 1, form_csp);
    else
        r = reply_error(405, "method not allowed: use GET or POST");
    exchange_answer(v->x, r);
}

/* ---- requests ---- */

static struct reply *server_check(struct visit *v)
{
    struct err e;
    struct reply *r = server_check_place(v);
    if (r)
        return r;
    return request_parse(&v->request, v->x->uri, &v->arena, &e) ? reply_of_err(&e) : NULL;
}

static void server_ingest(struct visit *v)
{
    struct token t;
    const char *bearer = server_bearer_of(v->x);
    if (!v->server->hub)
        exchange_answer(v->x, reply_error(404, "this server does not receive runs (--receive)"));
    else if (!bearer || !rights_find_writer(v->server->rights, bearer, &t))
        exchange_answer(v->x, reply_error(401, "a token is required")); /* removed meanwhile */
    else
        serve_ingest(v, &t);
    explicit_bzero(&t, sizeof t);
}

static int server_admit(void *ctx, const struct exchange *x, uint64_t bytes, size_t *most)
{
    struct server *s = ctx;
    if (!s->hub || !text_starts(x->uri, "/api/v1/ingest/"))
        return 0;
    return ingest_admit(s, x, server_bearer_of(x), bytes, most);
}

static void server_dispatch(struct visit *v)
{
    struct reply *r = server_check(v);
    const bool api = !r && server_is_under(&v->request, "api", "v1");
    if (api)
        r = server_check_rights(v);
    if (!r && v->x->body_refused)
        r = reply_refused(v->x->body_refused);
    if (r)
        exchange_answer(v->x, r);
    else if (api && server_is_ingest(v))
        server_ingest(v);
    else if (api)
        serve_api(v);
    else if (server_is_under(&v->request, "login", NULL) && v->request.n_steps == 1)
        login_serve(v);
    else
        page_serve(v);
}

static void server_request(void *ctx, struct exchange *x)
{
    struct visit v = {.server = ctx, .x = x};
    server_dispatch(&v);
    arena_free(&v.arena);
}

static void server_fill_facts(void *ctx, struct runs_facts *out)
{
    struct server *s = ctx;
    out->connections = s->httpd ? httpd_connections(s->httpd) : 0;
    out->requests = s->httpd ? httpd_requests(s->httpd) : 0;
    out->clients = live_clients(s->live);
}

/* ---- opening ---- */

static int server_read_tokens(struct server *s, const struct server_options *ask, struct err *e)
{
    char *text;
    size_t len;
    s->rights = rights_open(ask->control);
    if (ask->token)
        TRY(rights_add(s->rights, RIGHT_CONTROL, ask->token, "FOOTPLATE_TOKEN", e));
    if (!ask->token_file)
        return 0;
    s->token_file = arena_strdup(&s->arena, ask->token_file);
    TRY(trust_read_named(ask->token_file, PEM_MOST, &s->arena, &text, &len, e));
    return rights_add_text(s->rights, text, ask->token_file, e);
}

/* The host names of this server; a request for another one may be an attack (DNS rebinding). */
static void server_name_hosts(struct server *s, const struct server_options *ask)
{
    const char *const known[] = {"localhost", "127.0.0.1", "::1",
                                 ask->bind ? ask->bind : "127.0.0.1"};
    char own[256] = "";
    s->hosts = arena_array(&s->arena, const char *, ask->n_hosts + COUNT_OF(known) + 1);
    for (size_t i = 0; i < COUNT_OF(known); i++)
        s->hosts[s->n_hosts++] = arena_strdup(&s->arena, known[i]);
    if (s->place.anywhere && gethostname(own, sizeof own - 1) == 0)
        s->hosts[s->n_hosts++] = arena_strdup(&s->arena, own);
    for (size_t i = 0; i < ask->n_hosts; i++)
        s->hosts[s->n_hosts++] = arena_strdup(&s->arena, ask->hosts[i]);
}

static int server_check_ask(const struct server *s, const struct server_options *ask, struct err *e)
{
    if (!s->place.loopback && !rights_needs_token(s->rights))
        return err_set(e, ERR_USAGE,
                       "%s can be reached from other machines, so a token is required: "
                       "--token-file FILE, or FOOTPLATE_TOKEN in the environment",
                       ask->bind);
    if (!ask->tls_cert != !ask->tls_key)
        return err_set(e, ERR_USAGE, "--tls-cert and --tls-key must be given together");
    if (ask->receive && !rights_has(s->rights, RIGHT_WRITE))
        return err_set(e, ERR_USAGE,
                       "--receive needs a write token in the token file: "
                       "'footplate hub token add --token-file FILE --name NAME'");
    return 0;
}

static void server_raise_file_limit(void)
{
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) < 0)
        return;
    l.rlim_cur = l.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &l);
}

static int server_read_pem(struct server *s, const char *path, const char **out, struct err *e)
{
    char *text;
    size_t len;
    TRY(file_read(path, PEM_MOST, &s->arena, &text, &len, e));
    *out = text;
    return 0;
}

static int server_start_http(struct server *s, const struct server_options *ask, struct err *e)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct httpd_options h = {.fd = s->place.fd,
                              .threads = (unsigned)MAX_OF(2, MIN_OF(cores, 8)),
                              .request = server_request,
                              .admit = server_admit,
                              .ctx = s};
    if (s->tls) {
        TRY(tls_load(e));
        TRY(server_read_pem(s, ask->tls_cert, &h.cert, e));
        TRY(server_read_pem(s, ask->tls_key, &h.key, e));
    }
    return httpd_start(&s->httpd, &h, e);
}

static int server_open_parts(struct server *s, const struct server_options *ask, struct err *e)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    TRY(runs_open(&s->runs, ask->folders, ask->n_folders, RUNS_OPEN_BYTES, e));
    TRY(work_open(&s->work, (unsigned)MAX_OF(WORKERS_LEAST, MIN_OF(cores, WORKERS_MOST)), "serve",
                  e));
    TRY(work_open(&s->slow, 1, "slow", e));
    TRY(live_open(&s->live, s->runs, e));
    if (ask->receive) {
        TRY(hub_open(&s->hub, &(struct hub_options){ask->folders[0], s->token_file, ask->keep_ns},
                     s->rights, e));
        TRY(work_open(&s->ingest, INGEST_WORKERS, "ingest", e));
    }
    runs_set_facts(s->runs, server_fill_facts, s);
    page_open_assets(s);
    return server_start_http(s, ask, e);
}

static void server_describe_place(const struct server *s, const struct server_options *ask,
                                  struct server_place *out)
{
    char own[256] = "localhost";
    const char *name = ask->bind ? ask->bind : "127.0.0.1";
    struct runs_facts facts;
    if (s->place.anywhere && gethostname(own, sizeof own - 1) == 0)
        name = own;
    const bool v6 = strchr(name, ':') != NULL;
    snprintf(out->address, sizeof out->address, "%s://%s%.64s%s:%d/", s->tls ? "https" : "http",
             v6 ? "[" : "", name, v6 ? "]" : "", s->place.port);
    runs_get_facts(s->runs, &facts);
    out->port = s->place.port;
    out->runs = facts.runs;
}

static int server_open_all(struct server *s, const struct server_options *ask, struct err *e)
{
    const char *address = ask->bind ? ask->bind : "127.0.0.1";
    heap_set_up();
    TRY(sigbus_guard_install(e));
    TRY(listen_look(address, &s->place, e));
    TRY(server_read_tokens(s, ask, e));
    TRY(server_check_ask(s, ask, e));
    TRY(listen_open(address, ask->port, ask->port_is_preferred, &s->place, e));
    s->tls = ask->tls_cert != NULL;
    snprintf(s->cookie, sizeof s->cookie, "footplate-%d", s->place.port);
    server_name_hosts(s, ask);
    server_raise_file_limit();
    return server_open_parts(s, ask, e);
}

int server_open(struct server **out, const struct server_options *ask, struct server_place *place,
                struct err *e)
{
    struct server *s = xcalloc(1, sizeof *s);
    s->place.fd = -1;
    const int rc = server_open_all(s, ask, e);
    if (rc) {
        server_close(s);
        return rc;
    }
    server_describe_place(s, ask, place);
    *out = s;
    return 0;
}

/* Nothing new comes in, what waits is answered, then the rest is freed. */
void server_close(struct server *s)
{
    if (!s)
        return;
    if (s->httpd)
        httpd_quiesce(s->httpd);
    else if (s->place.fd >= 0)
        close(s->place.fd);
    work_end(s->work);
    work_end(s->slow);
    work_end(s->ingest);
    live_end(s->live);
    httpd_stop(s->httpd); /* until then an open connection may still bring a request */
    work_close(s->work);
    work_close(s->slow);
    work_close(s->ingest);
    hub_close(s->hub);
    live_close(s->live);
    page_close_assets(s);
    runs_close(s->runs);
    if (s->rights)
        rights_close(s->rights);
    arena_free(&s->arena);
    free(s);
}
