/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "base/mem.h"
#include "test.h"

static const uint64_t numbers[] = {
    0, 1, 127, 128, 16383, 16384, UINT32_MAX, UINT64_C(1) << 63, UINT64_MAX - 1, UINT64_MAX,
};

TEST(numbers_of_every_width_read_back)
{
    struct buf b = {0};
    buf_u8(&b, 0xab);
    buf_u16(&b, 0x1234);
    buf_u32(&b, 0xdeadbeef);
    buf_u64(&b, UINT64_C(0x0123456789abcdef));
    buf_f64(&b, -2.5);
    CHECK_INT(b.len, 23);
    CHECK_INT(b.p[1], 0x34); /* little-endian on disk */
    struct cur c = cur_of(b.p, b.len);
    CHECK_INT(cur_u8(&c), 0xab);
    CHECK_INT(cur_u16(&c), 0x1234);
    CHECK_INT(cur_u32(&c), 0xdeadbeef);
    CHECK(cur_u64(&c) == UINT64_C(0x0123456789abcdef));
    NEAR(cur_f64(&c), -2.5, 0);
    CHECK(!c.bad && cur_left(&c) == 0);
    buf_free(&b);
}

TEST(varints_read_back_at_every_edge)
{
    struct buf b = {0};
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        buf_varint(&b, numbers[i]);
    struct cur c = cur_of(b.p, b.len);
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        CHECK(cur_varint(&c) == numbers[i]);
    CHECK(!c.bad && cur_left(&c) == 0);
    buf_free(&b);
}

TEST(zigzag_maps_small_numbers_of_both_signs_to_small_ones)
{
    CHECK_INT(zigzag(0), 0);
    CHECK_INT(zigzag(-1), 1);
    CHECK_INT(zigzag(1), 2);
    static const int64_t edges[] = {0, 1, -1, 1000, -1000, INT64_MAX, INT64_MIN, INT64_MIN + 1};
    for (size_t i = 0; i < COUNT_OF(edges); i++)
        CHECK(unzigzag(zigzag(edges[i])) == edges[i]);
}

TEST(a_cursor_asked_for_more_than_it_has_turns_bad_and_answers_zeros)
{
    const uint8_t bytes[] = {1, 2, 3};
    struct cur c = cur_of(bytes, sizeof bytes);
    CHECK_INT(cur_u32(&c), 0);
    CHECK(c.bad);
    CHECK_INT(cur_u8(&c), 0); /* stays bad though a byte is there */
    CHECK(cur_take(&c, 0) == NULL);
}

TEST(a_varint_that_never_ends_is_refused)
{
    uint8_t bytes[16];
    memset(bytes, 0x80, sizeof bytes);
    struct cur c = cur_of(bytes, sizeof bytes);
    CHECK_INT(cur_varint(&c), 0);
    CHECK(c.bad);
    struct cur half = cur_of(bytes, 2);
    CHECK_INT(cur_varint(&half), 0);
    CHECK(half.bad);
}

TEST(a_varint_above_its_limit_is_refused)
{
    struct buf b = {0};
    buf_varint(&b, 300);
    struct cur c = cur_of(b.p, b.len);
    CHECK_INT(cur_varint_most(&c, 300), 300);
    CHECK(!c.bad);
    c = cur_of(b.p, b.len);
    CHECK_INT(cur_varint_most(&c, 299), 0);
    CHECK(c.bad);
    buf_free(&b);
}

TEST(strings_read_back_and_those_too_long_or_with_nul_are_refused)
{
    struct buf b = {0};
    char out[8];
    buf_str(&b, "sevench");
    struct cur c = cur_of(b.p, b.len);
    cur_str(&c, out, sizeof out);
    CHECK_STR(out, "sevench");
    CHECK(!c.bad);
    c = cur_of(b.p, b.len);
    cur_str(&c, out, 7);
    CHECK(c.bad);
    CHECK_STR(out, "");
    c = cur_of("\3a\0b", 4);
    cur_str(&c, out, sizeof out);
    CHECK(c.bad);
    c = cur_of("\5abc", 4);
    cur_str(&c, out, sizeof out);
    CHECK(c.bad);
    buf_free(&b);
}

TEST(a_buffer_grows_and_keeps_what_it_has)
{
    struct buf b = {0};
    for (unsigned i = 0; i < 100000; i++)
        buf_u32(&b, i);
    for (unsigned i = 0; i < 100000; i++) {
        uint32_t v;
        memcpy(&v, b.p + 4 * (size_t)i, 4);
        CHECK_INT(v, i);
    }
    buf_free(&b);
    CHECK(b.p == NULL && b.len == 0);
    buf_put(&b, NULL, 0);
    CHECK_INT(b.len, 0);
    buf_free(&b);
}

TEST(printing_appends_text_without_its_nul)
{
    struct buf b = {0};
    buf_printf(&b, "%s", "");
    buf_printf(&b, "%d,%s", 5, "x");
    buf_printf(&b, "%1000d", 1);
    CHECK_INT(b.len, 1003);
    CHECK(memcmp(b.p, "5,x ", 4) == 0);
    buf_free(&b);
}

TEST(whole_numbers_are_written_as_printf_does_at_every_length)
{
    char text[32];
    struct buf b = {0};
    uint64_t ten = 1;
    for (unsigned digits = 1; digits <= 19; digits++, ten *= 10)
        for (uint64_t v = ten - 2; v != ten + 3; v++)
            for (int sign = 0; sign < 2; sign++) {
                const int64_t x = sign ? -(int64_t)v : (int64_t)v;
                b.len = 0;
                buf_int(&b, x);
                buf_u8(&b, 0);
                snprintf(text, sizeof text, "%lld", (long long)x);
                CHECK_STR((char *)b.p, text);
            }
    b.len = 0;
    buf_int(&b, INT64_MIN);
    buf_int(&b, INT64_MAX);
    buf_u8(&b, 0);
    CHECK_STR((char *)b.p, "-92233720368547758089223372036854775807");
    buf_free(&b);
}

TEST(base64_is_padded_and_stands_behind_what_was_there)
{
    static const char *const pairs[][2] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
        {"\xff\xfe\xfb", "//77"},
    };
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        struct buf b = {0};
        buf_put(&b, "x", 1);
        buf_base64(&b, pairs[i][0], strlen(pairs[i][0]));
        buf_u8(&b, 0);
        CHECK_STR((const char *)b.p + 1, pairs[i][1]);
        buf_free(&b);
    }
}
