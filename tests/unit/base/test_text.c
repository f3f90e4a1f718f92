/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "base/text.h"
#include "test.h"

TEST(digits_compare_by_their_value)
{
    /* In order: every earlier one is less than every later one. */
    static const char *const list[] = {
        "",
        "1",
        "2",
        "10",
        "A",
        "cpu",
        "cpu0",
        "cpu01",
        "cpu1",
        "cpu2",
        "cpu9",
        "cpu10",
        "cpu10a",
        "cpu10b",
        "cpu18446744073709551616",
        "cpu28446744073709551616",
        "cpu99999999999999999999999",
        "cpua",
        "gpu0",
        "gpu0.1",
        "gpu0.2",
        "gpu0.10",
        "gpu1",
    };
    for (size_t i = 0; i < COUNT_OF(list); i++)
        for (size_t k = 0; k < COUNT_OF(list); k++) {
            const int c = name_compare(list[i], list[k]);
            if ((c < 0) != (i < k) || (c == 0) != (i == k))
                test_fail(__FILE__, __LINE__, "\"%s\" against \"%s\" is %d", list[i], list[k], c);
        }
}

TEST(bytes_above_ascii_compare_as_unsigned)
{
    CHECK(name_compare("z", "\xc3\xbc") < 0);
    CHECK(name_compare("\xc3\xbc", "z") > 0);
    CHECK(name_compare("\xc3\xbc", "\xc3\xbc") == 0);
}

TEST(a_character_becomes_its_utf8_bytes)
{
    static const struct {
        uint32_t c;
        const char *bytes;
    } rows[] = {
        {'a', "a"},
        {0x7f, "\x7f"},
        {0x80, "\xc2\x80"},
        {0x7ff, "\xdf\xbf"},
        {0x800, "\xe0\xa0\x80"},
        {0xffff, "\xef\xbf\xbf"},
        {0x10000, "\xf0\x90\x80\x80"},
        {0x10ffff, "\xf4\x8f\xbf\xbf"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[UTF8_MOST + 1] = "";
        CHECK(utf8_put(text, rows[i].c) == strlen(rows[i].bytes));
        CHECK_STR(text, rows[i].bytes);
        CHECK(utf8_len((const unsigned char *)text) == strlen(text));
    }
}

TEST(hexadecimal_digits_are_read_in_either_case)
{
    const char digits[] = "0123456789abcdef", large[] = "0123456789ABCDEF";
    for (int i = 0; i < 16; i++) {
        CHECK(hex_digit(digits[i]) == i);
        CHECK(hex_digit(large[i]) == i);
    }
    for (const char *no = "/:@`gG \x10"; *no; no++)
        CHECK(hex_digit(*no) == -1);
    CHECK(hex_digit('\0') == -1);
}
