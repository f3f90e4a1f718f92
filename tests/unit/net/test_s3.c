/* SPDX-License-Identifier: Apache-2.0 */
/* test_s3.c - the client for S3 against a server that answers what the test wants: what passes,
 * what is wrong, and what is only half there. tests/remote has the same against a real server. */
#include <errno.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/mem.h"
#include "http_stub.h"
#include "net/curl.h"
#include "net/s3.h"

enum { LINES_MOST = 40 };

/* Answers in turn; the last one for ever. */
struct play {
    const char *answers[LINES_MOST];
    char heads[LINES_MOST][1500];
    char bodies[LINES_MOST][300];
    int n;
};

static bool play_answer(void *ctx, const struct http_stub_request *q, struct buf *out)
{
    struct play *p = ctx;
    if (p->n < LINES_MOST) {
        snprintf(p->heads[p->n], sizeof p->heads[0], "%s", q->head);
        snprintf(p->bodies[p->n], sizeof p->bodies[0], "%.*s", (int)q->body_len, q->body);
    }
    int i = 0;
    while (i < p->n && p->answers[i + 1])
        i++;
    p->n++;
    const char *a = p->answers[i];
    const bool cut = strncmp(a, "CUT", 3) == 0;
    buf_put(out, a + 3 * cut, strlen(a) - 3 * (size_t)cut);
    return !cut;
}

#define DATE     "Date: Wed, 18 Nov 2026 11:00:00 GMT\r\n"
#define OK_EMPTY "HTTP/1.1 200 X\r\nETag: \"e\"\r\n" DATE "Content-Length: 0\r\n\r\n"
#define BUSY     "HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n"

static struct arena texts; /* of answers; each test is a process of its own */

/* An answer in XML. */
static const char *xml_answer(int status, const char *more, const char *body)
{
    struct buf b = {0};
    char *headers = test_printf("%s" DATE "Content-Type: application/xml\r\n", more);
    http_stub_put(&b, status, headers, body);
    const char *a = arena_strndup(&texts, (const char *)b.p, b.len);
    buf_free(&b);
    free(headers);
    return a;
}

static const char *error_answer(int status, const char *code)
{
    char *body = test_printf("<?xml version=\"1.0\"?>\n<Error><Code>%s</Code><Message>it says no"
                             "</Message></Error>",
                             code);
    const char *a = xml_answer(status, "x-amz-request-id: R1\r\n", body);
    free(body);
    return a;
}

struct stage {
    struct play play;
    struct http_stub stub;
    struct s3 *s3;
    struct err e;
};

static void stage_open(struct stage *t, struct s3_config config)
{
    struct err e;
    if (curl_is_there(&e) != 0)
        SKIP(e.msg);
    http_stub_start(&t->stub, play_answer, &t->play);
    setenv("AWS_ENDPOINT_URL_S3", t->stub.url, 1);
    setenv("AWS_ACCESS_KEY_ID", "AKID", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "very-secret", 1);
    setenv("AWS_SESSION_TOKEN", "very-token", 1);
    setenv("AWS_REGION", "us-east-1", 1);
    config.bucket = "bucket";
    config.wait_ms = config.wait_ms ? config.wait_ms : 1;
    OK(s3_open(&t->s3, &config, &e));
}

static void stage_close(struct stage *t)
{
    s3_close(t->s3);
    http_stub_stop(&t->stub);
    arena_free(&texts);
}

#define STAGE(...)                                                                                 \
    struct stage t = {.play.answers = {__VA_ARGS__}};                                              \
    stage_open(&t, (struct s3_config){0})

TEST(a_put_is_signed_and_its_key_encoded_once)
{
    STAGE(OK_EMPTY);
    CHECK_INT(s3_put(t.s3, "a b/c+d~\xc3\xa9", "body", 4, false, &t.e), 0);
    const char *head = t.play.heads[0];
    CHECK(http_stub_starts(head, "PUT /bucket/a%20b/c%2Bd~%C3%A9 HTTP/1.1\r\n"));
    const char *auth = http_stub_header(head, "Authorization");
    CHECK(http_stub_starts(auth, "AWS4-HMAC-SHA256 Credential=AKID/"));
    CHECK(strstr(auth, "SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,"));
    CHECK(http_stub_starts(http_stub_header(head, "x-amz-content-sha256"),
                           "230d8358dc8e8890b4c58deeb62912ee2f20357ae92a5cc861b98e68fe31acb5"));
    CHECK(!strstr(head, "very-secret"));
    stage_close(&t);
}

