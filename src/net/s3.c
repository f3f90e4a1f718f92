/* SPDX-License-Identifier: Apache-2.0 */
/* s3.c - see s3.h. */
#include "net/s3.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "net/s3_internal.h"
#include "net/xml.h"

enum {
    S3_ATTEMPTS = 5,
    S3_PART = 16 << 20,
    S3_SINGLE_MOST = 64 << 20,
    S3_PARTS_MOST = 10000,
    S3_ANSWER_MOST = 16 << 20, /* of a list */
    S3_ERROR_MOST = 64 << 10,
    S3_PAGES_MOST = 100000,
};

bool s3_is_bucket(const char *name)
{
    const size_t n = strlen(name);
    return n >= 3 && n <= 63 &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == n &&
           name[0] != '.' && name[0] != '-' && !strstr(name, "..");
}

static int s3_check_endpoint(const char *endpoint, struct err *e)
{
    const char *host = strstr(endpoint, "://");
    if ((text_starts(endpoint, "http://") || text_starts(endpoint, "https://")) && host[3] &&
        !strpbrk(host + 3, "/@?#"))
        return 0;
    return err_set(e, ERR_USAGE,
                   "the endpoint of S3 must be http://HOST[:PORT] or https://HOST[:PORT]");
}

static int s3_set_up(struct s3 *s, const struct s3_config *config, struct err *e)
{
    struct aws_settings settings;
    const char *no_sign = getenv("FOOTPLATE_S3_NO_SIGN");
    aws_settings_find(&settings, &s->arena);
    s->bucket = arena_strdup(&s->arena, config->bucket);
    snprintf(s->region, sizeof s->region, "%s", settings.region ? settings.region : "us-east-1");
    if (settings.endpoint) {
        const size_t n = strlen(settings.endpoint);
        s->endpoint =
            arena_strndup(&s->arena, settings.endpoint, n - text_ends(settings.endpoint, "/"));
        TRY(s3_check_endpoint(s->endpoint, e));
    }
    s->ca = settings.ca;
    s->sign = !no_sign || !*no_sign || strcmp(no_sign, "0") == 0;
    s->attempts = config->attempts ? config->attempts : S3_ATTEMPTS;
    s->wait_ms = config->wait_ms;
    s->part_bytes = config->part_bytes;
    s->random = (uint64_t)clock_mono().ns ^ (uint64_t)(uintptr_t)s ^ 1;
    return http_client_open(&s->http, &(struct http_client_config){.ca = s->ca}, e);
}

int s3_open(struct s3 **out, const struct s3_config *config, struct err *e)
{
    if (!s3_is_bucket(config->bucket))
        return err_set(e, ERR_USAGE, "'%.80s' is not the name of a bucket", config->bucket);
    struct s3 *s = xcalloc(1, sizeof *s);
    const int rc = s3_set_up(s, config, e);
    if (rc)
        s3_close(s);
    else
        *out = s;
    return rc;
}

void s3_close(struct s3 *s)
{
    if (!s)
        return;
    http_client_close(s->http);
    http_response_free(&s->r);
    aws_credentials_free(&s->keys);
    arena_free(&s->arena);
    free(s);
}

int64_t s3_server_time(const struct s3 *s)
{
    return s->server_s;
}

const struct s3_counts *s3_counts(const struct s3 *s)
{
    return &s->counts;
}

const char *s3_endpoint(const struct s3 *s)
{
    return s->endpoint ? s->endpoint : "";
}

/* ==== reading ==== */

static void s3_call_query(struct s3_call *c, const char *name, const char *value)
{
    c->query[c->n_query++] = (struct sigv4_pair){name, value};
}

static void s3_call_header(struct s3_call *c, const char *name, const char *value)
{
    c->headers[c->n_headers++] = (struct sigv4_pair){name, value};
}

/* Size of the whole object: after the '/' of Content-Range, or Content-Length. */
static uint64_t s3_whole_bytes(const struct s3 *s)
{
    const char *range = strchr(s3_header(s, "Content-Range"), '/');
    return strtoull(range ? range + 1 : s3_header(s, "Content-Length"), NULL, 10);
}

static void s3_object_of_answer(const struct s3 *s, const char *key, struct s3_object *out)
{
    struct tm tm = {0};
    const char *changed = s3_header(s, "Last-Modified");
    *out = (struct s3_object){.key = key, .bytes = s3_whole_bytes(s)};
    if (strptime(changed, "%a, %d %b %Y %H:%M:%S", &tm))
        out->changed_s = (int64_t)timegm(&tm);
    snprintf(out->etag, sizeof out->etag, "%s", s3_header(s, "ETag"));
}

