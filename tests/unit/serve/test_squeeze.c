/* SPDX-License-Identifier: Apache-2.0 */
/* test_squeeze.c - gzip there and back. */
#include "serve/squeeze.h"
#include "test.h"

TEST(what_was_squeezed_comes_back)
{
    struct buf in = {0}, small = {0}, out = {0};
    struct err e;
    for (int i = 0; i < 10000; i++)
        buf_printf(&in, "%d,", i * 7);
    CHECK(squeeze(in.p, in.len, false, &small) && small.len < in.len / 2);
    CHECK(unsqueeze(small.p, small.len, in.len, &out, &e) == 0);
    CHECK(out.len == in.len && memcmp(out.p, in.p, in.len) == 0);
    buf_free(&in);
    buf_free(&small);
    buf_free(&out);
}

TEST(noise_in_few_letters_becomes_smaller_and_comes_back)
{
    struct buf small = {0}, out = {0};
    struct err e;
    char text[20000];
    uint32_t x = 1;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)('A' + ((x = x * 1664525 + 1013904223) >> 28));
    CHECK(squeeze(text, sizeof text, true, &small) && small.len < sizeof text * 6 / 10);
    CHECK(unsqueeze(small.p, small.len, sizeof text, &out, &e) == 0);
    CHECK(memcmp(out.p, text, sizeof text) == 0);
    buf_free(&small);
    buf_free(&out);
}

TEST(what_would_not_become_smaller_stays_as_it_is)
{
    struct buf out = {0};
    uint8_t noise[4096];
    uint32_t x = 1;
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (uint8_t)((x = x * 1664525 + 1013904223) >> 24);
    CHECK(!squeeze("short", 5, false, &out) && out.len == 0);
    CHECK(!squeeze(noise, sizeof noise, false, &out) && out.len == 0);
}

TEST(damaged_bytes_are_refused)
{
    struct buf small = {0}, out = {0};
    struct err e;
    char text[5000];
    memset(text, 'a', sizeof text);
    CHECK(squeeze(text, sizeof text, false, &small));
    CHECK(unsqueeze(small.p, small.len - 1, sizeof text, &out, &e) == ERR_FORMAT);
    CHECK(unsqueeze(small.p, small.len, sizeof text - 1, &out, &e) == ERR_FORMAT);
    small.p[small.len / 2] ^= 0xff;
    CHECK(unsqueeze(small.p, small.len, sizeof text, &out, &e) == ERR_FORMAT);
    buf_free(&small);
}
