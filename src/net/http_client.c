/* SPDX-License-Identifier: Apache-2.0 */
/* http_client.c - see http_client.h. */
#include "net/http_client.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/text.h"
#include "net/curl.h"

struct http_client {
    struct curl curl;
    void *handle;
    char *ca, *pinned_key;
};

static char *http_copy(const char *text)
{
    return text ? xstrdup(text) : NULL;
}

int http_client_open(struct http_client **out, const struct http_client_config *config,
                     struct err *e)
{
    struct curl curl;
    void *handle;
    TRY(curl_begin(&curl, &handle, e));
    struct http_client *c = xcalloc(1, sizeof *c);
    c->curl = curl;
    c->handle = handle;
    c->ca = http_copy(config->ca);
    c->pinned_key = http_copy(config->pinned_key);
    *out = c;
    return 0;
}

void http_client_close(struct http_client *c)
{
    if (!c)
        return;
    c->curl.easy_cleanup(c->handle);
    free(c->ca);
    free(c->pinned_key);
    free(c);
}

void http_response_free(struct http_response *r)
{
    buf_free(&r->headers);
    buf_free(&r->body);
    *r = (struct http_response){0};
}

const char *http_response_header(const struct http_response *r, const char *name)
{
    const size_t n = strlen(name);
    if (r->headers.len == 0)
        return NULL; /* and there is no pointer to add to */
    const char *end = (const char *)r->headers.p + r->headers.len;
    for (const char *p = (const char *)r->headers.p; p < end; p += strlen(p) + 1)
        if (strncasecmp(p, name, n) == 0 && p[n] == ':')
            return p + n + 1 + strspn(p + n + 1, " \t");
    return NULL;
}

/* One request while it runs; what libcurl calls back with. */
struct http_exchange {
    struct http_client *client;
    const struct http_request *request;
    struct http_response *response;
    size_t most;
    int rc; /* of the sink, or of a limit */
    struct err *e;
};

/* One line of the header. A status line begins a new header: "100 Continue" may come before. */
static size_t http_exchange_header(const char *p, size_t size, size_t n, void *ctx)
{
    struct http_exchange *x = ctx;
    struct buf *b = &x->response->headers;
    const size_t len = size * n;
    size_t used = len;
    if (len >= 5 && memcmp(p, "HTTP/", 5) == 0) {
        b->len = 0;
        return len;
    }
    while (used && (p[used - 1] == '\r' || p[used - 1] == '\n' || p[used - 1] == ' '))
        used--;
    if (!used || memchr(p, '\0', used))
        return len;
    if (b->len + used > HTTP_HEADERS_MOST) {
        x->rc = err_set(x->e, ERR_LIMIT, "the header of the server's answer is too large");
        return 0;
    }
    buf_put(b, p, used);
    buf_u8(b, 0);
    return len;
}

static size_t http_exchange_body(const char *p, size_t size, size_t n, void *ctx)
{
    struct http_exchange *x = ctx;
    const size_t len = size * n;
    struct http_response *r = x->response;
    long status = 0;
    if (len > x->most - r->body_bytes) {
        x->rc = err_set(x->e, ERR_LIMIT, "the server's answer has more than %zu bytes", x->most);
        return 0;
    }
    r->body_bytes += len;
    x->client->curl.easy_getinfo(x->client->handle, INFO_RESPONSE_CODE, &status);
    if (!x->request->sink || status < 200 || status > 299) {
        buf_put(&r->body, p, len);
        return len;
    }
    x->rc = x->request->sink(x->request->sink_ctx, p, len, x->e);
    return x->rc ? 0 : len;
}

/* Without its CA a server with a pinned key is trusted for that key alone: a libcurl that cannot
 * check it is refused. */
static int http_exchange_set_tls(const struct http_client *c, struct err *e)
{
    const struct curl *curl = &c->curl;
    int code = curl->easy_setopt(c->handle, OPT_SSLVERSION, (long)SSLVERSION_TLS_1_2);
    if (code == 0 && c->pinned_key)
        code = curl->easy_setopt(c->handle, OPT_PINNEDPUBLICKEY, c->pinned_key);
    if (code)
        return err_set(e, ERR_USAGE, "this libcurl does not support %s: %s",
                       c->pinned_key ? "pinned keys" : "TLS 1.2", curl->easy_strerror(code));
    if (c->pinned_key && !c->ca) {
        curl->easy_setopt(c->handle, OPT_SSL_VERIFYPEER, 0L);
        curl->easy_setopt(c->handle, OPT_SSL_VERIFYHOST, 0L);
    }
    return 0;
}

