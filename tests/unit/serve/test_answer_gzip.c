/* SPDX-License-Identifier: Apache-2.0 */
/* test_answer_gzip.c - gzip there and back. */
#include "base/gzip.h"
#include "base/mem.h"
#include "test.h"

typedef bool packer(const void *p, size_t n, bool noise, struct buf *out);

/* What it does with the library that the machine may have, and without. */
static packer *const packers[] = {gzip_pack, gzip_pack_zlib};

static void check_comes_back(packer *with, const void *p, size_t n, bool noise, size_t most)
{
    struct buf small = {0}, out = {0};
    struct err e;
    CHECK(with(p, n, noise, &small) && small.len < most);
    CHECK(gzip_unpack(small.p, small.len, n, &out, &e) == 0);
    CHECK(out.len == n && memcmp(out.p, p, n) == 0);
    buf_free(&small);
    buf_free(&out);
}

TEST(what_was_compressed_comes_back)
{
    struct buf in = {0};
    for (int i = 0; i < 10000; i++)
        buf_printf(&in, "%d,", i * 7);
    for (size_t k = 0; k < COUNT_OF(packers); k++)
        check_comes_back(packers[k], in.p, in.len, false, in.len / 2);
    buf_free(&in);
}

TEST(noise_in_few_letters_becomes_smaller_and_comes_back)
{
    char text[20000];
    uint32_t x = 1;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)('A' + ((x = x * 1664525 + 1013904223) >> 28));
    for (size_t k = 0; k < COUNT_OF(packers); k++)
        check_comes_back(packers[k], text, sizeof text, true, sizeof text * 6 / 10);
}

TEST(what_would_not_become_smaller_stays_as_it_is)
{
    struct buf out = {0};
    uint8_t noise[4096];
    uint32_t x = 1;
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (uint8_t)((x = x * 1664525 + 1013904223) >> 24);
    CHECK(!gzip_pack("short", 5, false, &out) && out.len == 0);
    for (size_t k = 0; k < COUNT_OF(packers); k++)
        CHECK(!packers[k](noise, sizeof noise, false, &out) && out.len == 0);
}

TEST(damaged_bytes_are_refused)
{
    struct buf small = {0}, out = {0};
    struct err e;
    char text[5000];
    memset(text, 'a', sizeof text);
    CHECK(gzip_pack(text, sizeof text, false, &small));
    CHECK(gzip_unpack(small.p, small.len - 1, sizeof text, &out, &e) == ERR_FORMAT);
    CHECK(gzip_unpack(small.p, small.len, sizeof text - 1, &out, &e) == ERR_FORMAT);
    small.p[small.len / 2] ^= 0xff;
    CHECK(gzip_unpack(small.p, small.len, sizeof text, &out, &e) == ERR_FORMAT);
    buf_free(&small);
}