TEST(a_busy_server_is_asked_again_and_then_given_up_with_a_sentence)
{
    STAGE(BUSY, error_answer(503, "SlowDown"), error_answer(500, "InternalError"),
          "CUTHTTP/1.1 200 X\r\nContent-Length: 9\r\n\r\n", OK_EMPTY);
    CHECK_INT(s3_put(t.s3, "k", "x", 1, false, &t.e), 0);
    CHECK_INT(t.play.n, 5);
    CHECK_INT(s3_counts(t.s3)->retries, 4);
    stage_close(&t);
    struct stage u = {.play.answers = {error_answer(503, "SlowDown")}};
    stage_open(&u, (struct s3_config){0});
    CHECK_INT(s3_put(u.s3, "k", "x", 1, false, &u.e), ERR_NOT_FOUND);
    CHECK_INT(u.play.n, 5);
    CHECK_STR(u.e.msg, "PUT s3://bucket/k: status 503 SlowDown: it says no (request R1)");
    stage_close(&u);
}

TEST(a_cut_body_is_read_again)
{
    STAGE("CUTHTTP/1.1 200 X\r\nContent-Length: 10\r\n\r\nabc",
          "HTTP/1.1 200 X\r\nETag: \"1\"\r\nContent-Length: 6\r\n\r\nabcdef");
    struct s3_got got;
    CHECK_INT(s3_get(t.s3, &(struct s3_get){.key = "k", .most = 100}, &got, &t.e), 0);
    CHECK(got.body.len == 6 && memcmp(got.body.p, "abcdef", 6) == 0);
    CHECK_STR(got.object.etag, "\"1\"");
    CHECK_INT(t.play.n, 2);
    buf_free(&got.body);
    stage_close(&t);
}

TEST(ranges_conditions_and_their_answers)
{
    STAGE("HTTP/1.1 206 X\r\nContent-Range: bytes 5-7/100\r\nContent-Length: 3\r\n\r\nabc",
          "HTTP/1.1 206 X\r\nContent-Range: bytes 92-99/100\r\nContent-Length: 8\r\n\r\nabcdefgh",
          "HTTP/1.1 304 X\r\nETag: \"1\"\r\n\r\n",
          "HTTP/1.1 416 X\r\nContent-Range: bytes */100\r\nContent-Length: 0\r\n\r\n",
          "HTTP/1.1 412 X\r\nContent-Length: 0\r\n\r\n");
    struct s3_got got;
    CHECK_INT(
        s3_get(t.s3, &(struct s3_get){.key = "k", .from = 5, .len = 3, .most = 3}, &got, &t.e), 0);
    CHECK(http_stub_starts(http_stub_header(t.play.heads[0], "range"), "bytes=5-7\r\n"));
    CHECK_INT(got.object.bytes, 100);
    buf_free(&got.body);
    CHECK_INT(s3_get(t.s3, &(struct s3_get){.key = "k", .from = -8, .most = 8}, &got, &t.e), 0);
    CHECK(http_stub_starts(http_stub_header(t.play.heads[1], "range"), "bytes=-8\r\n"));
    buf_free(&got.body);
    CHECK_INT(
        s3_get(t.s3, &(struct s3_get){.key = "k", .if_none_match = "\"1\"", .most = 8}, &got, &t.e),
        0);
    CHECK(got.unchanged && got.body.len == 0);
    CHECK_INT(s3_get(t.s3, &(struct s3_get){.key = "k", .from = 200, .most = 8}, &got, &t.e), 0);
    CHECK(got.body.len == 0 && got.object.bytes == 100);
    CHECK_INT(
        s3_get(t.s3, &(struct s3_get){.key = "k", .if_match = "\"2\"", .most = 8}, &got, &t.e),
        ERR_BUSY);
    stage_close(&t);
}

