/* SPDX-License-Identifier: Apache-2.0 */
/* test_memo.c - the cache: found again, bounded, the least recently used dropped first; async jobs.
 */
#include <stdio.h>
#include <time.h>

#include "base/mem.h"
#include "query/recordkit.h"
#include "serve/limits.h"
#include "serve/memo.h"
#include "test.h"

enum { LIMIT = 1 << 20, EACH = 50000 };

static struct memo *open_memo(size_t bytes_most, struct memory_limit **limit)
{
    struct memo *m;
    struct err e;
    *limit = memory_limit_open();
    OK(memo_open(&m, bytes_most, *limit, &e));
    return m;
}

static void close_memo(struct memo *m, struct memory_limit *limit)
{
    memo_close(m);
    memory_limit_close(limit);
}

static void free_value(struct memo_value *v)
{
    free(v);
}

static struct memo_value *make_value(size_t bytes)
{
    struct memo_value *v = xcalloc(1, sizeof *v);
    *v = (struct memo_value){.bytes = bytes, .free = free_value};
    atomic_init(&v->refs, 1);
    return v;
}

static struct memo_key key_of(const char *text, uint64_t version)
{
    return (struct memo_key){text, strlen(text), version};
}

static void put(struct memo *m, const char *text, uint64_t version, size_t bytes)
{
    const struct memo_key k = key_of(text, version);
    struct memo_value *v = make_value(bytes);
    memo_put(m, &k, v);
    memo_unref(v);
}

/* The bytes of the value; 0: there is none. */
static size_t got(struct memo *m, const char *text, uint64_t version)
{
    const struct memo_key k = key_of(text, version);
    struct memo_value *v = memo_get(m, &k, NULL);
    const size_t n = v ? v->bytes : 0;
    memo_unref(v);
    return n;
}

TEST(a_value_is_found_under_its_key_and_version_only)
{
    struct memory_limit *limit;
    struct memo *m = open_memo(LIMIT, &limit);
    put(m, "one", 1, 100);
    put(m, "two", 1, 200);
    CHECK(got(m, "one", 1) == 100 && got(m, "two", 1) == 200 && got(m, "three", 1) == 0);
    CHECK(got(m, "one", 2) == 0);
    put(m, "one", 2, 300);
    CHECK(got(m, "one", 2) == 300 && got(m, "one", 1) == 0);
    close_memo(m, limit);
}

TEST(a_value_of_older_data_is_found_by_who_can_use_it)
{
    struct memory_limit *limit;
    struct memo *m = open_memo(LIMIT, &limit);
    const struct memo_key k = key_of("key", 2);
    bool older = false;
    put(m, "key", 1, 100);
    struct memo_value *v = memo_get(m, &k, &older);
    CHECK(v && older);
    memo_unref(v);
    put(m, "key", 2, 100);
    v = memo_get(m, &k, &older);
    CHECK(v && !older);
    memo_unref(v);
    close_memo(m, limit);
}

/* Of k0 to k<last>; the oldest is read first, so their order of use stays. */
static size_t bytes_of_numbered(struct memo *m, int last)
{
    size_t bytes = 0;
    char key[16];
    for (int i = 0; i <= last; i++) {
        snprintf(key, sizeof key, "k%d", i);
        bytes += got(m, key, 1);
    }
    return bytes;
}

TEST(bytes_are_bounded_and_what_was_used_stays)
{
    struct memory_limit *limit;
    struct memo *m = open_memo(LIMIT, &limit);
    char key[16];
    put(m, "used", 1, EACH);
    for (int i = 0; i < 200; i++) {
        snprintf(key, sizeof key, "k%d", i);
        put(m, key, 1, EACH);
        CHECK(bytes_of_numbered(m, i) + EACH <= LIMIT);
        CHECK(got(m, "used", 1) == EACH); /* last: it is the newest of all again */
    }
    CHECK(got(m, "k0", 1) == 0 && got(m, "k199", 1) == EACH);
    close_memo(m, limit);
}