static void http_exchange_set_method(const struct http_client *c, const struct http_request *q)
{
    const struct curl *curl = &c->curl;
    const bool bodyless = strcmp(q->method, "GET") == 0 || strcmp(q->method, "DELETE") == 0;
    if (strcmp(q->method, "HEAD") == 0) {
        curl->easy_setopt(c->handle, OPT_NOBODY, 1L);
        return;
    }
    if (bodyless && !q->body) {
        curl->easy_setopt(c->handle, OPT_HTTPGET, 1L);
    } else {
        curl->easy_setopt(c->handle, OPT_POSTFIELDSIZE_LARGE, (int64_t)q->body_len);
        curl->easy_setopt(c->handle, OPT_POSTFIELDS, q->body ? q->body : "");
    }
    curl->easy_setopt(c->handle, OPT_CUSTOMREQUEST, q->method);
}

static void http_exchange_set_limits(const struct http_client *c, const struct http_request *q)
{
    const struct curl *curl = &c->curl;
    const int64_t connect_ms = q->connect_ms ? q->connect_ms : HTTP_CONNECT_MS;
    curl->easy_setopt(c->handle, OPT_CONNECTTIMEOUT_MS, (long)connect_ms);
    curl->easy_setopt(c->handle, OPT_TIMEOUT_MS, (long)q->timeout_ms);
    curl->easy_setopt(c->handle, OPT_LOW_SPEED_LIMIT, 1L);
    curl->easy_setopt(c->handle, OPT_LOW_SPEED_TIME, (long)HTTP_STALL_S);
    curl->easy_setopt(c->handle, OPT_PROTOCOLS, (long)(PROTOCOL_HTTP | PROTOCOL_HTTPS));
    curl->easy_setopt(c->handle, OPT_HTTP_VERSION, (long)HTTP_VERSION_1_1);
    curl->easy_setopt(c->handle, OPT_PATH_AS_IS, 1L);
    curl->easy_setopt(c->handle, OPT_TCP_KEEPALIVE, 1L);
}

/* What libcurl would add automatically is left out: "Expect" makes it wait for a "100 Continue",
 * and a form's type is not what a body without one has. */
static struct curl_list *http_exchange_headers(const struct curl *curl,
                                               const struct http_request *q)
{
    struct curl_list *list = curl->slist_append(NULL, "Expect:");
    bool typed = false;
    for (size_t i = 0; i < q->n_headers; i++) {
        list = curl->slist_append(list, q->headers[i]);
        typed |= strncasecmp(q->headers[i], "Content-Type:", 13) == 0;
    }
    return typed ? list : curl->slist_append(list, "Content-Type:");
}

int http_client_send(struct http_client *c, const struct http_request *q, struct http_response *r,
                     struct err *e)
{
    const struct curl *curl = &c->curl;
    char why[CURL_MESSAGE_LEN] = "";
    long status = 0;
    struct http_exchange x = {c, q, r, q->body_most ? q->body_most : HTTP_BODY_MOST, 0, e};
    /* For libcurl an answer that is not HTTP is an unsupported protocol as well; that may pass. */
    if (!text_starts(q->url, "http://") && !text_starts(q->url, "https://"))
        return err_set(e, ERR_USAGE, "the address is neither http:// nor https://");
    r->headers.len = r->body.len = r->body_bytes = 0;
    r->status = 0;
    curl->easy_reset(c->handle); /* its connection stays */
    curl_set_common(curl, c->handle, q->url, c->ca, why);
    TRY(http_exchange_set_tls(c, e));
    http_exchange_set_limits(c, q);
    http_exchange_set_method(c, q);
    struct curl_list *headers = http_exchange_headers(curl, q);
    curl->easy_setopt(c->handle, OPT_HTTPHEADER, headers);
    curl->easy_setopt(c->handle, OPT_HEADERFUNCTION, http_exchange_header);
    curl->easy_setopt(c->handle, OPT_HEADERDATA, &x);
    curl->easy_setopt(c->handle, OPT_WRITEFUNCTION, http_exchange_body);
    curl->easy_setopt(c->handle, OPT_WRITEDATA, &x);
    const int code = curl->easy_perform(c->handle);
    curl->easy_getinfo(c->handle, INFO_RESPONSE_CODE, &status);
    curl->easy_setopt(c->handle, OPT_HTTPHEADER, NULL);
    curl->easy_setopt(c->handle, OPT_ERRORBUFFER, NULL); /* it ends with this function */
    curl->slist_free_all(headers);
    if (x.rc)
        return x.rc;
    if (code)
        return curl_failed(curl, c->handle, code, why, e);
    r->status = (int)status;
    return 0;
}