TEST(what_is_missing_denied_or_set_up_wrongly_is_not_tried_again)
{
    STAGE(error_answer(404, "NoSuchKey"), error_answer(403, "SignatureDoesNotMatch"),
          error_answer(404, "NoSuchBucket"), error_answer(501, "NotImplemented"));
    CHECK_INT(s3_put(t.s3, "k", "x", 1, false, &t.e), ERR_SYS);
    CHECK_INT(t.e.sys, ENOENT);
    CHECK_INT(s3_put(t.s3, "k", "x", 1, false, &t.e), ERR_SYS);
    CHECK_INT(t.e.sys, EACCES);
    CHECK(!strstr(t.e.msg, "very-") && strstr(t.e.msg, "SignatureDoesNotMatch"));
    CHECK_INT(s3_put(t.s3, "k", "x", 1, false, &t.e), ERR_USAGE);
    CHECK_INT(s3_put(t.s3, "k", "x", 1, false, &t.e), ERR_USAGE);
    CHECK_INT(t.play.n, 4);
    stage_close(&t);
}

TEST(another_region_is_taken_from_the_answer_and_signed_for)
{
    STAGE(xml_answer(400, "",
                     "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region>"
                     "</Error>"),
          OK_EMPTY, "HTTP/1.1 301 X\r\nx-amz-bucket-region: us-west-2\r\nContent-Length: 0\r\n\r\n",
          "HTTP/1.1 301 X\r\nContent-Length: 0\r\n\r\n");
    struct s3_object o;
    CHECK_INT(s3_put(t.s3, "k", "x", 1, false, &t.e), 0);
    CHECK(strstr(http_stub_header(t.play.heads[0], "Authorization"), "/us-east-1/s3/"));
    CHECK(strstr(http_stub_header(t.play.heads[1], "Authorization"), "/eu-west-1/s3/"));
    CHECK_INT(s3_head(t.s3, "k", &o, &t.e), ERR_USAGE); /* and a server that only redirects */
    CHECK(strstr(http_stub_header(t.play.heads[3], "Authorization"), "/us-west-2/s3/"));
    CHECK_INT(t.play.n, 4);
    stage_close(&t);
}

TEST(a_wrong_clock_is_corrected_once_by_that_of_the_server)
{
    STAGE(error_answer(403, "RequestTimeTooSkewed"), OK_EMPTY,
          error_answer(403, "RequestTimeTooSkewed"));
    CHECK_INT(s3_put(t.s3, "k", "x", 1, false, &t.e), 0);
    CHECK(http_stub_starts(http_stub_header(t.play.heads[1], "x-amz-date"), "20261118T1100"));
    CHECK_INT(s3_server_time(t.s3), 1794999600);
    CHECK_INT(s3_put(t.s3, "k", "x", 1, false, &t.e), ERR_USAGE);
    stage_close(&t);
}

TEST(expired_keys_are_asked_for_anew)
{
    STAGE(error_answer(400, "ExpiredToken"), OK_EMPTY);
    struct err e;
    char *tool = test_printf("%s/tool", test_tmpdir());
    const char script[] = "#!/bin/sh\necho x >> \"$0.count\"\n"
                          "echo '{\"AccessKeyId\":\"P'$(wc -l < \"$0.count\")"
                          "'\",\"SecretAccessKey\":\"p\"}'\n";
    OK(file_replace(tool, script, strlen(script), &e));
    CHECK(chmod(tool, 0700) == 0);
    char *config = test_printf("%s/config", test_tmpdir());
    char *text = test_printf("[default]\ncredential_process = %s\n", tool);
    OK(file_replace(config, text, strlen(text), &e));
    unsetenv("AWS_ACCESS_KEY_ID");
    unsetenv("AWS_SECRET_ACCESS_KEY");
    setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent", 1);
    setenv("AWS_CONFIG_FILE", config, 1);
    OK(s3_put(t.s3, "k", "x", 1, false, &e));
    CHECK(strstr(http_stub_header(t.play.heads[0], "Authorization"), "Credential=P1/"));
    CHECK(strstr(http_stub_header(t.play.heads[1], "Authorization"), "Credential=P2/"));
    free(text);
    free(config);
    free(tool);
    stage_close(&t);
}

TEST(put_if_absent_loses_to_what_is_there)
{
    STAGE(OK_EMPTY, error_answer(409, "ConditionalRequestConflict"),
          error_answer(412, "PreconditionFailed"));
    CHECK_INT(s3_put(t.s3, "k", "x", 1, true, &t.e), 0);
    CHECK(http_stub_starts(http_stub_header(t.play.heads[0], "if-none-match"), "*\r\n"));
    CHECK_INT(s3_put(t.s3, "k", "x", 1, true, &t.e), ERR_BUSY);
    CHECK_INT(t.play.n, 3);
    stage_close(&t);
}

