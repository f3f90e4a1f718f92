/* SPDX-License-Identifier: Apache-2.0 */
/* test_http_client.c - requests through libcurl to a server of the test. */
#include <stdarg.h>

#include "base/mem.h"
#include "http_stub.h"
#include "net/curl.h"
#include "net/http_client.h"

/* An option that this libcurl does not know; 0: it knows all. */
static int unknown_option;
static int (*real_setopt)(void *h, int option, ...);

/* Arguments are pointers or as large as one. */
static int some_setopt(void *h, int option, ...)
{
    va_list ap;
    va_start(ap, option);
    void *value = va_arg(ap, void *);
    va_end(ap);
    return option == unknown_option ? 4 : real_setopt(h, option, value);
}

int __real_curl_begin(struct curl *c, void **h, struct err *e);
int __wrap_curl_begin(struct curl *c, void **h, struct err *e);
int __wrap_curl_begin(struct curl *c, void **h, struct err *e)
{
    const int rc = __real_curl_begin(c, h, e);
    if (rc == 0 && unknown_option) {
        real_setopt = c->easy_setopt;
        c->easy_setopt = some_setopt;
    }
    return rc;
}

struct seen {
    char head[4096];
    char body[64];
    size_t body_len;
    int answers;
    const char *raw; /* sent instead */
    bool last;
};

static bool answer(void *ctx, const struct http_stub_request *q, struct buf *out)
{
    struct seen *s = ctx;
    snprintf(s->head, sizeof s->head, "%s", q->head);
    s->body_len = q->body_len;
    memcpy(s->body, q->body, MIN_OF(q->body_len, sizeof s->body));
    s->answers++;
    if (s->raw)
        buf_put(out, s->raw, strlen(s->raw));
    else
        http_stub_put(out, 200, "ETag: \"abc\"\r\nX-Two:  a b \r\n", "hello");
    return !s->last;
}

struct bench {
    struct seen seen;
    struct http_stub stub;
    struct http_client *client;
    struct http_response r;
    struct err e;
};

static void bench_open(struct bench *b, const char *raw, bool last)
{
    struct err e;
    if (curl_is_there(&e) != 0)
        SKIP(e.msg);
    *b = (struct bench){.seen = {.raw = raw, .last = last}};
    http_stub_start(&b->stub, answer, &b->seen);
    OK(http_client_open(&b->client, &(struct http_client_config){0}, &e));
}

static void bench_close(struct bench *b)
{
    http_client_close(b->client);
    http_stub_stop(&b->stub);
    http_response_free(&b->r);
}

static int bench_send(struct bench *b, const char *path, struct http_request q)
{
    char *url = test_printf("%s%s", b->stub.url, path);
    q.url = url;
    const int rc = http_client_send(b->client, &q, &b->r, &b->e);
    free(url);
    return rc;
}

TEST(an_answer_has_status_headers_and_body)
{
    struct bench b;
    bench_open(&b, NULL, false);
    CHECK_INT(bench_send(&b, "/x", (struct http_request){.method = "GET"}), 0);
    CHECK_INT(b.r.status, 200);
    CHECK_STR(http_response_header(&b.r, "etag"), "\"abc\"");
    CHECK_STR(http_response_header(&b.r, "X-TWO"), "a b");
    CHECK(!http_response_header(&b.r, "X-Tw"));
    CHECK(b.r.body.len == 5 && memcmp(b.r.body.p, "hello", 5) == 0);
    bench_close(&b);
}

TEST(the_address_is_sent_byte_for_byte_and_nothing_is_added)
{
    struct bench b;
    const char *const headers[] = {"x-amz-date: now"};
    bench_open(&b, NULL, false);
    CHECK_INT(bench_send(&b, "/a/../b//c%24?x=%2F&y=",
                         (struct http_request){.method = "PUT",
                                               .headers = headers,
                                               .n_headers = 1,
                                               .body = "body",
                                               .body_len = 4}),
              0);
    CHECK(http_stub_starts(b.seen.head, "PUT /a/../b//c%24?x=%2F&y= HTTP/1.1\r\n"));
    CHECK(http_stub_starts(http_stub_header(b.seen.head, "X-Amz-Date"), "now\r\n"));
    CHECK(http_stub_starts(http_stub_header(b.seen.head, "Content-Length"), "4\r\n"));
    CHECK(!http_stub_header(b.seen.head, "Expect"));
    CHECK(!http_stub_header(b.seen.head, "Content-Type"));
    CHECK(b.seen.body_len == 4 && memcmp(b.seen.body, "body", 4) == 0);
    bench_close(&b);
}

TEST(a_put_without_bytes_has_the_length_0)
{
    struct bench b;
    bench_open(&b, NULL, false);
    CHECK_INT(bench_send(&b, "/x", (struct http_request){.method = "PUT"}), 0);
    CHECK(http_stub_starts(http_stub_header(b.seen.head, "Content-Length"), "0\r\n"));
    bench_close(&b);
}

TEST(requests_of_one_client_share_a_connection)
{
    struct bench b;
    static const char *const methods[] = {"GET", "PUT", "DELETE", "POST", "GET"};
    bench_open(&b, NULL, false);
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        CHECK_INT(bench_send(&b, "/x", (struct http_request){.method = methods[i]}), 0);
        CHECK(http_stub_starts(b.seen.head, methods[i]));
    }
    CHECK_INT(b.stub.connections, 1);
    bench_close(&b);
}

