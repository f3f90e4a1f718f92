/* SPDX-License-Identifier: Apache-2.0 */
/* hub_client.c - see hub_client.h. */
#include "net/hub_client.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/trust.h"

enum {
    TOKEN_FILE_MOST = 4096,
    ATTEMPTS = 4,
    WAIT_MS = 100,        /* before the second attempt, then twice as long each time */
    RETRY_AFTER_MOST = 2, /* seconds; the longest wait that the hub may request */
    URL_LEN = 8 << 10,
    LINE_LEN = 160,
    HEADERS_MOST = 4,
};

/* ---- addresses and tokens ---- */

static const char https[] = "https://", http[] = "http://";

bool hub_is_address(const char *location)
{
    return text_starts(location, https) || text_starts(location, http);
}

static bool hub_is_this_machine(const char *host, size_t n)
{
    static const char *const loopback[] = {"127.0.0.1", "localhost", "[::1]"};
    for (size_t i = 0; i < COUNT_OF(loopback); i++) {
        const size_t len = strlen(loopback[i]);
        if (n >= len && strncmp(host, loopback[i], len) == 0 && (len == n || host[len] == ':'))
            return true;
    }
    return false;
}

/* No user, nothing that could end a line. */
int hub_address_of(char base[HUB_BASE_LEN], const char **rest, const char *address, struct err *e)
{
    const bool tls = text_starts(address, https);
    const char *host = hub_is_address(address) ? strstr(address, "://") + 3 : "";
    const size_t n = strcspn(host, "/");
    if (n == 0 || n > 255 ||
        strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]") < n)
        return err_set(e, ERR_USAGE, "'%.200s' is not the address of a hub: https://HOST[:PORT]",
                       address);
    if (!tls && !hub_is_this_machine(host, n))
        return err_set(e, ERR_USAGE,
                       "'%.200s': a token is sent to other machines over https:// only", address);
    snprintf(base, HUB_BASE_LEN, "%s%.*s", tls ? https : http, (int)n, host);
    *rest = host + n;
    return 0;
}

int hub_token_read(const char *file, struct arena *a, const char **out, struct err *e)
{
    char *text;
    size_t len;
    *out = getenv("FOOTPLATE_TOKEN");
    if (!file)
        return 0;
    TRY(trust_read_named(file, TOKEN_FILE_MOST, a, &text, &len, e));
    text += strspn(text, " \t\r\n");
    text[strcspn(text, " \t\r\n")] = 0;
    *out = text;
    return *text ? 0 : err_set(e, ERR_USAGE, "'%s' has no token", file);
}

/* ---- clients ---- */

struct hub_client {
    struct http_client *http;
    char base[HUB_BASE_LEN];
    char *authorization; /* the header; NULL: no token */
};

/* NULL: not set, or empty. */
static const char *hub_setting(const char *name, const char *otherwise)
{
    const char *text = getenv(name);
    if (text && *text)
        return text;
    return otherwise ? hub_setting(otherwise, NULL) : NULL;
}

static int hub_client_authorize(struct hub_client *c, struct err *e)
{
    struct arena a = {0};
    struct buf b = {0};
    const char *token;
    int rc = hub_token_read(hub_setting("FOOTPLATE_TOKEN_FILE", NULL), &a, &token, e);
    if (rc == 0 && token && strpbrk(token, " \r\n"))
        rc = err_set(e, ERR_USAGE, "the token of FOOTPLATE_TOKEN is not one word");
    if (rc == 0 && token && *token) {
        buf_printf(&b, "Authorization: Bearer %s%c", token, 0);
        c->authorization = (char *)b.p;
    }
    arena_free(&a);
    return rc;
}

int hub_client_open(struct hub_client **out, const char *base, struct err *e)
{
    const struct http_client_config config = {
        .ca = hub_setting("FOOTPLATE_CA", "FOOTPLATE_TO_CA"),
        .pinned_key = hub_setting("FOOTPLATE_PINNED_KEY", "FOOTPLATE_TO_PINNED_KEY")};
    struct hub_client *c = xcalloc(1, sizeof *c);
    snprintf(c->base, sizeof c->base, "%s", base);
    int rc = hub_client_authorize(c, e);
    if (rc == 0)
        rc = http_client_open(&c->http, &config, e);
    if (rc)
        hub_client_close(c);
    else
        *out = c;
    return rc;
}

void hub_client_close(struct hub_client *c)
{
    if (!c)
        return;
    http_client_close(c->http);
    if (c->authorization)
        explicit_bzero(c->authorization, strlen(c->authorization));
    free(c->authorization);
    free(c);
}

/* ---- answers ---- */

static int hub_denied(const struct hub_client *c, int status, const char *why, struct err *e)
{
    if (status == 401 && !c->authorization)
        err_set(e, ERR_SYS,
                "%s needs a read token: set FOOTPLATE_TOKEN, or FOOTPLATE_TOKEN_FILE to the file "
                "that has it",
                c->base);
    else if (status == 401)
        err_set(e, ERR_SYS, "%s does not know the token of %s", c->base,
                hub_setting("FOOTPLATE_TOKEN_FILE", NULL) ? "FOOTPLATE_TOKEN_FILE"
                                                          : "FOOTPLATE_TOKEN");
    else
        err_set(e, ERR_SYS, "%s refused: %.200s", c->base, why);
    e->sys = EACCES;
    return ERR_SYS;
}

