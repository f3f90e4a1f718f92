/* SPDX-License-Identifier: Apache-2.0 */
/* s3_send.c - one call to S3: address, signature, attempts, and what to do about each failure. */
#include <errno.h>
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
    WAIT_MS = 50,
    WAIT_BUSY_MS = 1000,
    WAIT_MOST_MS = 20000,
    URL_HEADERS_MOST = 16,
    MESSAGE_MOST = 160,
};

/* ==== what a failure means ==== */

enum s3_cure {
    CURE_NONE,        /* the set-up is wrong */
    CURE_DENIED,      /* the same: keys or rights */
    CURE_MISSING,     /* no such key */
    CURE_LOST,        /* a condition does not hold */
    CURE_RETRY,       /* transient */
    CURE_RETRY_BUSY,  /* transient, and the server is busy */
    CURE_RETRY_FRESH, /* the body was cut: with a new connection */
    CURE_CLOCK,       /* once each: */
    CURE_KEYS,
    CURE_REGION,
    CURE_CHECKSUM,
};

/* The first that fits. Status 0: any, code NULL: any. */
static const struct {
    int status;
    const char *code;
    enum s3_cure cure;
} cures[] = {
    {0, "SlowDown", CURE_RETRY_BUSY},
    {0, "RequestTimeTooSkewed", CURE_CLOCK},
    {0, "ExpiredToken", CURE_KEYS},
    {0, "InvalidToken", CURE_KEYS},
    {0, "TokenRefreshRequired", CURE_KEYS},
    {0, "PermanentRedirect", CURE_REGION},
    {0, "TemporaryRedirect", CURE_REGION},
    {0, "AuthorizationHeaderMalformed", CURE_REGION},
    {0, "RequestTimeout", CURE_RETRY_FRESH},
    {0, "BadDigest", CURE_RETRY_FRESH},
    {0, "XAmzContentSHA256Mismatch", CURE_RETRY_FRESH},
    {0, "IncompleteBody", CURE_RETRY_FRESH},
    {0, "NoSuchBucket", CURE_NONE},
    {0, "InternalError", CURE_RETRY},
    {0, "OperationAborted", CURE_RETRY},
    {301, NULL, CURE_REGION},
    {307, NULL, CURE_REGION},
    {400, "InvalidRequest", CURE_CHECKSUM},
    {401, NULL, CURE_DENIED},
    {403, NULL, CURE_DENIED},
    {404, NULL, CURE_MISSING},
    {408, NULL, CURE_RETRY_FRESH},
    {409, NULL, CURE_RETRY}, /* ConditionalRequestConflict */
    {412, NULL, CURE_LOST},
    {429, NULL, CURE_RETRY_BUSY},
    {500, NULL, CURE_RETRY},
    {502, NULL, CURE_RETRY},
    {503, NULL, CURE_RETRY_BUSY},
    {504, NULL, CURE_RETRY},
    {509, NULL, CURE_RETRY_BUSY},
};

struct s3_failure {
    int status;
    char *code, *message; /* NULL: the answer has no body */
};

static enum s3_cure s3_cure_of(const struct s3_failure *f)
{
    for (size_t i = 0; i < COUNT_OF(cures); i++)
        if ((!cures[i].status || cures[i].status == f->status) &&
            (!cures[i].code || (f->code && strcmp(cures[i].code, f->code) == 0)))
            return cures[i].cure;
    return CURE_NONE;
}

const char *s3_header(const struct s3 *s, const char *name)
{
    const char *value = http_response_header(&s->r, name);
    return value ? value : "";
}

static int64_t s3_http_date(const char *text)
{
    struct tm tm = {0};
    return strptime(text, "%a, %d %b %Y %H:%M:%S", &tm) ? (int64_t)timegm(&tm) : 0;
}

/* An answer with status 200 may still be an <Error>, after white space that was sent to keep it
 * alive. */
static bool s3_is_error(const struct s3 *s)
{
    struct xml x = xml_of(s->r.body.p, s->r.body.len);
    const char *type = s3_header(s, "Content-Type");
    return s->r.status == 200 && s->r.body.len && s->r.body.len < HTTP_HEADERS_MOST &&
           strstr(type, "xml") && xml_next(&x) && xml_is(&x, "Error");
}

static void s3_failure_read(const struct s3 *s, struct s3_failure *f)
{
    const struct buf *b = &s->r.body;
    *f = (struct s3_failure){.status = s->r.status == 200 ? 500 : s->r.status};
    f->code = xml_find(b->p, b->len, "Code");
    f->message = xml_find(b->p, b->len, "Message");
    for (char *p = f->message; p && *p; p++)
        if ((unsigned char)*p < ' ' || *p == 127)
            *p = ' ';
}

