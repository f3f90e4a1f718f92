/* SPDX-License-Identifier: Apache-2.0 */
/* test_json_value.c - texts decoded, numbers exact. */
#include <locale.h>

#include "base/mem.h"
#include "json/json.h"
#include "test.h"

/* The one item that the JSON is. */
static struct json_item item_of(const char *json)
{
    struct bytes_memory in;
    struct json_scan s;
    struct json_item it;
    bytes_memory_init(&in, json, strlen(json), 0);
    json_open(&s, &in.in, &(struct json_options){0});
    json_next(&s, &it);
    /* Its text is of the window: point it at the caller's bytes instead. */
    const char *at = it.text.len ? memmem(json, strlen(json), it.text.p, it.text.len) : json;
    it.text.p = at;
    json_close(&s);
    return it;
}

static int64_t ns_of(const char *json)
{
    const struct json_item it = item_of(json);
    int64_t ns;
    CHECK(json_us_to_ns(&it, &ns));
    return ns;
}

static bool has_ns(const char *json)
{
    const struct json_item it = item_of(json);
    int64_t ns;
    return json_us_to_ns(&it, &ns);
}

TEST(microseconds_of_sixteen_digits_keep_their_nanoseconds)
{
    CHECK_INT(ns_of("1661203462598738.125"), 1661203462598738125);
    CHECK_INT(ns_of("4458676522690.655"), 4458676522690655);
    CHECK_INT(ns_of("9007199254740993"), 9007199254740993000); /* no double is this */
    CHECK_INT(ns_of("9007199254740993.001"), 9007199254740993001);
}

TEST(microseconds_are_scaled_by_where_the_point_is)
{
    CHECK_INT(ns_of("0"), 0);
    CHECK_INT(ns_of("1"), 1000);
    CHECK_INT(ns_of("1.5"), 1500);
    CHECK_INT(ns_of("0.25"), 250);
    CHECK_INT(ns_of("0.001"), 1);
    CHECK_INT(ns_of("-2.5"), -2500);
    CHECK_INT(ns_of("12345678.9"), 12345678900);
}

TEST(digits_below_a_nanosecond_are_rounded)
{
    CHECK_INT(ns_of("1.0004"), 1000);
    CHECK_INT(ns_of("1.0005"), 1001);
    CHECK_INT(ns_of("-1.0005"), -1001);
    CHECK_INT(ns_of("0.0004999999999999999999999999999999999999999"), 0);
    CHECK_INT(ns_of("1.99999999999999999999999999"), 2000);
    CHECK_INT(ns_of("0.00000000000000000001"), 0);
}

TEST(microseconds_may_have_an_exponent_or_be_a_text)
{
    CHECK_INT(ns_of("1.5e3"), 1500000);
    CHECK_INT(ns_of("15E-1"), 1500);
    CHECK_INT(ns_of("1.661203462598738125e15"), 1661203462598738125);
    CHECK_INT(ns_of("1e-30"), 0);
    CHECK_INT(ns_of("\"12.5\""), 12500);
}

TEST(microseconds_that_no_clock_holds_are_refused)
{
    CHECK(!has_ns("9223372036854776"));
    CHECK(has_ns("9223372036854775"));
    CHECK(has_ns("9223372036854775.807"));
    CHECK(!has_ns("9223372036854775.808"));
    CHECK(has_ns("-9223372036854775.808"));
    CHECK(!has_ns("1e300"));
    CHECK(!has_ns("1e999999999999"));
    CHECK(!has_ns("\"\""));
    CHECK(!has_ns("\"x\""));
    CHECK(!has_ns("\"1x\""));
    CHECK(!has_ns("true"));
    CHECK(!has_ns("NaN"));
}

TEST(whole_numbers_are_whole_and_fit)
{
    int64_t v;
    struct json_item it = item_of("-9223372036854775808");
    CHECK(json_int(&it, &v) && v == INT64_MIN);
    it = item_of("9223372036854775807");
    CHECK(json_int(&it, &v) && v == INT64_MAX);
    it = item_of("9223372036854775808");
    CHECK(!json_int(&it, &v));
    it = item_of("18446744073709551615");
    CHECK(!json_int(&it, &v));
    it = item_of("1.0");
    CHECK(!json_int(&it, &v));
    it = item_of("1e3");
    CHECK(!json_int(&it, &v));
    it = item_of("\"1\"");
    CHECK(!json_int(&it, &v));
    it = item_of("-123456789");
    CHECK(json_int(&it, &v) && v == -123456789);
}

