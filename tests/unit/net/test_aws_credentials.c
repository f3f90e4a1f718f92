/* SPDX-License-Identifier: Apache-2.0 */
/* test_aws_credentials.c - where keys for S3 are found, and in which order. Nothing but servers of
 * the test on 127.0.0.1 is asked. */
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "http_stub.h"
#include "net/aws_credentials.h"
#include "net/curl.h"

/* No source of the machine that runs the test. */
static void clear(void)
{
    static const char *const names[] = {
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_PROFILE",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_ROLE_ARN",
        "AWS_ROLE_SESSION_NAME",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
        "AWS_EC2_METADATA_SERVICE_ENDPOINT",
        "AWS_ENDPOINT_URL",
        "AWS_ENDPOINT_URL_S3",
        "AWS_ENDPOINT_URL_STS",
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
        "AWS_CA_BUNDLE",
    };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        unsetenv(names[i]);
    setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent", 1);
    setenv("AWS_CONFIG_FILE", "/nonexistent", 1);
    setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
}

static char *write_file(const char *name, const char *text)
{
    struct err e;
    char *path = test_printf("%s/%s", test_tmpdir(), name);
    OK(file_replace(path, text, strlen(text), &e));
    return path;
}

static void set_file(const char *variable, const char *name, const char *text)
{
    char *path = write_file(name, text);
    setenv(variable, path, 1);
    free(path);
}

static void check_found(const char *id, const char *secret, const char *token)
{
    struct aws_credentials c;
    struct err e;
    OK(aws_credentials_find(&c, &e));
    CHECK_STR(c.id, id);
    CHECK_STR(c.secret, secret);
    CHECK_STR(c.token ? c.token : "", token);
    aws_credentials_free(&c);
}

TEST(the_environment_comes_before_the_files)
{
    clear();
    set_file("AWS_SHARED_CREDENTIALS_FILE", "credentials",
             "[default]\naws_access_key_id=F\naws_secret_access_key=f\n");
    check_found("F", "f", "");
    setenv("AWS_ACCESS_KEY_ID", "A", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "s", 1);
    check_found("A", "s", "");
    setenv("AWS_SESSION_TOKEN", "t", 1);
    check_found("A", "s", "t");
}

TEST(a_key_without_its_secret_is_an_error_and_not_passed_over)
{
    struct aws_credentials c;
    struct err e;
    clear();
    setenv("AWS_ACCESS_KEY_ID", "A", 1);
    set_file("AWS_SHARED_CREDENTIALS_FILE", "credentials",
             "[default]\naws_access_key_id=F\naws_secret_access_key=f\n");
    CHECK_INT(aws_credentials_find(&c, &e), ERR_FORMAT);
    CHECK(strstr(e.msg, "the environment"));
}

TEST(nothing_anywhere_is_said_with_what_to_do)
{
    struct aws_credentials c;
    struct err e;
    clear();
    CHECK_INT(aws_credentials_find(&c, &e), ERR_NOT_FOUND);
    CHECK(strstr(e.msg, "AWS_ACCESS_KEY_ID"));
}

TEST(a_profile_is_found_by_its_name_in_both_files)
{
    clear();
    setenv("AWS_PROFILE", "team a", 1);
    set_file("AWS_SHARED_CREDENTIALS_FILE", "credentials",
             "; x\n[default]\naws_access_key_id = D\naws_secret_access_key = d\n\n"
             "[team a]\n# aws_access_key_id = no\naws_access_key_id = T \r\n"
             "aws_secret_access_key=a=b+/c\naws_session_token = tok\n");
    check_found("T", "a=b+/c", "tok");
    setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent", 1);
    set_file("AWS_CONFIG_FILE", "config",
             "[default]\nregion = eu-west-1\n[profile team a]\naws_access_key_id = C\n"
             "aws_secret_access_key = c\nregion = us-west-2\nendpoint_url = http://x:1\n");
    check_found("C", "c", "");
    struct arena a = {0};
    struct aws_settings s;
    aws_settings_find(&s, &a);
    CHECK_STR(s.region, "us-west-2");
    CHECK_STR(s.endpoint, "http://x:1");
    CHECK(!s.ca);
    setenv("AWS_DEFAULT_REGION", "eu-central-1", 1);
    setenv("AWS_ENDPOINT_URL", "http://y:2", 1);
    aws_settings_find(&s, &a);
    CHECK_STR(s.region, "eu-central-1");
    CHECK_STR(s.endpoint, "http://y:2");
    arena_free(&a);
}

TEST(a_role_of_a_profile_is_refused_with_the_way_out)
{
    struct aws_credentials c;
    struct err e;
    clear();
    set_file("AWS_CONFIG_FILE", "config", "[default]\nrole_arn = x\nsource_profile = y\n");
    CHECK_INT(aws_credentials_find(&c, &e), ERR_USAGE);
    CHECK(strstr(e.msg, "role_arn") && strstr(e.msg, "credential_process"));
}

TEST(words_are_split_as_a_shell_does_it)
{
    struct arena a = {0};
    char **w = aws_split_words("  tool --x 'a b' \"c \\\" d\" e\\ f '' ", &a);
    static const char *const want[] = {"tool", "--x", "a b", "c \" d", "e f", ""};
    for (size_t i = 0; i < COUNT_OF(want); i++)
        CHECK_STR(w[i], want[i]);
    CHECK(!w[COUNT_OF(want)]);
    CHECK(!aws_split_words("a 'b", &a));
    arena_free(&a);
}