int s3_get(struct s3 *s, const struct s3_get *q, struct s3_got *out, struct err *e)
{
    /* A failure has a body, too. */
    struct s3_call c = {
        .method = "GET", .key = q->key, .most = MAX_OF(q->most, (size_t)S3_ERROR_MOST)};
    char range[64];
    if (q->from < 0)
        snprintf(range, sizeof range, "bytes=%" PRId64, q->from);
    else if (q->len)
        snprintf(range, sizeof range, "bytes=%" PRId64 "-%" PRIu64, q->from,
                 (uint64_t)q->from + q->len - 1);
    else
        snprintf(range, sizeof range, "bytes=%" PRId64 "-", q->from);
    if (q->from || q->len)
        s3_call_header(&c, "range", range);
    if (q->if_match)
        s3_call_header(&c, "if-match", q->if_match);
    if (q->if_none_match)
        s3_call_header(&c, "if-none-match", q->if_none_match);
    TRY(s3_send(s, &c, e));
    *out = (struct s3_got){.unchanged = s->r.status == 304};
    s3_object_of_answer(s, q->key, &out->object);
    if (s->r.status == 416) { /* nothing is there: the object is shorter */
        s->r.body.len = 0;
        return 0;
    }
    if (s->r.status == 200 && (q->from || q->len) && out->object.bytes != s->r.body.len)
        return err_set(e, ERR_FORMAT, "s3://%s/%.200s: the server cannot read ranges", s->bucket,
                       q->key);
    if (s->r.body.len > q->most)
        return err_set(e, ERR_LIMIT, "s3://%s/%.200s has more than %zu bytes", s->bucket, q->key,
                       q->most);
    out->body = s->r.body;
    s->r.body = (struct buf){0};
    return 0;
}

int s3_head(struct s3 *s, const char *key, struct s3_object *out, struct err *e)
{
    const struct s3_call c = {.method = "HEAD", .key = key};
    TRY(s3_send(s, &c, e));
    s3_object_of_answer(s, key, out);
    return 0;
}

/* ==== writing ==== */

int s3_delete(struct s3 *s, const char *key, struct err *e)
{
    const struct s3_call c = {.method = "DELETE", .key = key};
    const int rc = s3_send(s, &c, e);
    return err_no_file(rc, e) ? 0 : rc;
}

static int s3_put_plain(struct s3 *s, const char *key, const void *p, size_t n, bool absent,
                        struct err *e)
{
    struct s3_call c = {.method = "PUT", .key = key, .body = p ? p : "", .body_len = n};
    if (absent)
        s3_call_header(&c, "if-none-match", "*");
    return s3_send(s, &c, e);
}

/* Without conditional writes: a client that reads its own bytes afterwards was the last writer.
 * Two that write the same bytes both succeed, which is right for them. It looks with GET and not
 * with HEAD, whose failures have no body that gives the reason. */
static int s3_put_checked(struct s3 *s, const char *key, const void *p, size_t n, struct err *e)
{
    struct s3_got got;
    const int rc = s3_get(s, &(struct s3_get){.key = key, .len = 1, .most = 1}, &got, e);
    if (rc == 0)
        buf_free(&got.body);
    if (rc == 0)
        return err_set(e, ERR_BUSY, "s3://%s/%.200s exists already", s->bucket, key);
    if (rc != ERR_SYS || e->sys != ENOENT)
        return rc;
    TRY(s3_put_plain(s, key, p, n, false, e));
    TRY(s3_get(s, &(struct s3_get){.key = key, .most = n + 1}, &got, e));
    const bool mine = got.body.len == n && (n == 0 || memcmp(got.body.p, p, n) == 0);
    buf_free(&got.body);
    return mine ? 0 : err_set(e, ERR_BUSY, "s3://%s/%.200s exists already", s->bucket, key);
}

/* ---- in parts ---- */

struct s3_upload {
    const char *key, *id;
    struct buf parts; /* of the request that completes it */
};

/* What an object is to have: bytes that are there, or that a function copies. */
struct s3_content {
    const uint8_t *p; /* NULL: from `bytes` */
    s3_bytes *bytes;
    void *ctx;
    size_t n;
};

static int s3_put_part(struct s3 *s, struct s3_upload *u, unsigned number, const void *p, size_t n,
                       struct err *e)
{
    struct s3_call c = {.method = "PUT", .key = u->key, .body = p, .body_len = n};
    char text[16];
    snprintf(text, sizeof text, "%u", number);
    s3_call_query(&c, "partNumber", text);
    s3_call_query(&c, "uploadId", u->id);
    TRY(s3_send(s, &c, e));
    buf_printf(&u->parts, "<Part><PartNumber>%u</PartNumber><ETag>%s</ETag></Part>", number,
               s3_header(s, "ETag"));
    return 0;
}