static void s3_failure_free(struct s3_failure *f)
{
    free(f->code);
    free(f->message);
}

/* The sentence for the user. The address is not in it, so that no signed one ever is. */
static int s3_failure_error(const struct s3 *s, const struct s3_call *c, const struct s3_failure *f,
                            enum s3_cure cure, struct err *e)
{
    static const struct {
        enum err_code code;
        int sys;
    } codes[] = {
        [CURE_NONE] = {ERR_USAGE, 0},
        [CURE_DENIED] = {ERR_SYS, EACCES},
        [CURE_MISSING] = {ERR_SYS, ENOENT},
        [CURE_LOST] = {ERR_BUSY, 0},
        [CURE_RETRY] = {ERR_NOT_FOUND, 0},
        [CURE_RETRY_BUSY] = {ERR_NOT_FOUND, 0},
        [CURE_CLOCK] = {ERR_USAGE, 0},
        [CURE_KEYS] = {ERR_SYS, EACCES},
        [CURE_REGION] = {ERR_USAGE, 0},
        [CURE_CHECKSUM] = {ERR_USAGE, 0},
        [CURE_RETRY_FRESH] = {ERR_NOT_FOUND, 0},
    };
    const char *request = s3_header(s, "x-amz-request-id");
    err_set(e, codes[cure].code, "%s s3://%s/%.200s: status %d%s%.40s%s%.*s%s%.40s%s", c->method,
            s->bucket, c->key, f->status, f->code ? " " : "", f->code ? f->code : "",
            f->message ? ": " : "", MESSAGE_MOST, f->message ? f->message : "",
            *request ? " (request " : "", request, *request ? ")" : "");
    e->sys = codes[cure].sys;
    return e->code;
}

/* ==== cures ==== */

/* Hosts to which a redirect may lead: requests carry a token. */
static bool s3_is_aws_host(const char *host)
{
    return (text_ends(host, ".amazonaws.com") || text_ends(host, ".amazonaws.com.cn")) &&
           strcspn(host, "/@:?#") == strlen(host);
}