TEST(head_has_no_body)
{
    struct bench b;
    bench_open(&b, "HTTP/1.1 404 X\r\nContent-Length: 1000\r\n\r\n", false);
    CHECK_INT(bench_send(&b, "/x", (struct http_request){.method = "HEAD"}), 0);
    CHECK_INT(b.r.status, 404);
    CHECK_INT(b.r.body.len, 0);
    CHECK_STR(http_response_header(&b.r, "content-length"), "1000");
    bench_close(&b);
}

TEST(a_redirect_is_an_answer_and_is_not_followed)
{
    struct bench b;
    bench_open(&b, "HTTP/1.1 307 X\r\nLocation: /y\r\nContent-Length: 0\r\n\r\n", false);
    CHECK_INT(bench_send(&b, "/x", (struct http_request){.method = "GET"}), 0);
    CHECK_INT(b.r.status, 307);
    CHECK_INT(b.seen.answers, 1);
    bench_close(&b);
}

TEST(a_cut_body_is_an_error_and_not_a_short_answer)
{
    struct bench b;
    bench_open(&b, "HTTP/1.1 200 X\r\nContent-Length: 100\r\n\r\nabc", true);
    CHECK_INT(bench_send(&b, "/x", (struct http_request){.method = "GET"}), ERR_NOT_FOUND);
    CHECK_INT(b.r.status, 0);
    bench_close(&b);
}

TEST(an_answer_that_is_not_http_may_pass)
{
    struct bench b;
    bench_open(&b, "stray bytes\r\n\r\n", true);
    CHECK_INT(bench_send(&b, "/x", (struct http_request){.method = "GET"}), ERR_NOT_FOUND);
    bench_close(&b);
}

TEST(an_answer_that_is_too_large_is_refused)
{
    struct bench b;
    bench_open(&b, NULL, false);
    CHECK_INT(bench_send(&b, "/x", (struct http_request){.method = "GET", .body_most = 4}),
              ERR_LIMIT);
    CHECK(strstr(b.e.msg, "more than 4 bytes"));
    CHECK_INT(bench_send(&b, "/x", (struct http_request){.method = "GET", .body_most = 5}), 0);
    bench_close(&b);
}

static int take(void *ctx, const void *p, size_t n, struct err *e)
{
    struct buf *b = ctx;
    buf_put(b, p, n);
    return b->len >= 100 ? err_set(e, ERR_BUSY, "enough") : 0;
}

TEST(a_sink_takes_what_a_good_answer_has_and_may_refuse)
{
    struct bench b;
    struct buf got = {0};
    const struct http_request q = {.method = "GET", .sink = take, .sink_ctx = &got};
    bench_open(&b, NULL, false);
    CHECK_INT(bench_send(&b, "/x", q), 0);
    CHECK(got.len == 5 && b.r.body.len == 0 && b.r.body_bytes == 5);
    b.seen.raw = "HTTP/1.1 503 X\r\nContent-Length: 4\r\n\r\nslow";
    CHECK_INT(bench_send(&b, "/x", q), 0);
    CHECK(got.len == 5 && b.r.body.len == 4);
    got.len = 0;
    buf_reserve(&got, 100);
    got.len = 99;
    b.seen.raw = NULL;
    CHECK_INT(bench_send(&b, "/x", q), ERR_BUSY);
    CHECK_STR(b.e.msg, "enough");
    buf_free(&got);
    bench_close(&b);
}

TEST(a_server_that_does_not_answer_is_given_up)
{
    struct bench b;
    bench_open(&b, "HTTP/1.1 200 X\r\nContent-Length: 100\r\n\r\nabc", false);
    CHECK_INT(bench_send(&b, "/x", (struct http_request){.method = "GET", .timeout_ms = 100}),
              ERR_NOT_FOUND);
    bench_close(&b);
}

TEST(nobody_there_is_one_sentence_and_other_protocols_are_refused)
{
    struct bench b;
    bench_open(&b, NULL, false);
    const struct http_request nobody = {.method = "GET", .url = "http://127.0.0.1:1/"};
    CHECK_INT(http_client_send(b.client, &nobody, &b.r, &b.e), ERR_NOT_FOUND);
    CHECK(strstr(b.e.msg, "refused"));
    const struct http_request file = {.method = "GET", .url = "file:///etc/passwd"};
    CHECK_INT(http_client_send(b.client, &file, &b.r, &b.e), ERR_USAGE);
    bench_close(&b);
}

TEST(proxies_of_the_environment_are_not_used)
{
    struct bench b;
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
    bench_open(&b, NULL, false);
    CHECK_INT(bench_send(&b, "/x", (struct http_request){.method = "GET"}), 0);
    bench_close(&b);
}

TEST(without_support_for_a_pinned_key_nothing_is_sent)
{
    struct bench b;
    struct http_client *client;
    struct err e;
    const struct http_client_config config = {.pinned_key = "sha256//AAAA"};
    bench_open(&b, NULL, true);
    char *url = test_printf("%s/x", b.stub.url);
    const struct http_request q = {.method = "GET", .url = url};
    unknown_option = OPT_PINNEDPUBLICKEY;
    OK(http_client_open(&client, &config, &e));
    CHECK_INT(http_client_send(client, &q, &b.r, &e), ERR_USAGE);
    CHECK(strstr(e.msg, "pinned key") && b.seen.answers == 0);
    unknown_option = 0;
    http_client_close(client);
    free(url);
    bench_close(&b);
}