/* What an unexpected answer means. */
static int hub_failed(const struct hub_client *c, const struct http_response *r, struct err *e)
{
    struct arena a = {0};
    json_t *o = json_loadb((const char *)r->body.p, r->body.len, 0, NULL);
    const char *why = json_get_str(o, "error", &a, "no reason given");
    int rc;
    json_decref(o);
    if (r->status == 401 || r->status == 403)
        rc = hub_denied(c, r->status, why, e);
    else if (r->status / 100 == 3)
        rc = err_set(e, ERR_USAGE, "%s redirects to another address: use that one", c->base);
    else
        rc = err_set(e,
                     r->status == 409 || r->status == 412       ? ERR_BUSY
                     : r->status == 429 || r->status / 100 == 5 ? ERR_NOT_FOUND
                     : r->status == 404 || r->status == 410     ? ERR_SYS
                                                                : ERR_USAGE,
                     "%s answered %d: %.200s", c->base, r->status, why);
    if (rc == ERR_SYS && e->sys != EACCES)
        e->sys = ENOENT;
    arena_free(&a);
    return rc;
}

static int hub_not_reached(const struct hub_client *c, struct err *e)
{
    const struct err why = *e;
    if (why.code == ERR_FORMAT)
        return err_set(e, ERR_FORMAT,
                       "the certificate of %s is not trusted (%.200s): name its file in "
                       "FOOTPLATE_CA, or the key of the hub in FOOTPLATE_PINNED_KEY",
                       c->base, why.msg);
    return err_in(e, "cannot reach %s", c->base);
}

/* ---- requests ---- */

/* Whether the answer may be another one in a moment. *wait_ms: the time that the hub requests, if
 * it does.
 */
static bool hub_passes(const struct http_response *r, int64_t *wait_ms)
{
    const char *after = http_response_header(r, "Retry-After");
    const long seconds = after ? strtol(after, NULL, 10) : 0;
    if (r->status != 429 && r->status / 100 != 5)
        return false;
    if (seconds > RETRY_AFTER_MOST)
        return false;
    *wait_ms = MAX_OF(*wait_ms, (int64_t)seconds * 1000);
    return true;
}

static int hub_send_once(struct hub_client *c, const struct hub_call *q, struct http_response *r,
                         struct err *e)
{
    char url[URL_LEN], range[LINE_LEN], match[LINE_LEN];
    const char *headers[HEADERS_MOST];
    size_t n = 0;
    if ((size_t)snprintf(url, sizeof url, "%s%s", c->base, q->path) >= sizeof url)
        return err_set(e, ERR_LIMIT, "the address is longer than %zu bytes", sizeof url);
    if (c->authorization)
        headers[n++] = c->authorization;
    if (q->body)
        headers[n++] = "Content-Type: application/json";
    if (q->len) {
        snprintf(range, sizeof range, "Range: bytes=%lld-%lld", (long long)q->from,
                 (long long)(q->from + q->len - 1));
        headers[n++] = range;
    }
    if (q->if_match) {
        snprintf(match, sizeof match, "If-Match: %s", q->if_match);
        headers[n++] = match;
    }
    const struct http_request ask = {.method = q->body ? "POST" : "GET",
                                     .url = url,
                                     .headers = headers,
                                     .n_headers = n,
                                     .body = q->body,
                                     .body_len = q->body ? strlen(q->body) : 0,
                                     .body_most = q->most};
    return http_client_send(c->http, &ask, r, e);
}

int hub_client_send(struct hub_client *c, const struct hub_call *q, struct http_response *r,
                    struct err *e)
{
    for (int attempt = 1;; attempt++) {
        int64_t wait_ms = WAIT_MS << (attempt - 1);
        const int rc = hub_send_once(c, q, r, e);
        const bool again = rc ? rc == ERR_NOT_FOUND : hub_passes(r, &wait_ms);
        /* A request that changes something is sent once: it may have arrived before a cut. */
        if (!again || attempt == ATTEMPTS || q->body) {
            if (rc)
                return rc == ERR_NOT_FOUND || rc == ERR_FORMAT ? hub_not_reached(c, e) : rc;
            return r->status / 100 == 2 ? 0 : hub_failed(c, r, e);
        }
        nanosleep(&(struct timespec){wait_ms / 1000, wait_ms % 1000 * NS_PER_MS}, NULL);
    }
}

int hub_answer_tree(const char *base, const struct http_response *r, json_t **out, struct err *e)
{
    json_t *tree = json_loadb((const char *)r->body.p, r->body.len, 0, NULL);
    if (!json_is_object(tree)) {
        json_decref(tree);
        return err_set(e, ERR_FORMAT, "%s is not a server of Footplate", base);
    }
    *out = tree;
    return 0;
}
