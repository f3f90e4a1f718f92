/* SPDX-License-Identifier: Apache-2.0 */
/* test_request.c - request lines taken apart, and parameters by a route's table. */
#include "serve/route.h"
#include "test.h"

static const struct route_param params[] = {
    {"name", PARAM_TEXT, .help = "Text."},
    {"many", PARAM_TEXT, .repeat = true, .help = "Texts."},
    {"count", PARAM_INT, .lo = 1, .hi = 100, .help = "Number."},
    {"from", PARAM_TIME, .help = "Time."},
    {"all", PARAM_FLAG, .help = "Flag."},
    {0},
};
static const struct route route = {.path = "/x", .params = params};

struct read {
    struct arena arena;
    struct request q;
    struct route_request ask;
    struct err e;
    int rc;
};

static void read_uri(struct read *r, const char *uri)
{
    *r = (struct read){0};
    r->rc = request_parse(&r->q, uri, &r->arena, &r->e);
    if (r->rc == 0)
        r->rc = request_params(&r->q, &route, &r->arena, &r->ask, &r->e);
}

static int code_of(const char *uri)
{
    struct read r;
    read_uri(&r, uri);
    arena_free(&r.arena);
    return r.rc;
}

TEST(a_path_is_words_that_are_decoded_one_by_one)
{
    struct read r;
    read_uri(&r, "/runs/a%20b%2Fc/s+t");
    CHECK(r.rc == 0 && r.q.n_steps == 3);
    CHECK_STR(r.q.step[0], "runs");
    CHECK_STR(r.q.step[1], "a b/c"); /* a slash that is written so does not part words */
    CHECK_STR(r.q.step[2], "s+t");
    arena_free(&r.arena);
}

TEST(times_near_the_ends_of_64_bits_are_refused)
{
    CHECK(code_of("/x?from=-9223372036854775808") == ERR_USAGE);
    CHECK(code_of("/x?from=9223372036854775807") == ERR_USAGE);
    CHECK(code_of("/x?from=4611686018427387904") == ERR_USAGE);
    CHECK(code_of("/x?from=1763280000000000000") == 0);
    CHECK(code_of("/x?from=4102444800000000000") == 0); /* the year 2100 */
    CHECK(code_of("/x?from=-5000000000") == 0);
}

TEST(a_path_that_is_shorter_than_the_prefix_has_no_route)
{
    struct read r;
    const char *name;
    bool other;
    read_uri(&r, "/");
    CHECK(r.rc == 0 && r.q.n_steps == 0);
    CHECK(request_route(&r.q, 2, ROUTE_GET, &name, &other) == NULL); /* "/api/v1" is left out */
    CHECK(!name && !other);
    arena_free(&r.arena);
}

TEST(the_root_has_no_words_and_empty_words_count)
{
    struct read r;
    read_uri(&r, "/");
    CHECK(r.rc == 0 && r.q.n_steps == 0);
    arena_free(&r.arena);
    read_uri(&r, "/a//b");
    CHECK(r.q.n_steps == 3);
    CHECK_STR(r.q.step[1], "");
    arena_free(&r.arena);
}

TEST(values_are_decoded_and_kept_in_order)
{
    struct read r;
    read_uri(&r, "/x?many=a%3D1&count=7&many=b+c&from=-5&all=1&name=");
    CHECK(r.rc == 0 && r.ask.n_values == 6);
    CHECK_STR(r.ask.values[0].text, "a=1");
    CHECK_STR(r.ask.values[2].text, "b c");
    CHECK(route_number(&r.ask, "count", 0) == 7);
    CHECK(route_time(&r.ask, "from").ns == -5);
    CHECK(route_number(&r.ask, "all", 0) == 1);
    CHECK_STR(route_text(&r.ask, "name"), "");
    CHECK(route_text(&r.ask, "none") == NULL && route_number(&r.ask, "none", 3) == 3);
    arena_free(&r.arena);
}

TEST(what_is_not_well_formed_is_refused)
{
    static const char *const wrong[] = {
        "",
        "x",
        "http://a/",
        "/%",
        "/%4",
        "/%zz",
        "/a%00b",
        "/a\x01",
        "/a%7f",
        "/x?name=%0a",
        "/x?name=%",
        "/x?other=1",
        "/x?count=",
        "/x?count=0",
        "/x?count=101",
        "/x?count=1x",
        "/x?count= 1",
        "/x?count=+1",
        "/x?from=1e5",
        "/x?from=99999999999999999999",
        "/x?all=2",
        "/x?name=1&name=2",
        "/x?=1",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK(code_of(wrong[i]) == ERR_USAGE);
}

TEST(too_long_and_too_many_is_refused)
{
    char uri[REQUEST_URI_MOST + 2];
    memset(uri, 'a', sizeof uri - 1);
    uri[0] = '/';
    CHECK(code_of(uri) == ERR_USAGE);
    uri[REQUEST_URI_MOST] = 0;
    CHECK(code_of(uri) == 0);
    CHECK(code_of("/1/2/3/4/5/6/7/8") == 0);
    CHECK(code_of("/1/2/3/4/5/6/7/8/9") == ERR_NOT_FOUND);
    size_t at = (size_t)snprintf(uri, sizeof uri, "/x?");
    for (int i = 0; i < REQUEST_VALUES; i++)
        at += (size_t)snprintf(uri + at, sizeof uri - at, "many=%d&", i);
    CHECK(code_of(uri) == 0);
    snprintf(uri + at, sizeof uri - at, "many=x");
    CHECK(code_of(uri) == ERR_USAGE);
}

struct found {
    const struct route *route;
    char name[32]; /* "": none */
    bool other;    /* with another method there is one */
};

static struct found find(const char *uri, enum route_method m)
{
    struct read r = {0};
    struct found f = {0};
    const char *name;
    CHECK(request_parse(&r.q, uri, &r.arena, &r.e) == 0);
    f.route = request_route(&r.q, 2, m, &name, &f.other);
    snprintf(f.name, sizeof f.name, "%s", name ? name : "");
    arena_free(&r.arena);
    return f;
}

TEST(routes_are_found_by_path_and_method)
{
    const struct found status = find("/api/v1/status", ROUTE_GET);
    CHECK(status.route && !*status.name);
    const struct found posted = find("/api/v1/status", ROUTE_POST);
    CHECK(!posted.route && posted.other);
    static const char *const none[] = {"/api/v1/status/x", "/api/v1/statu", "/api/v1",
                                       "/api/v1/runs//live"}; /* a run has a name */
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        CHECK(!find(none[i], ROUTE_GET).route && !find(none[i], ROUTE_GET).other);
    const struct found live = find("/api/v1/runs/a%20b/live", ROUTE_GET);
    CHECK(live.route && live.route != status.route);
    CHECK_STR(live.name, "a b");
}
