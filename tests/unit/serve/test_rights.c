/* SPDX-License-Identifier: Apache-2.0 */
/* test_rights.c - tokens, sessions, and what browsers say of who asks. */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "serve/rights.h"
#include "test.h"

#define READ_TOKEN    "read-0123456789abcdef"
#define CONTROL_TOKEN "control-0123456789abcdef"

static const struct sockaddr *address(const char *text)
{
    static struct sockaddr_in a;
    a = (struct sockaddr_in){.sin_family = AF_INET};
    inet_pton(AF_INET, text, &a.sin_addr);
    return (const struct sockaddr *)&a;
}

static struct rights *guarded(bool control)
{
    struct err e;
    struct rights *r = rights_open(control);
    CHECK(rights_add_text(r, "read " READ_TOKEN "\n# no\n\n\tcontrol\t" CONTROL_TOKEN "\r\n", "f",
                          &e) == 0);
    return r;
}

static int right_of(struct rights *r, const char *peer, const char *bearer, const char *session)
{
    enum right what;
    struct err e;
    const int rc = rights_of(r, address(peer), bearer, session, &what, &e);
    return rc ? rc : (int)what;
}

TEST(without_tokens_everybody_may_do_what_is_on)
{
    struct rights *r = rights_open(true);
    CHECK(!rights_needs_token(r) && right_of(r, "127.0.0.1", NULL, NULL) == RIGHT_CONTROL);
    rights_close(r);
    r = rights_open(false);
    CHECK(right_of(r, "127.0.0.1", NULL, NULL) == RIGHT_READ);
    rights_close(r);
}

TEST(a_token_gives_its_right_and_no_other)
{
    struct rights *r = guarded(true);
    CHECK(rights_needs_token(r));
    CHECK(right_of(r, "10.0.0.1", NULL, NULL) == RIGHT_NONE);
    CHECK(right_of(r, "10.0.0.1", READ_TOKEN, NULL) == RIGHT_READ);
    CHECK(right_of(r, "10.0.0.1", CONTROL_TOKEN, NULL) == RIGHT_CONTROL);
    CHECK(right_of(r, "10.0.0.1", READ_TOKEN "x", NULL) == RIGHT_NONE);
    CHECK(right_of(r, "10.0.0.1", "", NULL) == RIGHT_NONE);
    rights_close(r);
}

TEST(control_that_is_off_is_off_for_tokens_too)
{
    struct rights *r = guarded(false);
    CHECK(right_of(r, "10.0.0.1", CONTROL_TOKEN, NULL) == RIGHT_READ);
    rights_close(r);
}

TEST(a_session_has_the_right_of_its_token)
{
    struct rights *r = guarded(true);
    char one[SESSION_LEN], two[SESSION_LEN];
    struct err e;
    CHECK(rights_login(r, address("10.0.0.1"), READ_TOKEN, one, &e) == 0);
    CHECK(rights_login(r, address("10.0.0.1"), CONTROL_TOKEN, two, &e) == 0);
    CHECK(strlen(one) == SESSION_LEN - 1 && strcmp(one, two) != 0);
    CHECK(right_of(r, "10.9.9.9", NULL, one) == RIGHT_READ);
    CHECK(right_of(r, "10.9.9.9", NULL, two) == RIGHT_CONTROL);
    CHECK(right_of(r, "10.9.9.9", NULL, "") == RIGHT_NONE);
    CHECK(rights_login(r, address("10.0.0.1"), "wrong", one, &e) == ERR_NOT_FOUND);
    rights_close(r);
}

TEST(wrong_guesses_shut_an_address_out_and_no_other)
{
    struct rights *r = guarded(true);
    char session[SESSION_LEN];
    struct err e;
    CHECK(rights_login(r, address("10.0.0.1"), READ_TOKEN, session, &e) == 0);
    for (int i = 0; i < 10; i++)
        CHECK(right_of(r, "10.0.0.1", "wrong", NULL) == RIGHT_NONE);
    CHECK(right_of(r, "10.0.0.1", READ_TOKEN, NULL) == ERR_BUSY);
    CHECK(rights_login(r, address("10.0.0.1"), READ_TOKEN, session, &e) == ERR_BUSY);
    CHECK(right_of(r, "10.0.0.2", READ_TOKEN, NULL) == RIGHT_READ);
    CHECK(right_of(r, "10.0.0.1", NULL, session) == RIGHT_READ);
    rights_close(r);
}

TEST(secrets_are_the_same_only_when_all_of_them_is)
{
    char longer[TOKEN_MOST + 2];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    CHECK(secret_same("", "") && secret_same("abc", "abc"));
    CHECK(!secret_same("abc", "abd") && !secret_same("abc", "ab") && !secret_same("ab", "abc"));
    CHECK(!secret_same(longer, longer)); /* no token is that long */
}

TEST(hosts_are_compared_as_names_without_their_port)
{
    static const char *const hosts[] = {"localhost", "::1", "dash.example"};
    CHECK(host_allowed("localhost", hosts, 3, false));
    CHECK(host_allowed("LocalHost:7171", hosts, 3, false));
    CHECK(host_allowed("[::1]:7171", hosts, 3, false) && host_allowed("[::1]", hosts, 3, false));
    CHECK(!host_allowed("evil.example", hosts, 3, true));
    CHECK(!host_allowed("localhost.evil.example", hosts, 3, true));
    CHECK(!host_allowed("localhost:7171x", hosts, 3, true));
    CHECK(!host_allowed("", hosts, 3, true) && !host_allowed(NULL, hosts, 3, true));
    CHECK(!host_allowed("[::1", hosts, 3, true) && !host_allowed("[]", hosts, 3, true));
    CHECK(!host_allowed("10.0.0.1", hosts, 3, false) && host_allowed("10.0.0.1:1", hosts, 3, true));
    CHECK(host_allowed("[fe80::1]:5", hosts, 3, true));
}