TEST(every_length_of_digits_is_read_right)
{
    char text[32] = "";
    int64_t want = 0, v;
    for (int n = 1; n <= 18; n++) {
        text[n - 1] = (char)('0' + n % 10);
        text[n] = '\0';
        want = want * 10 + n % 10;
        const struct json_item it = item_of(text);
        CHECK(json_int(&it, &v));
        CHECK_INT(v, want);
    }
}

TEST(doubles_are_the_nearest_there_are_in_any_locale)
{
    static const char *const texts[] = {"0.1",
                                        "1e23",
                                        "9007199254740993",
                                        "2.2250738585072014e-308",
                                        "5e-324",
                                        "-0.0",
                                        "123456789012345678",
                                        "0.30000000000000004",
                                        "1.7976931348623157e308"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        const struct json_item it = item_of(texts[i]);
        double v;
        const double want = strtod(texts[i], NULL);
        CHECK(json_double(&it, &v));
        CHECK(memcmp(&v, &want, sizeof v) == 0);
    }
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8"))
        return; /* not on this machine; the digits above were looked at all the same */
    const struct json_item it = item_of("1.2345678901234567890");
    double v;
    CHECK(json_double(&it, &v));
    NEAR(v, 1.23456789, 1e-8);
}

TEST(a_double_beyond_all_is_refused)
{
    const struct json_item it = item_of("1e999");
    double v;
    CHECK(!json_double(&it, &v));
}

/* ---- texts ---- */

static size_t decode(const char *raw, char *to, size_t room, struct json_faults *f)
{
    const struct json_text t = {raw, (uint32_t)strlen(raw), true, true};
    return json_decode(&t, to, room, f);
}

TEST(escapes_are_decoded)
{
    char to[64];
    struct json_faults f = {0};
    CHECK_INT(decode("a\\n\\t\\\"\\\\\\/\\b\\f\\r", to, sizeof to, &f), 9);
    CHECK_STR(to, "a\n\t\"\\/\b\f\r");
    decode("\\u0041\\u00e9\\u20AC\\ud83d\\uDE00", to, sizeof to, &f);
    CHECK_STR(to, "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    CHECK_INT(decode("\\u0000x", to, sizeof to, &f), 2);
    CHECK_INT(to[0], 0);
    CHECK_INT(f.escapes + f.utf8, 0);
}

TEST(escapes_that_mean_nothing_stay_and_are_counted_once_a_text)
{
    char to[64];
    struct json_faults f = {0};
    decode("C:\\Users\\qx\\", to, sizeof to, &f);
    CHECK_STR(to, "C:\\Users\\qx\\");
    CHECK_INT(f.escapes, 1);
    decode("\\ud800 \\udc00 \\u12 \\ud800\\u0041", to, sizeof to, &f);
    CHECK_STR(to, "\\ud800 \\udc00 \\u12 \\ud800A");
    CHECK_INT(f.escapes, 2);
}

TEST(bytes_that_are_not_utf8_are_replaced_and_counted)
{
    char to[64];
    struct json_faults f = {0};
    decode("a\xff"
           "b\xc3",
           to, sizeof to, &f);
    CHECK_STR(to, "a\xef\xbf\xbd"
                  "b\xef\xbf\xbd");
    CHECK_INT(f.utf8, 1);
    decode("\xed\xa0\x80", to, sizeof to, &f); /* half of a surrogate pair */
    CHECK_STR(to, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    decode("\xc0\x80", to, sizeof to, &f); /* overlong */
    CHECK_STR(to, "\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(a_text_that_does_not_fit_is_cut_between_characters)
{
    char to[5];
    CHECK_INT(decode("ab\xc3\xa9\xc3\xa9", to, sizeof to, NULL), 4);
    CHECK_STR(to, "ab\xc3\xa9");
    CHECK_INT(decode("abc\xc3\xa9", to, sizeof to, NULL), 3);
    CHECK_STR(to, "abc");
    const struct json_text plain = {"abcdefgh", 8, false, false};
    CHECK_INT(json_decode(&plain, to, sizeof to, NULL), 4);
    CHECK_STR(to, "abcd");
}