TEST(a_process_answers_with_json_and_its_failure_is_reported)
{
    struct aws_credentials c;
    struct err e;
    clear();
    char *tool =
        write_file("tool", "#!/bin/sh\n[ \"$1\" = 'a b' ] || exit 3\n"
                           "echo '{\"Version\":1,\"AccessKeyId\":\"P\",\"SecretAccessKey\":"
                           "\"p\",\"SessionToken\":\"pt\",\"Expiration\":"
                           "\"2033-05-18T03:33:20Z\"}'\n");
    CHECK(chmod(tool, 0700) == 0);
    char *config = test_printf("[default]\ncredential_process = %s 'a b'\n", tool);
    set_file("AWS_CONFIG_FILE", "config", config);
    OK(aws_credentials_find(&c, &e));
    CHECK_STR(c.id, "P");
    CHECK_STR(c.token, "pt");
    CHECK_INT(c.expires_s, 2000000000);
    CHECK(!aws_credentials_stale(&c, 2000000000 - 901));
    CHECK(aws_credentials_stale(&c, 2000000000 - 900));
    aws_credentials_free(&c);
    char *wrong = test_printf("[default]\ncredential_process = %s c\n", tool);
    set_file("AWS_CONFIG_FILE", "config", wrong);
    CHECK_INT(aws_credentials_find(&c, &e), ERR_FORMAT);
    CHECK(strstr(e.msg, "failed"));
    free(wrong);
    free(config);
    free(tool);
}

/* ---- over HTTP ---- */

#define KEYS "\"AccessKeyId\":\"H\",\"SecretAccessKey\":\"hs\",\"Token\":\"ht\""

static bool answer(void *ctx, const struct http_stub_request *q, struct buf *out)
{
    bool *failing = ctx;
    const char *auth = http_stub_header(q->head, "Authorization");
    const char *token = http_stub_header(q->head, "X-aws-ec2-metadata-token");
    const char *ttl = http_stub_header(q->head, "X-aws-ec2-metadata-token-ttl-seconds");
    const char *folder = "GET /latest/meta-data/iam/security-credentials/";
    if (*failing)
        http_stub_put(out, 500, "", "a secret that nobody may see");
    else if (http_stub_starts(q->head, "GET /container ") && http_stub_starts(auth, "letmein\r"))
        http_stub_put(out, 200, "", "{" KEYS ",\"Expiration\":\"2033-05-18T03:33:20Z\"}");
    else if (http_stub_starts(q->head, "PUT /latest/api/token ") && http_stub_starts(ttl, "21600"))
        http_stub_put(out, 200, "", "imds-token");
    else if (!http_stub_starts(token, "imds-token\r") && !http_stub_starts(q->head, "POST / "))
        http_stub_put(out, 401, "", "");
    else if (http_stub_starts(q->head, folder) && q->head[strlen(folder)] == ' ')
        http_stub_put(out, 200, "", "my-role\n");
    else if (http_stub_starts(q->head, folder) &&
             http_stub_starts(q->head + strlen(folder), "my-role "))
        http_stub_put(out, 200, "", "{\"Code\":\"Success\"," KEYS "}");
    else if (http_stub_starts(q->body, "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&"
                                       "RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fx&"
                                       "RoleSessionName=footplate&WebIdentityToken=ey.j%2B"))
        http_stub_put(out, 200, "",
                      "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts/\"><Result>"
                      "<Credentials><AccessKeyId>H</AccessKeyId><SecretAccessKey>hs"
                      "</SecretAccessKey><SessionToken>ht</SessionToken><Expiration>"
                      "2033-05-18T03:33:20Z</Expiration></Credentials></Result>"
                      "</AssumeRoleWithWebIdentityResponse>");
    else
        http_stub_put(out, 404, "", "");
    return true;
}

static void check_failure(const char *name)
{
    struct aws_credentials c;
    struct err e;
    CHECK(aws_credentials_find(&c, &e) < 0);
    CHECK(strstr(e.msg, name));
    CHECK(strstr(e.msg, "500") && !strstr(e.msg, "secret that"));
}

static void stub_begin(struct http_stub *stub, bool *failing)
{
    struct err e;
    if (curl_is_there(&e) != 0)
        SKIP(e.msg);
    clear();
    *failing = false;
    http_stub_start(stub, answer, failing);
}

TEST(a_container_gets_them_with_its_token)
{
    struct http_stub stub;
    bool failing;
    stub_begin(&stub, &failing);
    char *url = test_printf("%s/container", stub.url);
    setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", url, 1);
    set_file("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "token", "letmein\n");
    check_found("H", "hs", "ht");
    failing = true;
    check_failure("the container's service");
    http_stub_stop(&stub);
    free(url);
}

TEST(a_container_does_not_ask_strangers_without_tls)
{
    static const char *const urls[] = {"http://example.com/x", "http://127.0.0.1@example.com/",
                                       "http://169.254.170.200/x", "ftp://127.0.0.1/",
                                       "http://localhost.example.com/"};
    struct aws_credentials c;
    struct err e;
    clear();
    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", urls[i], 1);
        CHECK_INT(aws_credentials_find(&c, &e), ERR_USAGE);
    }
}

TEST(an_instance_gets_them_by_version_2_of_its_metadata)
{
    struct http_stub stub;
    bool failing;
    stub_begin(&stub, &failing);
    setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", stub.url, 1);
    unsetenv("AWS_EC2_METADATA_DISABLED");
    check_found("H", "hs", "ht");
    http_stub_stop(&stub);
}

TEST(a_web_identity_is_exchanged_and_its_file_read_anew)
{
    struct http_stub stub;
    bool failing;
    stub_begin(&stub, &failing);
    setenv("AWS_ENDPOINT_URL_STS", stub.url, 1);
    setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/x", 1);
    set_file("AWS_WEB_IDENTITY_TOKEN_FILE", "jwt", "ey.j+\n");
    check_found("H", "hs", "ht");
    failing = true;
    check_failure("the web identity");
    http_stub_stop(&stub);
}