static bool s3_take_region(struct s3 *s)
{
    const char *header = s3_header(s, "x-amz-bucket-region");
    char *region = *header ? xstrdup(header) : xml_find(s->r.body.p, s->r.body.len, "Region");
    char *host = xml_find(s->r.body.p, s->r.body.len, "Endpoint");
    bool changed = false;
    if (region && *region && strlen(region) < sizeof s->region &&
        strspn(region, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(region) &&
        strcmp(region, s->region) != 0) {
        snprintf(s->region, sizeof s->region, "%s", region);
        changed = true;
    } else if (host && !s->endpoint && s3_is_aws_host(host) &&
               (!s->host || strcmp(s->host, host) != 0)) {
        s->host = arena_strdup(&s->arena, host);
        changed = true;
    }
    free(region);
    free(host);
    return changed;
}

static bool s3_take_clock(struct s3 *s)
{
    const int64_t now_s = clock_wall().ns / NS_PER_S, there_s = s->server_s;
    if (!there_s || s->skew_s == there_s - now_s)
        return false;
    s->skew_s = there_s - now_s;
    return true;
}

/* Whether another attempt makes sense. Each of these helps once. */
static bool s3_cure_once(struct s3 *s, enum s3_cure cure, const struct s3_failure *f,
                         unsigned *tried)
{
    if (*tried & 1u << cure)
        return false;
    *tried |= 1u << cure;
    switch (cure) {
    case CURE_CLOCK:
        return s3_take_clock(s);
    case CURE_KEYS:
        aws_credentials_free(&s->keys); /* and the next attempt looks them up again */
        return s->sign;
    case CURE_REGION:
        return s3_take_region(s);
    case CURE_CHECKSUM:
        if (s->send_checksum || !f->message ||
            !(strstr(f->message, "hecksum") || strstr(f->message, "Content-MD5")))
            return false;
        s->send_checksum = true;
        return true;
    default:
        return false;
    }
}

/* xorshift64*: delays of many nodes must differ, nothing more. */
static double s3_random(struct s3 *s)
{
    s->random ^= s->random >> 12;
    s->random ^= s->random << 25;
    s->random ^= s->random >> 27;
    return (double)(s->random * UINT64_C(0x2545f4914f6cdd1d) >> 11) / (double)(UINT64_C(1) << 53);
}

static void s3_wait(struct s3 *s, int attempt, bool busy)
{
    const int64_t base_ms = s->wait_ms ? s->wait_ms : busy ? WAIT_BUSY_MS : WAIT_MS;
    const int64_t most_ms = MIN_OF((int64_t)WAIT_MOST_MS, base_ms << MIN_OF(attempt, 10));
    const char *after = s3_header(s, "Retry-After");
    int64_t wait_ms = (int64_t)(s3_random(s) * (double)most_ms);
    if (busy && *after >= '0' && *after <= '9')
        wait_ms = MIN_OF(strtoll(after, NULL, 10) * 1000, (long long)WAIT_MOST_MS);
    const struct timespec t = {wait_ms / 1000, wait_ms % 1000 * NS_PER_MS};
    nanosleep(&t, NULL);
}

/* ==== one attempt ==== */

/* Scheme and host; the path after them. With a bucket whose name has dots or capitals the
 * certificate of AWS does not fit its host. */
static void s3_address(const struct s3 *s, const char *key, struct buf *base, struct buf *path)
{
    const char *cn = text_starts(s->region, "cn-") ? ".cn" : "";
    bool in_host = !s->endpoint && !strchr(s->bucket, '.');
    for (const char *p = s->bucket; *p; p++)
        in_host &= !(*p >= 'A' && *p <= 'Z') && *p != '_';
    if (s->endpoint)
        buf_printf(base, "%s", s->endpoint);
    else if (s->host)
        buf_printf(base, "https://%s", s->host);
    else if (in_host)
        buf_printf(base, "https://%s.s3.%s.amazonaws.com%s", s->bucket, s->region, cn);
    else
        buf_printf(base, "https://s3.%s.amazonaws.com%s", s->region, cn);
    const bool named = in_host && (!s->host || text_starts(s->host, s->bucket));
    if (named)
        buf_u8(path, '/');
    else
        buf_printf(path, "/%s%s", s->bucket, *key ? "/" : "");
    buf_printf(path, "%s", key);
    buf_u8(base, 0);
    buf_u8(path, 0);
}

static int s3_need_keys(struct s3 *s, struct err *e)
{
    if (!s->sign)
        return 0;
    if (s->keys.id && !aws_credentials_stale(&s->keys, clock_wall().ns / NS_PER_S))
        return 0;
    struct aws_credentials fresh;
    const int rc = aws_credentials_find(&fresh, e);
    if (rc && s->keys.id && s->keys.expires_s > clock_wall().ns / NS_PER_S)
        return 0; /* they are still valid */
    if (rc)       /* where there were keys, there will be some again */
        return e->code = s->had_keys ? ERR_NOT_FOUND : rc;
    aws_credentials_free(&s->keys);
    s->keys = fresh;
    s->had_keys = true;
    return 0;
}

struct s3_headers {
    struct sigv4_pair pairs[URL_HEADERS_MOST];
    size_t n;
    char hash[SHA256_HEX], date[17], checksum[64];
};

static void s3_headers_add(struct s3_headers *h, const char *name, const char *value)
{
    if (h->n < COUNT_OF(h->pairs))
        h->pairs[h->n++] = (struct sigv4_pair){name, value};
}

/* The hash of the body again, in the form that a bucket with Object Lock wants. */
static void s3_headers_add_checksum(struct s3_headers *h, const struct s3_call *c)
{
    struct sha256 sum;
    uint8_t bytes[SHA256_LEN];
    struct buf text = {0};
    sha256_begin(&sum);
    sha256_add(&sum, c->body, c->body_len);
    sha256_end(&sum, bytes);
    buf_base64(&text, bytes, sizeof bytes);
    snprintf(h->checksum, sizeof h->checksum, "%.*s", (int)text.len, (const char *)text.p);
    buf_free(&text);
    s3_headers_add(h, "x-amz-checksum-sha256", h->checksum);
}

static void s3_headers_fill(const struct s3 *s, const struct s3_call *c, const char *host,
                            int64_t now_s, struct s3_headers *h)
{
    sha256_hex(c->body, c->body_len, h->hash);
    sigv4_date(h->date, now_s);
    s3_headers_add(h, "host", host);
    s3_headers_add(h, "x-amz-content-sha256", h->hash);
    s3_headers_add(h, "x-amz-date", h->date);
    if (s->sign && s->keys.token)
        s3_headers_add(h, "x-amz-security-token", s->keys.token);
    for (size_t i = 0; i < c->n_headers; i++)
        s3_headers_add(h, c->headers[i].name, c->headers[i].value);
    if (s->send_checksum && c->body && strcmp(c->method, "PUT") == 0)
        s3_headers_add_checksum(h, c);
}

/* The lines for the client, after the signature over the very same values. */
static size_t s3_header_lines(const struct s3 *s, const struct sigv4_request *signing,
                              struct arena *a, const char **lines)
{
    size_t n = 0;
    for (size_t i = 0; i < signing->n_headers; i++)
        lines[n++] = arena_printf(a, "%s: %s", signing->headers[i].name, signing->headers[i].value);
    if (s->sign) {
        const struct sigv4_signer signer = {s->keys.id, s->keys.secret, s->region, "s3"};
        struct buf b = {0};
        sigv4_authorization(&b, signing, &signer);
        lines[n++] = arena_printf(a, "Authorization: %.*s", (int)b.len, (const char *)b.p);
        buf_free(&b);
    }
    return n;
}

static int s3_attempt(struct s3 *s, const struct s3_call *c, struct err *e)
{
    struct arena a = {0};
    struct buf base = {0}, path = {0}, url = {0};
    struct s3_headers h = {0};
    const char *lines[URL_HEADERS_MOST + 1];
    const int64_t now_s = clock_wall().ns / NS_PER_S + s->skew_s;
    s3_address(s, c->key, &base, &path);
    s3_headers_fill(s, c, strstr((const char *)base.p, "://") + 3, now_s, &h);
    buf_printf(&url, "%s", (const char *)base.p);
    sigv4_encode(&url, (const char *)path.p, true);
    if (c->n_query)
        buf_u8(&url, '?');
    sigv4_query(&url, c->query, c->n_query);
    buf_u8(&url, 0);
    const struct sigv4_request signing = {
        .method = c->method,
        .path = (const char *)path.p,
        .query = c->query,
        .n_query = c->n_query,
        .headers = h.pairs,
        .n_headers = h.n,
        .payload_hash = h.hash,
        .time_s = now_s,
    };
    const struct http_request q = {
        .method = c->method,
        .url = (const char *)url.p,
        .headers = lines,
        .n_headers = s3_header_lines(s, &signing, &a, lines),
        .body = c->body,
        .body_len = c->body_len,
        .body_most = c->most,
    };
    const int rc = http_client_send(s->http, &q, &s->r, e);
    s->counts.bytes_in += s->r.body_bytes;
    s->counts.bytes_out += c->body_len;
    buf_free(&base);
    buf_free(&path);
    buf_free(&url);
    arena_free(&a);
    return rc ? err_in(e, "%s s3://%s/%.200s", c->method, s->bucket, c->key) : 0;
}

static void s3_count(struct s3 *s, const struct s3_call *c)
{
    const bool list = !*c->key && strcmp(c->method, "GET") == 0;
    uint64_t *which = list                               ? &s->counts.lists
                      : strcmp(c->method, "DELETE") == 0 ? &s->counts.deletes
                      : c->method[0] == 'P'              ? &s->counts.puts
                                                         : &s->counts.gets;
    ++*which;
}

static int s3_fresh_connection(struct s3 *s, struct err *e)
{
    struct http_client *http;
    TRY(http_client_open(&http, &(struct http_client_config){.ca = s->ca}, e));
    http_client_close(s->http);
    s->http = http;
    return 0;
}

static bool s3_is_fine(const struct s3 *s)
{
    const int status = s->r.status;
    return ((status >= 200 && status < 300) || status == 304 || status == 416) && !s3_is_error(s);
}

/* The server has answered with a failure. *again: after what was done, try again. */
static int s3_answered(struct s3 *s, const struct s3_call *c, int attempt, unsigned *tried,
                       bool *again, struct err *e)
{
    struct s3_failure f;
    s3_failure_read(s, &f);
    enum s3_cure cure = s3_cure_of(&f);
    const char *region = s3_header(s, "x-amz-bucket-region");
    if (*region && strcmp(region, s->region) != 0 && (f.status == 400 || f.status == 403))
        cure = CURE_REGION; /* an answer to HEAD has no body */
    const bool passing = cure >= CURE_RETRY && cure <= CURE_RETRY_FRESH;
    int rc = s3_failure_error(s, c, &f, cure, e);
    *again = passing ? attempt + 1 < s->attempts : s3_cure_once(s, cure, &f, tried);
    s3_failure_free(&f);
    if (*again && passing)
        s3_wait(s, attempt, cure == CURE_RETRY_BUSY);
    if (*again && cure == CURE_RETRY_FRESH && s3_fresh_connection(s, e))
        *again = false;
    return rc;
}

int s3_send(struct s3 *s, const struct s3_call *c, struct err *e)
{
    unsigned tried = 0;
    bool again = true;
    int rc = 0;
    for (int attempt = 0; again; attempt++) {
        TRY(s3_need_keys(s, e));
        s3_count(s, c);
        s->counts.retries += attempt > 0;
        rc = s3_attempt(s, c, e);
        if (rc) {
            again = rc == ERR_NOT_FOUND && attempt + 1 < s->attempts;
            if (again)
                s3_wait(s, attempt, false);
            continue;
        }
        s->server_s = s3_http_date(s3_header(s, "Date"));
        if (s3_is_fine(s))
            return 0;
        rc = s3_answered(s, c, attempt, &tried, &again, e);
    }
    return rc;
}