TEST(without_conditional_writes_it_looks_writes_and_compares)
{
    STAGE(error_answer(501, "NotImplemented"), "HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n",
          OK_EMPTY, "HTTP/1.1 200 X\r\nContent-Length: 1\r\n\r\nx",
          /* the second: somebody else was faster in between */
          "HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n", OK_EMPTY,
          "HTTP/1.1 200 X\r\nContent-Length: 1\r\n\r\ny",
          /* the third: it is there */
          "HTTP/1.1 206 X\r\nContent-Range: bytes 0-0/1\r\nContent-Length: 1\r\n\r\nx");
    static const char *const want[] = {"PUT", "GET", "PUT", "GET", "GET", "PUT", "GET", "GET"};
    CHECK_INT(s3_put(t.s3, "k", "x", 1, true, &t.e), 0);
    CHECK_INT(s3_put(t.s3, "k", "x", 1, true, &t.e), ERR_BUSY);
    CHECK_INT(s3_put(t.s3, "k", "x", 1, true, &t.e), ERR_BUSY);
    for (size_t i = 0; i < COUNT_OF(want); i++)
        CHECK(http_stub_starts(t.play.heads[i], want[i]));
    CHECK_INT(t.play.n, COUNT_OF(want));
    stage_close(&t);
}

TEST(a_large_object_goes_in_parts_and_a_200_with_an_error_is_an_error)
{
    struct stage t = {
        .play.answers = {xml_answer(200, "", "<R><UploadId>U/1</UploadId></R>"), OK_EMPTY, BUSY,
                         OK_EMPTY, OK_EMPTY,
                         xml_answer(200, "", "  \n <Error><Code>InternalError</Code></Error>"),
                         xml_answer(200, "", "<CompleteMultipartUploadResult/>"),
                         /* the second one fails and is taken back */
                         xml_answer(200, "", "<R><UploadId>U2</UploadId></R>"),
                         error_answer(403, "AccessDenied"), "HTTP/1.1 204 X\r\n\r\n"}};
    stage_open(&t, (struct s3_config){.part_bytes = 4});
    CHECK_INT(s3_put(t.s3, "k", "0123456789", 10, false, &t.e), 0);
    CHECK(http_stub_starts(t.play.heads[0], "POST /bucket/k?uploads= "));
    CHECK(http_stub_starts(t.play.heads[1], "PUT /bucket/k?partNumber=1&uploadId=U%2F1 "));
    CHECK_STR(t.play.bodies[1], "0123");
    CHECK_STR(t.play.bodies[3], "4567");
    CHECK_STR(t.play.bodies[4], "89");
    CHECK(http_stub_starts(t.play.heads[6], "POST /bucket/k?uploadId=U%2F1 "));
    CHECK(strstr(t.play.bodies[6], "<Part><PartNumber>3</PartNumber><ETag>\"e\"</ETag></Part></C"));
    CHECK_INT(s3_put(t.s3, "k", "0123456789", 10, false, &t.e), ERR_SYS);
    CHECK(http_stub_starts(t.play.heads[9], "DELETE /bucket/k?uploadId=U2 "));
    stage_close(&t);
}

static int note(void *ctx, const struct s3_object *x, struct err *e)
{
    (void)e;
    buf_printf(ctx, "%s%s:%llu ", x->key, x->is_prefix ? "*" : "", (unsigned long long)x->bytes);
    return 0;
}

TEST(a_list_goes_on_to_its_last_page_and_decodes_keys)
{
    STAGE(xml_answer(200, "",
                     "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>a/b="
                     "</NextContinuationToken><Contents><Key>r/a%20b%2B</Key><Size>5</Size><ETag>"
                     "&quot;x&quot;</ETag><LastModified>2026-11-18T11:00:00.000Z</LastModified>"
                     "</Contents><CommonPrefixes><Prefix>r/c/</Prefix></CommonPrefixes>"
                     "</ListBucketResult>"),
          xml_answer(200, "",
                     "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>r/z</Key>"
                     "<Size>7</Size></Contents></ListBucketResult>"),
          xml_answer(200, "", "<ListBucketResult><Contents><Key>r"));
    struct buf b = {0};
    const struct s3_list q = {.prefix = "r/", .delimiter = "/", .start_after = "r/0"};
    CHECK_INT(s3_list(t.s3, &q, note, &b, &t.e), 0);
    buf_u8(&b, 0);
    CHECK_STR((char *)b.p, "r/a b+:5 r/c/*:0 r/z:7 ");
    CHECK(http_stub_starts(t.play.heads[0],
                           "GET /bucket?delimiter=%2F&encoding-type=url&list-type=2&prefix=r%2F&"
                           "start-after=r%2F0 "));
    CHECK(http_stub_starts(t.play.heads[1],
                           "GET /bucket?continuation-token=a%2Fb%3D&delimiter=%2F&encoding-type"));
    CHECK_INT(s3_list(t.s3, &q, note, &b, &t.e), ERR_FORMAT);
    buf_free(&b);
    stage_close(&t);
}