static int s3_complete(struct s3 *s, struct s3_upload *u, bool absent, struct err *e)
{
    struct s3_call c = {.method = "POST", .key = u->key};
    buf_printf(&u->parts, "</CompleteMultipartUpload>");
    c.body = u->parts.p;
    c.body_len = u->parts.len;
    s3_call_query(&c, "uploadId", u->id);
    if (absent)
        s3_call_header(&c, "if-none-match", "*");
    return s3_send(s, &c, e);
}

static void s3_abort(struct s3 *s, const struct s3_upload *u)
{
    struct s3_call c = {.method = "DELETE", .key = u->key};
    struct err ignored; /* the bucket's lifecycle removes it then */
    s3_call_query(&c, "uploadId", u->id);
    (void)!s3_send(s, &c, &ignored);
}

static int s3_put_all(struct s3 *s, struct s3_upload *u, const struct s3_content *c, size_t part,
                      struct err *e)
{
    uint8_t *p = c->p ? NULL : xmalloc(MIN_OF(part, c->n));
    unsigned number = 1;
    int rc = 0;
    for (size_t at = 0; at < c->n && rc == 0; at += part) {
        const size_t n = MIN_OF(part, c->n - at);
        rc = p ? c->bytes(c->ctx, at, n, p, e) : 0;
        if (rc == 0)
            rc = s3_put_part(s, u, number++, p ? p : c->p + at, n, e);
    }
    free(p);
    return rc ? rc : s3_complete(s, u, false, e);
}

static int s3_put_parts(struct s3 *s, const char *key, const struct s3_content *c, size_t part,
                        struct err *e)
{
    struct s3_call begin = {.method = "POST", .key = key, .body = "", .body_len = 0};
    struct s3_upload u = {.key = key};
    s3_call_query(&begin, "uploads", "");
    TRY(s3_send(s, &begin, e));
    char *id = xml_find(s->r.body.p, s->r.body.len, "UploadId");
    if (!id)
        return err_set(e, ERR_FORMAT, "s3://%s/%.200s: no id for an upload", s->bucket, key);
    u.id = id;
    buf_printf(&u.parts, "<CompleteMultipartUpload>");
    const int rc = s3_put_all(s, &u, c, part, e);
    if (rc) {
        struct err first = *e;
        s3_abort(s, &u);
        *e = first;
    }
    buf_free(&u.parts);
    free(id);
    return rc;
}

/* A file that is put in one request. */
static int s3_put_copy(struct s3 *s, const char *key, const struct s3_content *c, struct err *e)
{
    uint8_t *p = xmalloc(c->n + 1);
    int rc = c->bytes(c->ctx, 0, c->n, p, e);
    if (rc == 0)
        rc = s3_put_plain(s, key, p, c->n, false, e);
    free(p);
    return rc;
}

static int s3_put_content(struct s3 *s, const char *key, const struct s3_content *c, struct err *e)
{
    if (c->n <= (s->part_bytes ? s->part_bytes : S3_SINGLE_MOST))
        return c->p ? s3_put_plain(s, key, c->p, c->n, false, e) : s3_put_copy(s, key, c, e);
    const size_t part = s->part_bytes ? s->part_bytes : S3_PART;
    return s3_put_parts(s, key, c, MAX_OF(part, c->n / (S3_PARTS_MOST - 1) + 1), e);
}

int s3_put_from(struct s3 *s, const char *key, s3_bytes *bytes, void *ctx, size_t n, struct err *e)
{
    return s3_put_content(s, key, &(struct s3_content){NULL, bytes, ctx, n}, e);
}

int s3_put(struct s3 *s, const char *key, const void *p, size_t n, bool absent, struct err *e)
{
    if (absent) { /* small files only: run.json and node.json */
        const int rc = s->no_conditions ? 0 : s3_put_plain(s, key, p, n, true, e);
        if (s->no_conditions || (rc && s->r.status == 501)) {
            s->no_conditions = true;
            return s3_put_checked(s, key, p, n, e);
        }
        return rc;
    }
    return s3_put_content(s, key, &(struct s3_content){.p = p, .n = n}, e);
}

/* ==== listing ==== */

