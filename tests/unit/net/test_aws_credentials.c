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
    CHECK_INT(aws_credentials_find(&c, &e), ERR_USAGE);
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

static void check_refused(const char *config, const char *words)
{
    struct aws_credentials c;
    struct err e;
    set_file("AWS_CONFIG_FILE", "config", config);
    CHECK_INT(aws_credentials_find(&c, &e), ERR_USAGE);
    CHECK(strstr(e.msg, words));
}

TEST(a_login_or_a_role_that_cannot_work_is_refused_with_the_way_out)
{
    clear();
    check_refused("[default]\nsso_session = x\n", "credential_process");
    check_refused("[default]\nrole_arn = x\n", "source_profile or credential_source");
    check_refused("[default]\nrole_arn = x\nsource_profile = a\ncredential_source = b\n",
                  "either source_profile");
    check_refused("[default]\nrole_arn = x\nsource_profile = a\nmfa_serial = m\n", "mfa_serial");
    check_refused("[default]\nrole_arn = x\nsource_profile = nobody\n",
                  "no credentials in 'nobody'");
    check_refused("[default]\nrole_arn = x\ncredential_source = Moon\n", "'Moon' is not one of");
    check_refused("[default]\nrole_arn = x\nsource_profile = b\n"
                  "[profile b]\nrole_arn = y\nsource_profile = default\n",
                  "roles of each other");
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

#define STS_RESULT(id)                                                                             \
    "<AssumeRoleResponse xmlns=\"https://sts/\"><AssumeRoleResult><Credentials><AccessKeyId>" id   \
    "</AccessKeyId><SecretAccessKey>" id "s</SecretAccessKey><SessionToken>" id                    \
    "t</SessionToken><Expiration>2033-05-18T03:33:20Z</Expiration></Credentials>"                  \
    "</AssumeRoleResult></AssumeRoleResponse>"

/* Role "one" is for the keys K, "two" for what role "one" gave. */
static void answer_role(const struct http_stub_request *q, struct buf *out)
{
    const char *auth = http_stub_header(q->head, "Authorization");
    const char *token = http_stub_header(q->head, "X-Amz-Security-Token");
    const bool by_key = http_stub_starts(auth, "AWS4-HMAC-SHA256 Credential=K/") &&
                        strstr(auth, "/eu-west-1/sts/aws4_request") && !token;
    const bool by_one = http_stub_starts(auth, "AWS4-HMAC-SHA256 Credential=ONE/") &&
                        http_stub_starts(token, "ONEt\r") && strstr(auth, "x-amz-security-token");
    if (by_key && strcmp(q->body, "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aone&"
                                  "RoleSessionName=me&DurationSeconds=900&ExternalId=e%2Fx") == 0)
        http_stub_put(out, 200, "", STS_RESULT("ONE"));
    else if (by_one && strcmp(q->body, "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Atwo&"
                                       "RoleSessionName=footplate") == 0)
        http_stub_put(out, 200, "", STS_RESULT("TWO"));
    else
        http_stub_put(out, 403, "", "<Error><Code>AccessDenied</Code></Error>");
}

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
    else if (http_stub_starts(q->body, "Action=AssumeRole&"))
        answer_role(q, out);
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
    CHECK_INT(aws_credentials_find(&c, &e), ERR_NOT_FOUND); /* it may pass */
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
    static const char *const urls[] = {"http://example.com/x",
                                       "http://127.0.0.1@example.com/",
                                       "http://169.254.170.200/x",
                                       "ftp://127.0.0.1/",
                                       "http://localhost.example.com/",
                                       "http://127.example.com/",
                                       "http://127.0.0.1.example.com/",
                                       "http://[::1].example.com/",
                                       "http://[::1"};
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

#define ROLE_ONE                                                                                   \
    "[profile one]\nrole_arn = arn:one\nrole_session_name = me\nduration_seconds = 900\n"          \
    "external_id = e/x\n"

TEST(a_profile_assumes_a_role_by_the_keys_of_another_and_that_one_a_further_role)
{
    struct aws_credentials c;
    struct err e;
    struct http_stub stub;
    bool failing;
    stub_begin(&stub, &failing);
    setenv("AWS_ENDPOINT_URL_STS", stub.url, 1);
    setenv("AWS_REGION", "eu-west-1", 1);
    setenv("AWS_PROFILE", "one", 1);
    set_file("AWS_SHARED_CREDENTIALS_FILE", "credentials",
             "[base]\naws_access_key_id=K\naws_secret_access_key=k\n"
             "[one]\naws_access_key_id=K\naws_secret_access_key=k\n");
    set_file("AWS_CONFIG_FILE", "config",
             ROLE_ONE "source_profile = base\n"
                      "[profile two]\nrole_arn = arn:two\nsource_profile = one\n");
    OK(aws_credentials_find(&c, &e));
    CHECK_STR(c.id, "ONE");
    CHECK_INT(c.expires_s, 2000000000);
    aws_credentials_free(&c);
    setenv("AWS_PROFILE", "two", 1);
    check_found("TWO", "TWOs", "TWOt");
    set_file("AWS_CONFIG_FILE", "config", ROLE_ONE "source_profile = one\n");
    setenv("AWS_PROFILE", "one", 1);
    check_found("ONE", "ONEs", "ONEt");
    failing = true;
    check_failure("the role of the profile");
    http_stub_stop(&stub);
}

TEST(a_role_is_assumed_by_the_credentials_of_the_container)
{
    struct http_stub stub;
    bool failing;
    struct aws_credentials c;
    struct err e;
    stub_begin(&stub, &failing);
    char *url = test_printf("%s/container", stub.url);
    setenv("AWS_ENDPOINT_URL_STS", stub.url, 1);
    setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", url, 1);
    setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "letmein", 1);
    set_file("AWS_CONFIG_FILE", "config",
             "[default]\nrole_arn = arn:one\ncredential_source = EcsContainer\n");
    CHECK(aws_credentials_find(&c, &e) < 0); /* its keys are not those that may */
    CHECK(strstr(e.msg, "the role of the profile") && strstr(e.msg, "403"));
    http_stub_stop(&stub);
    free(url);
}