TEST(a_value_that_is_larger_than_the_limit_is_cached_alone)
{
    struct memory_limit *limit;
    struct memo *m = open_memo(LIMIT, &limit);
    put(m, "small", 1, 100);
    put(m, "large", 1, 2 * LIMIT);
    CHECK(got(m, "large", 1) == 2 * LIMIT && got(m, "small", 1) == 0);
    put(m, "small", 1, 100);
    CHECK(got(m, "large", 1) == 0 && got(m, "small", 1) == 100);
    close_memo(m, limit);
}

TEST(a_value_outlives_the_cache_for_who_holds_it)
{
    struct memory_limit *limit;
    struct memo *m = open_memo(LIMIT, &limit);
    const struct memo_key k = key_of("key", 1);
    put(m, "key", 1, 100);
    struct memo_value *v = memo_get(m, &k, NULL);
    close_memo(m, limit);
    CHECK(v && v->bytes == 100);
    memo_unref(v);
}

/* ---- jobs ---- */

static int make_job(void *ctx, struct run *run, struct memo_value **out, struct err *e)
{
    (void)run;
    (void)e;
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    atomic_fetch_add((_Atomic int *)ctx, 1);
    *out = make_value(42);
    return 0;
}

/* Asks until there is a value or an error. */
static int wait_for(struct memo *m, const char *path, _Atomic int *made, struct err *e)
{
    const struct memo_key k = key_of("job", 1);
    for (;;) {
        if (got(m, "job", 1) == 42)
            return 0;
        const int rc = memo_start(m, &k, &(struct memo_job){path, make_job, made, NULL}, e);
        if (rc)
            return rc;
        nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    }
}

static const char *record(const char *folder)
{
    const char *path = kit_run(folder, folder, folder, KIT_START);
    struct recordkit k = recordkit_open(path, "a");
    const int64_t at = recordkit_thread(k.events, 7, 7, 1000, "F2 B3 O1 .1");
    recordkit_close(&k, 0, at + 1000, "finished");
    return path;
}

TEST(a_pending_job_is_not_started_twice)
{
    struct memory_limit *limit;
    struct memo *m = open_memo(LIMIT, &limit);
    struct err e;
    _Atomic int made = 0;
    OK(wait_for(m, record("once"), &made, &e));
    CHECK_INT(atomic_load(&made), 1);
    close_memo(m, limit);
}

TEST(a_failed_job_is_reported_once_and_tried_again)
{
    struct memory_limit *limit;
    struct memo *m = open_memo(LIMIT, &limit);
    const char *path = record("away");
    char away[PATH_LEN];
    struct err e;
    _Atomic int made = 0;
    snprintf(away, sizeof away, "%s-away", path);
    CHECK(rename(path, away) == 0);
    CHECK(wait_for(m, path, &made, &e) != 0);
    CHECK(rename(away, path) == 0);
    OK(wait_for(m, path, &made, &e));
    CHECK(rename(path, away) == 0); /* the value stays */
    OK(wait_for(m, path, &made, &e));
    CHECK_INT(atomic_load(&made), 1);
    close_memo(m, limit);
}

enum { FREED = 1000 };

static void free_ctx(void *ctx)
{
    atomic_fetch_add((_Atomic int *)ctx, FREED);
}

TEST(jobs_that_are_pending_at_the_end_are_dropped)
{
    struct memory_limit *limit;
    struct memo *m = open_memo(LIMIT, &limit);
    const char *path = record("end");
    struct err e;
    _Atomic int made = 0;
    for (int i = 0; i < 50; i++) {
        char text[16];
        snprintf(text, sizeof text, "job%d", i);
        const struct memo_key k = key_of(text, 1);
        OK(memo_start(m, &k, &(struct memo_job){path, make_job, &made, free_ctx}, &e));
    }
    close_memo(m, limit);
    CHECK(atomic_load(&made) >= FREED);
    CHECK_INT(atomic_load(&made) / FREED, 50); /* each once */
    CHECK(atomic_load(&made) % FREED < 50);
}