TEST(only_the_origin_of_the_host_itself_is_ours)
{
    CHECK(origin_allowed(NULL, "localhost:1"));
    CHECK(origin_allowed("http://localhost:1", "localhost:1"));
    CHECK(origin_allowed("https://LOCALHOST:1", "localhost:1")); /* a proxy speaks TLS for us */
    CHECK(!origin_allowed("http://localhost:2", "localhost:1"));
    CHECK(!origin_allowed("http://localhost", "localhost:1"));
    CHECK(!origin_allowed("null", "localhost:1") && !origin_allowed("", "localhost:1"));
    CHECK(!origin_allowed("http://localhost:1", NULL));
}

TEST(a_cookie_is_found_by_its_whole_name)
{
    struct arena a = {0};
    CHECK_STR(cookie_find("a=1; footplate-7171=abc; b=2", "footplate-7171", &a), "abc");
    CHECK_STR(cookie_find("footplate-7171=", "footplate-7171", &a), "");
    CHECK(cookie_find("footplate-71710=abc", "footplate-7171", &a) == NULL);
    CHECK(cookie_find("xfootplate-7171=abc", "footplate-7171", &a) == NULL);
    CHECK(cookie_find("footplate-7171", "footplate-7171", &a) == NULL);
    CHECK(cookie_find(NULL, "footplate-7171", &a) == NULL);
    CHECK(cookie_find(";;; ", "footplate-7171", &a) == NULL);
    arena_free(&a);
}

/* ---- write tokens ---- */

#define WRITE_TOKEN "write-0123456789abcdef"

static int line(struct token *t, const char *text)
{
    struct err e = {0};
    bool any;
    const int rc = token_parse(t, text, "f", &any, &e);
    CHECK(!strstr(e.msg, WRITE_TOKEN)); /* no secret in a message */
    return rc ? rc : any;
}

TEST(a_line_of_the_token_file_says_what_the_token_may_do)
{
    struct token t;
    CHECK_INT(line(&t, "write " WRITE_TOKEN " name=team-a quota=50GiB runs=team-a-* rate=10MB/s\r"),
              1);
    CHECK(t.right == RIGHT_WRITE && t.quota_bytes == (uint64_t)50 << 30);
    CHECK(t.rate_bytes == 10000000);
    CHECK_STR(t.text, WRITE_TOKEN);
    CHECK_STR(t.name, "team-a");
    CHECK_STR(t.runs, "team-a-*");
    CHECK_INT(line(&t, "read " READ_TOKEN " name=alice"), 1);
    CHECK(t.right == RIGHT_READ && t.quota_bytes == 0 && !*t.runs);
    CHECK_INT(line(&t, "  # write " WRITE_TOKEN), 0);
    CHECK_INT(line(&t, ""), 0);
}

TEST(a_line_that_means_nothing_is_refused)
{
    static const char *const lines[] = {
        "write",
        "write short",
        "append " WRITE_TOKEN,
        "write " WRITE_TOKEN " quota=much",
        "write " WRITE_TOKEN " quota=-5GiB",
        "write " WRITE_TOKEN " quota=0",
        "write " WRITE_TOKEN " rate=10MB",
        "write " WRITE_TOKEN " name=../x",
        "write " WRITE_TOKEN " name=",
        "write " WRITE_TOKEN " colour=red",
        "write " WRITE_TOKEN " word",
        "read " WRITE_TOKEN " quota=5GiB",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct token t;
        CHECK_INT(line(&t, lines[i]), ERR_USAGE);
    }
}

TEST(a_write_token_reads_nothing_and_a_read_token_writes_nothing)
{
    struct rights *r = guarded(true);
    struct token t;
    struct err e;
    char session[SESSION_LEN];
    OK(rights_add_text(r, "write " WRITE_TOKEN " name=a", "f", &e));
    CHECK_INT(right_of(r, "10.0.0.1", WRITE_TOKEN, NULL), RIGHT_WRITE);
    CHECK(RIGHT_WRITE < RIGHT_READ); /* by this order all that read or control refuse it */
    CHECK_INT(rights_login(r, address("10.0.0.1"), WRITE_TOKEN, session, &e), ERR_NOT_FOUND);
    CHECK(rights_find_writer(r, WRITE_TOKEN, &t) && strcmp(t.name, "a") == 0);
    CHECK(!rights_find_writer(r, READ_TOKEN, &t));
    CHECK(!rights_find_writer(r, CONTROL_TOKEN, &t));
    CHECK(!rights_find_writer(r, "", &t));
    rights_close(r);
}

TEST(a_changed_file_takes_tokens_away_and_brings_others)
{
    struct rights *r = rights_open(true);
    struct err e;
    OK(rights_add(r, RIGHT_CONTROL, CONTROL_TOKEN, "environment", &e));
    OK(rights_add_text(r, "read " READ_TOKEN, "f", &e));
    OK(rights_replace_text(r, "write " WRITE_TOKEN, "f", &e));
    CHECK_INT(right_of(r, "10.0.0.1", READ_TOKEN, NULL), RIGHT_NONE);
    CHECK_INT(right_of(r, "10.0.0.1", WRITE_TOKEN, NULL), RIGHT_WRITE);
    CHECK_INT(right_of(r, "10.0.0.1", CONTROL_TOKEN, NULL), RIGHT_CONTROL); /* not of the file */
    CHECK_INT(rights_replace_text(r, "nonsense", "f", &e), ERR_USAGE);
    CHECK_INT(right_of(r, "10.0.0.1", WRITE_TOKEN, NULL), RIGHT_WRITE);
    rights_close(r);
}
