/* SPDX-License-Identifier: Apache-2.0 */
/* test_gzip.c - gzip as a source of bytes, by both engines. */
#include <zlib.h>

#include "base/buf.h"
#include "base/gzip.h"
#include "base/mem.h"
#include "test.h"

static void put_gzip(struct buf *out, const void *p, size_t n)
{
    z_stream z = {0};
    CHECK(deflateInit2(&z, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    buf_reserve(out, deflateBound(&z, n) + 64);
    z.next_in = (Bytef *)(uintptr_t)p;
    z.avail_in = (uInt)n;
    z.next_out = out->p + out->len;
    z.avail_out = (uInt)(out->cap - out->len);
    CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
    out->len += z.total_out;
    deflateEnd(&z);
}

static void put_lines(struct buf *out, int from, int to)
{
    for (int i = from; i < to; i++)
        buf_printf(out, "line %d of a text that is worth compressing\n", i);
}

struct inflated {
    struct buf bytes;
    int rc;
    bool garbage;
    struct err e;
};

static bool has_engine(enum inflate_engine engine)
{
    struct bytes_memory in;
    struct inflate *z;
    struct err e;
    bytes_memory_init(&in, "", 0, 0);
    if (inflate_open(&z, &in.in, engine, &e) != 0)
        return false;
    inflate_close(z);
    return true;
}

static struct inflated inflate_all(const struct buf *gz, size_t piece, size_t room,
                                   enum inflate_engine engine)
{
    struct inflated r = {0};
    struct bytes_memory in;
    struct inflate *z;
    struct err e;
    bytes_memory_init(&in, gz->p, gz->len, piece);
    OK(inflate_open(&z, &in.in, engine, &e));
    for (int64_t n = 1; n > 0;) {
        buf_reserve(&r.bytes, room);
        n = inflate_bytes(z)->read(inflate_bytes(z), r.bytes.p + r.bytes.len, room, &r.e);
        r.rc = n < 0 ? (int)n : 0;
        r.bytes.len += n > 0 ? (size_t)n : 0;
    }
    if (r.rc != 0) { /* it stays that way */
        struct err again;
        char byte;
        CHECK_INT(inflate_bytes(z)->read(inflate_bytes(z), &byte, 1, &again), r.rc);
    }
    r.garbage = inflate_has_garbage(z);
    inflate_close(z);
    return r;
}

static void check_whole(const struct buf *gz, const struct buf *want, bool garbage)
{
    for (enum inflate_engine engine = INFLATE_ANY; engine <= INFLATE_ZLIB; engine++)
        for (size_t piece = 0; piece < 3000; piece = piece * 3 + 1)
            for (size_t room = 1000; room < 3000000; room *= 50) {
                if (!has_engine(engine))
                    continue;
                struct inflated r = inflate_all(gz, piece, room, engine);
                CHECK_INT(r.rc, 0);
                CHECK_INT(r.bytes.len, want->len);
                CHECK(memcmp(r.bytes.p, want->p, want->len) == 0);
                CHECK(r.garbage == garbage);
                buf_free(&r.bytes);
            }
}

static void check_fails(const struct buf *gz, const char *words)
{
    for (enum inflate_engine engine = INFLATE_ANY; engine <= INFLATE_ZLIB; engine++) {
        if (!has_engine(engine))
            continue;
        struct inflated r = inflate_all(gz, 100, 100000, engine);
        CHECK_INT(r.rc, ERR_FORMAT);
        if (!strstr(r.e.msg, words))
            test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", r.e.msg, words);
        buf_free(&r.bytes);
    }
}

TEST(one_of_the_engines_is_always_there)
{
    CHECK(has_engine(INFLATE_ANY));
    CHECK(has_engine(INFLATE_ZLIB));
}

TEST(isa_l_is_used_where_it_was_built_in)
{
    if (!has_engine(INFLATE_ISAL))
        SKIP("libisal.so.2 is not on this machine, or its header was not there to build with");
}

TEST(gzip_is_known_by_its_first_two_bytes)
{
    CHECK(inflate_sniff("\x1f\x8b\x08", 3));
    CHECK(!inflate_sniff("\x1f", 1));
    CHECK(!inflate_sniff("{\"", 2));
}

TEST(a_member_comes_out_as_it_went_in)
{
    struct buf text = {0}, gz = {0};
    put_lines(&text, 0, 3000);
    put_gzip(&gz, text.p, text.len);
    check_whole(&gz, &text, false);
    buf_free(&text);
    buf_free(&gz);
}

TEST(members_one_after_the_other_are_one_text)
{
    struct buf text = {0}, gz = {0};
    put_lines(&text, 0, 1000);
    const size_t first = text.len;
    put_gzip(&gz, text.p, first);
    put_gzip(&gz, "", 0);
    put_lines(&text, 1000, 1500);
    put_gzip(&gz, text.p + first, text.len - first);
    check_whole(&gz, &text, false);
    buf_put(&gz, "\0\0\0\0\0\0\0\0\0\0\0\0", 12); /* padding */
    check_whole(&gz, &text, false);
    buf_put(&gz, "junk", 4);
    check_whole(&gz, &text, true);
    buf_free(&text);
    buf_free(&gz);
}

TEST(data_that_ends_early_gives_what_it_has_and_then_says_so)
{
    struct buf text = {0}, gz = {0};
    put_lines(&text, 0, 3000);
    put_gzip(&gz, text.p, text.len);
    gz.len -= 5; /* in the checksum */
    check_fails(&gz, "ends early");
    struct inflated r = inflate_all(&gz, 0, 100000, INFLATE_ANY);
    CHECK_INT(r.bytes.len, text.len);
    buf_free(&r.bytes);
    gz.len = gz.len / 2;
    check_fails(&gz, "ends early");
    gz.len = 5; /* in the header */
    check_fails(&gz, "ends early");
    gz.len = 0;
    check_fails(&gz, "ends early");
    buf_free(&text);
    buf_free(&gz);
}

TEST(a_wrong_checksum_is_noticed)
{
    struct buf text = {0}, gz = {0};
    put_lines(&text, 0, 100);
    put_gzip(&gz, text.p, text.len);
    gz.p[gz.len - 6] ^= 1;
    check_fails(&gz, "damaged");
    buf_free(&text);
    buf_free(&gz);
}

TEST(damage_in_the_middle_is_noticed)
{
    struct buf text = {0}, gz = {0};
    put_lines(&text, 0, 3000);
    put_gzip(&gz, text.p, text.len);
    memset(gz.p + gz.len / 2, 0xff, 40);
    check_fails(&gz, "damaged");
    buf_free(&text);
    buf_free(&gz);
}
