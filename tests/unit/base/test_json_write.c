/* SPDX-License-Identifier: Apache-2.0 */
/* Output is compared as text, and read back with jansson as an independent judge. */
#include <jansson.h>

#include "base/json_write.h"
#include "base/mem.h"
#include "test.h"

static const char *text_of(struct buf *b)
{
    buf_u8(b, 0);
    return (const char *)b->p;
}

TEST(objects_and_arrays_nest_with_commas_between)
{
    struct buf b = {0};
    struct jw j = {.out = &b};
    jw_object(&j, NULL);
    jw_str(&j, "a", "x");
    jw_array(&j, "list");
    jw_int(&j, NULL, -5);
    jw_bool(&j, NULL, true);
    jw_null(&j, NULL);
    jw_object(&j, NULL);
    jw_end(&j);
    jw_end(&j);
    jw_str(&j, "none", NULL);
    jw_end(&j);
    CHECK_STR(text_of(&b), "{\"a\":\"x\",\"list\":[-5,true,null,{}],\"none\":null}");
    buf_free(&b);
}

TEST(indented_output_ends_with_a_newline_and_reads_back)
{
    struct buf b = {0};
    struct jw j = {.out = &b, .indent = 2};
    jw_object(&j, NULL);
    jw_array(&j, "a");
    jw_int(&j, NULL, 1);
    jw_end(&j);
    jw_end(&j);
    CHECK_STR(text_of(&b), "{\n  \"a\": [\n    1\n  ]\n}\n");
    buf_free(&b);
}

TEST(text_with_any_byte_comes_out_as_valid_json)
{
    char text[256];
    for (int i = 0; i < 255; i++)
        text[i] = (char)(i + 1);
    text[255] = 0;
    struct buf b = {0};
    struct jw j = {.out = &b};
    jw_array(&j, NULL);
    jw_str(&j, NULL, text);
    jw_end(&j);
    json_error_t why;
    json_t *o = json_loadb((const char *)b.p, b.len, 0, &why);
    if (!o)
        test_fail(__FILE__, __LINE__, "%s", why.text);
    const char *back = json_string_value(json_array_get(o, 0));
    CHECK(strncmp(back, text, 127) == 0);               /* ASCII, controls included */
    CHECK(strcmp(back + 127, "") != 0);                 /* the rest is not UTF-8: */
    CHECK(strncmp(back + 127, "\xef\xbf\xbd", 3) == 0); /* U+FFFD stands in */
    json_decref(o);
    buf_free(&b);
}

TEST(good_utf8_passes_and_bad_utf8_is_replaced)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"gr\xc3\xbc\xc3\x9f", "[\"gr\xc3\xbc\xc3\x9f\"]"},
        {"\xe2\x82\xac", "[\"\xe2\x82\xac\"]"},
        {"\xf0\x9f\x9a\x82", "[\"\xf0\x9f\x9a\x82\"]"},
        {"\xc0\x80", "[\"\xef\xbf\xbd\xef\xbf\xbd\"]"},                 /* overlong */
        {"\xed\xa0\x80", "[\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"]"}, /* surrogate */
        {"\xf4\x90\x80\x80", "[\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"]"},
        {"a\xc3", "[\"a\xef\xbf\xbd\"]"}, /* cut off */
        {"a\xe2\x82", "[\"a\xef\xbf\xbd\xef\xbf\xbd\"]"},
        {"\"\\/\n\t", "[\"\\\"\\\\/\\n\\u0009\"]"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct buf b = {0};
        struct jw j = {.out = &b};
        jw_array(&j, NULL);
        jw_str(&j, NULL, rows[i].in);
        jw_end(&j);
        CHECK_STR(text_of(&b), rows[i].out);
        buf_free(&b);
    }
}

static void check_number(double v, const char *want)
{
    struct buf b = {0};
    struct jw j = {.out = &b};
    jw_num(&j, NULL, v);
    const char *text = text_of(&b);
    if (want)
        CHECK_STR(text, want);
    else
        CHECK(strtod(text, NULL) == v);
    buf_free(&b);
}

TEST(numbers_are_short_and_read_back_as_the_same_double)
{
    check_number(0, "0");
    check_number(-0.0, "0");
    check_number(0.1, "0.1");
    check_number(-12.5, "-12.5");
    check_number(100, "100");
    check_number(123456789012, "123456789012");
    check_number(1.0 / 3, NULL);
    check_number(5e-324, NULL);
    check_number(1.7976931348623157e308, NULL);
    check_number(9007199254740992e3, NULL);
    uint64_t seed = 1;
    for (int i = 0; i < 20000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        double v;
        memcpy(&v, &seed, sizeof v);
        if (isfinite(v))
            check_number(v, NULL);
    }
}

TEST(what_is_no_number_comes_out_as_null)
{
    check_number(NAN, "null");
    check_number(INFINITY, "null");
    check_number(-INFINITY, "null");
}

TEST(integers_are_exact_at_both_ends)
{
    struct buf b = {0};
    struct jw j = {.out = &b};
    jw_array(&j, NULL);
    jw_int(&j, NULL, INT64_MIN);
    jw_int(&j, NULL, INT64_MAX);
    jw_end(&j);
    CHECK_STR(text_of(&b), "[-9223372036854775808,9223372036854775807]");
    buf_free(&b);
}
