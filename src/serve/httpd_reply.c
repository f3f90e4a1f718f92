/* SPDX-License-Identifier: Apache-2.0 */
/* httpd_reply.c - answers and the headers that all of them carry. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "serve/httpd_internal.h"

enum { STREAM_BLOCK = 4096 };

/* Nothing of ours may be framed, guessed at, or told to others; the page may load what it says. */
static const char *const always[][2] = {
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"X-Frame-Options", "DENY"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
};
static const char no_loading[] =
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static void httpd_reply_put(struct MHD_Response *m, const char *name, const char *value)
{
    if (value)
        (void)MHD_add_response_header(m, name, value);
}

static void put_common(struct MHD_Response *m, const char *csp, const char *cache, const char *etag)
{
    for (size_t i = 0; i < COUNT_OF(always); i++)
        httpd_reply_put(m, always[i][0], always[i][1]);
    httpd_reply_put(m, "Content-Security-Policy", csp ? csp : no_loading);
    httpd_reply_put(m, "Cache-Control", cache ? cache : "no-store");
    httpd_reply_put(m, "ETag", etag);
}

/* A name that a header can carry: anything else in it becomes '-'. */
static void put_file_name(struct MHD_Response *m, const char *name)
{
    char text[300];
    if (!name)
        return;
    const int n = snprintf(text, sizeof text, "attachment; filename=\"%.255s\"", name);
    for (int i = (int)strlen("attachment; filename=\""); i < n - 1; i++)
        if (!strchr("._-~@", text[i]) && !(text[i] >= '0' && text[i] <= '9') &&
            !((text[i] | 32) >= 'a' && (text[i] | 32) <= 'z'))
            text[i] = '-';
    httpd_reply_put(m, "Content-Disposition", text);
}

static struct reply *httpd_reply_finish(struct MHD_Response *m, const struct reply_head *h,
                                        size_t bytes)
{
    if (!m) /* libmicrohttpd has no memory: nor have we */
        abort();
    struct reply *r = xcalloc(1, sizeof *r);
    *r = (struct reply){.response = m, .status = h->status, .bytes = bytes};
    atomic_store(&r->refs, 1);
    if (h->etag)
        snprintf(r->etag, sizeof r->etag, "%s", h->etag);
    put_common(m, h->script, h->cache, h->etag);
    httpd_reply_put(m, "Content-Type", h->type);
    httpd_reply_put(m, "Content-Encoding", h->encoding);
    httpd_reply_put(m, "Vary", h->etag ? "Accept-Encoding" : NULL);
    httpd_reply_put(m, "Set-Cookie", h->cookie);
    httpd_reply_put(m, "Location", h->location);
    put_file_name(m, h->file_name);
    if (h->retry_after_s > 0) {
        char text[16];
        snprintf(text, sizeof text, "%d", h->retry_after_s);
        httpd_reply_put(m, "Retry-After", text);
    }
    return r;
}

struct reply *reply_make(const struct reply_head *h, struct buf *body)
{
    const size_t n = body->len;
    struct MHD_Response *m = MHD_create_response_from_buffer(
        n, body->p, n ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (!n)
        buf_free(body);
    *body = (struct buf){0};
    return httpd_reply_finish(m, h, n);
}

struct reply *reply_fixed(const struct reply_head *h, const void *p, size_t n)
{
    return httpd_reply_finish(
        MHD_create_response_from_buffer(n, (void *)(uintptr_t)p, MHD_RESPMEM_PERSISTENT), h, n);
}

/* ---- streams ---- */

static ssize_t httpd_reply_read_source(void *cls, uint64_t at, char *out, size_t most)
{
    struct reply_source *s = cls;
    (void)at;
    const ssize_t n = s->read(s->ctx, out, most);
    return n < 0 ? MHD_CONTENT_READER_END_OF_STREAM : n;
}

static void free_source(void *cls)
{
    struct reply_source *s = cls;
    s->done(s->ctx);
    free(s);
}

struct reply *reply_stream(const struct reply_head *h, const struct reply_source *s)
{
    struct reply_source *own = xmalloc(sizeof *own);
    *own = *s;
    struct reply *r = httpd_reply_finish(
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, httpd_reply_read_source,
                                          own, free_source),
        h, 0);
    r->stream = true;
    return r;
}

struct MHD_Response *reply_not_modified(const struct reply *r)
{
    struct MHD_Response *m = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    if (!m)
        abort();
    /* A browser takes these over in place of those that it kept. */
    put_common(m, MHD_get_response_header(r->response, "Content-Security-Policy"),
               MHD_get_response_header(r->response, "Cache-Control"), r->etag);
    httpd_reply_put(m, "Vary", "Accept-Encoding");
    return m;
}

struct reply *reply_ref(struct reply *r)
{
    atomic_fetch_add(&r->refs, 1);
    return r;
}

void reply_free(struct reply *r)
{
    if (!r || atomic_fetch_sub(&r->refs, 1) != 1)
        return;
    MHD_destroy_response(r->response);
    free(r);
}

size_t reply_bytes(const struct reply *r)
{
    return r->bytes;
}

int reply_status(const struct reply *r)
{
    return r->status;
}