/* Keys come URL-encoded, because some bytes cannot be in XML. */
static void s3_decode(struct buf *b)
{
    size_t to = 0;
    for (size_t i = 0; i < b->len; i++) {
        char hex[3] = "", *end;
        uint8_t c = b->p[i];
        if (c == '+') {
            c = ' ';
        } else if (c == '%' && i + 2 < b->len) {
            memcpy(hex, b->p + i + 1, 2);
            const unsigned long v = strtoul(hex, &end, 16);
            if (end == hex + 2) {
                c = (uint8_t)v;
                i += 2;
            }
        }
        b->p[to++] = c;
    }
    b->len = to;
    buf_u8(b, 0);
    b->len--;
}

struct s3_page {
    s3_visit *visit;
    void *ctx;
    struct buf key, text;
    struct s3_object object;
    bool in_contents, in_prefixes, have;
    bool truncated;
    char *token;
    size_t n; /* objects */
};

static int s3_page_give(struct s3_page *g, struct err *e)
{
    if (!g->have)
        return 0;
    g->have = false;
    g->n++;
    g->object.key = (const char *)g->key.p;
    return g->visit(g->ctx, &g->object, e);
}

/* One element of the answer; an object is complete when the next one begins. */
static int s3_page_element(struct s3_page *g, struct xml *x, struct err *e)
{
    if (x->depth == 2) {
        TRY(s3_page_give(g, e));
        g->in_contents = xml_is(x, "Contents");
        g->in_prefixes = xml_is(x, "CommonPrefixes");
        g->object = (struct s3_object){.is_prefix = g->in_prefixes};
        if (!g->in_contents && !g->in_prefixes)
            xml_text(x, &g->text);
        if (xml_is(x, "IsTruncated"))
            g->truncated = strcmp((const char *)g->text.p, "true") == 0;
        if (xml_is(x, "NextContinuationToken") && !g->token)
            g->token = xstrdup((const char *)g->text.p);
        return 0;
    }
    if (x->depth != 3 || (!g->in_contents && !g->in_prefixes))
        return 0;
    if (xml_is(x, g->in_prefixes ? "Prefix" : "Key")) {
        xml_text(x, &g->key);
        s3_decode(&g->key);
        g->have = true;
        return 0;
    }
    xml_text(x, &g->text);
    const char *text = (const char *)g->text.p;
    if (xml_is(x, "Size"))
        g->object.bytes = strtoull(text, NULL, 10);
    else if (xml_is(x, "LastModified"))
        g->object.changed_s = aws_time(text);
    else if (xml_is(x, "ETag"))
        snprintf(g->object.etag, sizeof g->object.etag, "%s", text);
    return 0;
}

static int s3_page_read(struct s3 *s, struct s3_page *g, struct err *e)
{
    /* The visitor may not use this client meanwhile, but the answer must outlive its own calls. */
    struct buf body = s->r.body;
    s->r.body = (struct buf){0};
    struct xml x = xml_of(body.p, body.len);
    int rc = 0;
    while (rc == 0 && xml_next(&x))
        rc = s3_page_element(g, &x, e);
    if (rc == 0)
        rc = s3_page_give(g, e);
    if (rc == 0 && x.bad)
        rc = err_set(e, ERR_FORMAT, "s3://%s: the list of keys cannot be read", s->bucket);
    buf_free(&body);
    return rc;
}

int s3_list(struct s3 *s, const struct s3_list *q, s3_visit *visit, void *ctx, struct err *e)
{
    char *token = NULL;
    bool more = false;
    int rc = 0;
    for (int page = 0; page < S3_PAGES_MOST; page++) {
        struct s3_call c = {.method = "GET", .key = "", .most = S3_ANSWER_MOST};
        struct s3_page g = {.visit = visit, .ctx = ctx};
        s3_call_query(&c, "list-type", "2");
        s3_call_query(&c, "encoding-type", "url");
        s3_call_query(&c, "prefix", q->prefix);
        if (q->delimiter)
            s3_call_query(&c, "delimiter", q->delimiter);
        if (q->start_after && !token)
            s3_call_query(&c, "start-after", q->start_after);
        if (token)
            s3_call_query(&c, "continuation-token", token);
        rc = s3_send(s, &c, e);
        if (rc == 0)
            rc = s3_page_read(s, &g, e);
        buf_free(&g.key);
        buf_free(&g.text);
        free(token);
        token = g.token;
        more = rc == 0 && g.truncated && token;
        if (!more || (q->more && g.n))
            break;
    }
    if (q->more)
        *q->more = more;
    free(token);
    if (err_no_file(rc, e)) /* of a list it is the bucket */
        e->code = rc = ERR_USAGE;
    return rc;
}