TEST(a_server_that_wants_a_checksum_gets_the_one_there_is)
{
    STAGE(xml_answer(400, "",
                     "<Error><Code>InvalidRequest</Code><Message>Content-MD5 OR x-amz-checksum- "
                     "HTTP header is required</Message></Error>"),
          OK_EMPTY);
    CHECK_INT(s3_put(t.s3, "k", "body", 4, false, &t.e), 0);
    CHECK(!http_stub_header(t.play.heads[0], "x-amz-checksum-sha256"));
    CHECK(http_stub_starts(http_stub_header(t.play.heads[1], "x-amz-checksum-sha256"),
                           "Iw2DWNyOiJC0xY3utikS7i8gNXrpKlzIYbmOaP4xrLU=\r\n"));
    stage_close(&t);
}

TEST(without_keys_nothing_is_sent)
{
    STAGE(OK_EMPTY);
    unsetenv("AWS_ACCESS_KEY_ID");
    unsetenv("AWS_SECRET_ACCESS_KEY");
    setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent", 1);
    setenv("AWS_CONFIG_FILE", "/nonexistent", 1);
    setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    CHECK_INT(s3_put(t.s3, "k", "x", 1, false, &t.e), ERR_USAGE);
    CHECK(strstr(t.e.msg, "no credentials"));
    CHECK_INT(t.play.n, 0);
    stage_close(&t);
    setenv("FOOTPLATE_S3_NO_SIGN", "1", 1);
    struct stage u = {.play.answers = {OK_EMPTY}};
    stage_open(&u, (struct s3_config){0});
    CHECK_INT(s3_put(u.s3, "k", "x", 1, false, &u.e), 0);
    CHECK(!http_stub_header(u.play.heads[0], "Authorization"));
    stage_close(&u);
}

TEST(a_service_of_credentials_that_is_away_for_a_moment_is_no_wrong_set_up)
{
    STAGE(error_answer(400, "ExpiredToken"));
    CHECK_INT(setenv("AWS_EC2_METADATA_DISABLED", "true", 1), 0);
    setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent", 1);
    setenv("AWS_CONFIG_FILE", "/nonexistent", 1);
    unsetenv("AWS_ACCESS_KEY_ID");
    setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/", 1); /* nobody there */
    unsetenv("AWS_SECRET_ACCESS_KEY");
    CHECK_INT(s3_put(t.s3, "k", "x", 1, false, &t.e), ERR_NOT_FOUND);
    CHECK(strstr(t.e.msg, "the container's service"));
    setenv("AWS_ACCESS_KEY_ID", "A", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "s", 1);
    CHECK_INT(s3_put(t.s3, "k", "x", 1, false, &t.e), ERR_SYS); /* expired, and so are the same */
    unsetenv("AWS_ACCESS_KEY_ID");
    unsetenv("AWS_SECRET_ACCESS_KEY");
    unsetenv("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    CHECK_INT(s3_put(t.s3, "k", "x", 1, false, &t.e), ERR_NOT_FOUND); /* there were some before */
    stage_close(&t);
}

TEST(names_of_buckets_and_endpoints_are_checked)
{
    struct s3 *s;
    struct err e;
    static const char *const bad[] = {"", "ab", "a/b", "-abc", "a..b", "a b"};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        CHECK(!s3_is_bucket(bad[i]));
    CHECK(s3_is_bucket("my-bucket.1"));
    setenv("AWS_ENDPOINT_URL_S3", "https://user:pw@host", 1);
    CHECK_INT(s3_open(&s, &(struct s3_config){.bucket = "bucket"}, &e), ERR_USAGE);
    CHECK(!strstr(e.msg, "pw"));
}
