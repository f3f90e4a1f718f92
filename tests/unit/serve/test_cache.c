/* SPDX-License-Identifier: Apache-2.0 */
/* test_cache.c - answers that are kept: found again, bounded, the oldest given up first. */
#include <stdio.h>

#include "serve/cache.h"
#include "test.h"

static struct reply *make(size_t bytes)
{
    struct buf b = {0};
    buf_reserve(&b, bytes);
    memset(b.p, 'x', bytes);
    b.len = bytes;
    return reply_make(&(struct reply_head){.status = 200, .type = "text/plain"}, &b);
}

static void put(struct cache *c, const char *key, size_t bytes)
{
    struct reply *r = make(bytes);
    cache_put(c, key, strlen(key), r);
    reply_free(r);
}

static size_t got(struct cache *c, const char *key)
{
    struct reply *r = cache_get(c, key, strlen(key));
    const size_t n = r ? reply_bytes(r) : 0;
    reply_free(r);
    return n;
}

TEST(what_was_put_is_found_under_its_key_only)
{
    struct cache *c = cache_open(1 << 20);
    put(c, "one", 100);
    put(c, "two", 200);
    CHECK(got(c, "one") == 100 && got(c, "two") == 200 && got(c, "three") == 0);
    put(c, "one", 300);
    CHECK(got(c, "one") == 300);
    cache_close(c);
}

TEST(bytes_are_bounded_and_what_was_used_stays)
{
    enum { MOST = 1 << 20, EACH = 50000 };
    struct cache *c = cache_open(MOST);
    char key[16];
    put(c, "used", EACH);
    for (int i = 0; i < 200; i++) {
        snprintf(key, sizeof key, "k%d", i);
        put(c, key, EACH);
        CHECK(got(c, "used") == EACH);
        CHECK(cache_bytes(c) <= MOST);
    }
    CHECK(got(c, "k0") == 0 && got(c, "k199") == EACH);
    cache_close(c);
}

TEST(one_that_would_crowd_out_the_rest_is_not_kept)
{
    struct cache *c = cache_open(80000);
    put(c, "small", 100);
    put(c, "large", 10001);
    CHECK(got(c, "large") == 0 && got(c, "small") == 100);
    cache_close(c);
}

TEST(a_reply_outlives_the_cache_for_who_holds_it)
{
    struct cache *c = cache_open(1 << 20);
    put(c, "key", 100);
    struct reply *r = cache_get(c, "key", 3);
    cache_close(c);
    CHECK(r && reply_bytes(r) == 100 && reply_status(r) == 200);
    reply_free(r);
}
