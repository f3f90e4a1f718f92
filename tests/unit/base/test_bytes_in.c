/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that a thread reads ahead: the same, in the same order, with the same end. */
#include <stdatomic.h>

#include "base/bytes_in.h"
#include "base/mem.h"
#include "test.h"

enum { MANY = 3000001 }; /* several times what is read ahead */

/* Counts up to `len`, in pieces of all sizes, then says `last`. */
struct counting {
    struct bytes_in in;
    uint64_t at, len;
    int last;
    atomic_uint asked_again; /* after the end */
};

static uint8_t byte_at(uint64_t i)
{
    return (uint8_t)(i ^ i >> 8 ^ i >> 16);
}

static int64_t read_counting(struct bytes_in *in, void *to, size_t most, struct err *e)
{
    struct counting *c = (struct counting *)in;
    uint8_t *p = to;
    if (c->at == c->len) {
        atomic_fetch_add(&c->asked_again, 1);
        return c->last ? err_set(e, c->last, "broken after %llu", (unsigned long long)c->len) : 0;
    }
    size_t n = MIN_OF(most, (size_t)(1 + c->at * 7919 % 70000));
    n = MIN_OF(n, (size_t)(c->len - c->at));
    for (size_t i = 0; i < n; i++)
        p[i] = byte_at(c->at++);
    return (int64_t)n;
}

static struct counting counting(uint64_t len, int last)
{
    return (struct counting){.in = {read_counting}, .len = len, .last = last};
}

/* Reads all in pieces of up to `most`; returns what was said at the end. */
static int64_t read_all(struct bytes_in *in, size_t most, uint64_t *len, struct err *e)
{
    uint8_t *p = xmalloc(most);
    int64_t n;
    *len = 0;
    while ((n = in->read(in, p, most, e)) > 0) {
        CHECK((size_t)n <= most);
        for (int64_t i = 0; i < n; i++)
            CHECK_INT(p[i], byte_at((*len)++));
    }
    free(p);
    return n;
}

static struct bytes_ahead *open_ahead(struct counting *c)
{
    struct bytes_ahead *a = bytes_ahead_open(&c->in);
    CHECK(a != NULL);
    return a;
}

TEST(every_byte_comes_once_and_in_order_however_it_is_read)
{
    static const size_t sizes[] = {1000, 4097, 128 << 10, 1 << 20};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct counting c = counting(MANY, 0);
        struct bytes_ahead *a = open_ahead(&c);
        struct err e;
        uint64_t len;
        CHECK_INT(read_all(bytes_ahead_bytes(a), sizes[i], &len, &e), 0);
        CHECK_INT(len, MANY);
        CHECK_INT(read_all(bytes_ahead_bytes(a), sizes[i], &len, &e), 0);
        CHECK_INT(len, 0);
        bytes_ahead_close(a);
        CHECK_INT(c.asked_again, 1);
    }
}

TEST(an_empty_source_has_an_end)
{
    struct counting c = counting(0, 0);
    struct bytes_ahead *a = open_ahead(&c);
    struct err e;
    uint64_t len;
    CHECK_INT(read_all(bytes_ahead_bytes(a), 10, &len, &e), 0);
    CHECK_INT(len, 0);
    bytes_ahead_close(a);
}

TEST(a_failure_comes_behind_all_bytes_before_it_and_stays)
{
    struct counting c = counting(MANY, ERR_FORMAT);
    struct bytes_ahead *a = open_ahead(&c);
    struct err e = {0};
    uint64_t len;
    CHECK_INT(read_all(bytes_ahead_bytes(a), 5000, &len, &e), ERR_FORMAT);
    CHECK_INT(len, MANY);
    CHECK_STR(e.msg, "broken after 3000001");
    e = (struct err){0};
    CHECK_INT(read_all(bytes_ahead_bytes(a), 5000, &len, &e), ERR_FORMAT);
    CHECK_STR(e.msg, "broken after 3000001");
    bytes_ahead_close(a);
}

/* Which would not end otherwise: the source has no end, and the thread waits for room. */
TEST(closing_does_not_wait_for_what_nobody_reads)
{
    struct counting c = counting(UINT64_MAX, 0);
    struct bytes_ahead *a = open_ahead(&c);
    uint8_t first[3];
    struct err e;
    CHECK(bytes_ahead_bytes(a)->read(bytes_ahead_bytes(a), first, sizeof first, &e) > 0);
    CHECK_INT(first[0], byte_at(0));
    bytes_ahead_close(a);
    bytes_ahead_close(NULL);
    CHECK(c.at < 16 << 20);
}
