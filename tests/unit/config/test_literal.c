/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "config/profilerconfig.h"
#include "test.h"

/* The literal as compact JSON with sorted keys, or the sentence that refuses it. */
static char *shown(const char *text)
{
    json_t *v;
    struct err e;
    if (literal_parse(text, strlen(text), &v, &e) != 0)
        return xstrdup(e.msg);
    char *s =
        json_dumps(v, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY | JSON_REAL_PRECISION(10));
    json_decref(v);
    return s;
}

static void check(const char *text, const char *want)
{
    char *got = shown(text);
    if (strcmp(got, want) != 0)
        test_fail(__FILE__, __LINE__, "%s: %s, not %s", text, got, want);
    free(got);
}

TEST(dicts_as_python_prints_them_are_read)
{
    check("{'StartStep': 5, 'NumSteps': 1}", "{\"NumSteps\":1,\"StartStep\":5}");
    check("{\"StartStep\": 5, \"NumSteps\": 1, }", "{\"NumSteps\":1,\"StartStep\":5}");
    check("{}", "{}");
    check(" {\n'a' : [1, 2.5, (3,), [],] ,\t} ", "{\"a\":[1,2.5,[3],[]]}");
    check("{'a': True, 'b': False, 'c': None}", "{\"a\":true,\"b\":false,\"c\":null}");
    check("{'a': true, 'b': false, 'c': null, 'd': none}",
          "{\"a\":true,\"b\":false,\"c\":null,\"d\":null}");
    check("{'a': 1, 'a': 2}", "{\"a\":2}");
}

TEST(numbers_are_decimal_and_whole_where_they_are)
{
    check("[0, -7, +7, 1.5, .5, 5., 1e3, -2.5E-1]", "[0,-7,7,1.5,0.5,5.0,1000.0,-0.25]");
    check("9223372036854775807", "9223372036854775807");
    check("9223372036854775808", "9.223372037e18");
    check("1e999", "invalid number at character 1");
    check("--1", "invalid number at character 1");
    check("1-1", "invalid number at character 1");
    check("1.2.3", "invalid number at character 1");
    check("0x10", "unexpected text after the end at character 2");
}

TEST(strings_have_either_quote_and_pythons_escapes)
{
    check("'a\"b'", "\"a\\\"b\"");
    check("\"it's\"", "\"it's\"");
    check("'\\n\\t\\\\\\''", "\"\\n\\t\\\\'\"");
    check("'\\x41\\u00e9\\U0001F600'", "\"A\xc3\xa9\xf0\x9f\x98\x80\"");
    check("r'\\d+\\n'", "\"\\\\d+\\\\n\"");
    check("'\\d+'", "\"\\\\d+\"");
    check("u'x'", "\"x\"");
    check("''", "\"\"");
    check("'a\\\nb'", "\"ab\"");
    check("'\\x7f\\x80\\u07ff\\u0800\\uffff\\U00010000\\U0010ffff'",
          "\"\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\"");
    check("'\\ud7ff\\ue000'", "\"\xed\x9f\xbf\xee\x80\x80\"");
    check("'\\udfff'", "invalid string at character 8");
    check("'\\U00110000'", "invalid string at character 12");
    check("b'x'", "expected a value, found a name at character 1");
    check("rb'x'", "expected a value, found a name at character 1");
    check("T", "expected a value, found a name at character 1");
    check("'abc", "invalid string at character 5");
    check("'abc\\", "invalid string at character 6");
    check("'\\xzz'", "invalid string at character 4");
    check("'\\ud800'", "invalid string at character 8");
    check("'\\x00'", "invalid string at character 6");
    check("'\xff'", "invalid string at character 3");
}

TEST(names_calls_and_operators_are_refused_never_evaluated)
{
    check("__import__('os').system('true')", "expected a value at character 1");
    check("{'a': exit()}", "expected a value, found a name at character 7");
    check("{'a': 1+1}", "invalid number at character 7");
    check("[x for x in ()]", "expected a value, found a name at character 2");
    check("{1: 2}", "a key must be a string at character 3");
    check("{'a'}", "missing colon after a key at character 5");
    check("{'a': 1 'b': 2}", "missing comma or closing bracket at character 9");
    check("{'a': 1", "missing comma or closing bracket at character 8");
    check("{'a':", "unexpected end of text at character 6");
    check("{,}", "expected a value at character 2");
    check("{} {}", "unexpected text after the end at character 4");
    check("", "unexpected end of text at character 1");
    check("[1]]", "unexpected text after the end at character 4");
    check("(1]", "missing comma or closing bracket at character 3");
}

TEST(depth_and_length_are_bounded)
{
    check("[[[[[[[[1]]]]]]]]", "[[[[[[[[1]]]]]]]]");
    check("[[[[[[[[[1]]]]]]]]]", "brackets nested too deep at character 9");
    char *deep = xmalloc(60001);
    memset(deep, '{', 60000);
    deep[60000] = 0;
    char *why = shown(deep);
    CHECK(strstr(why, "a key") || strstr(why, "too deep"));
    free(why);
    free(deep);
    struct err e;
    json_t *v;
    char *big = xcalloc(1, LITERAL_MOST + 1);
    CHECK_INT(literal_parse(big, LITERAL_MOST + 1, &v, &e), ERR_LIMIT);
    free(big);
}

TEST(a_nul_is_no_space_and_no_end)
{
    json_t *v;
    struct err e;
    CHECK_INT(literal_parse("{}\0", 3, &v, &e), ERR_FORMAT);
    CHECK_INT(literal_parse("\0{}", 3, &v, &e), ERR_FORMAT);
    CHECK_INT(literal_parse("'\0'", 3, &v, &e), ERR_FORMAT);
    CHECK_INT(literal_parse("r'\\\0'", 5, &v, &e), ERR_FORMAT);
    CHECK_INT(literal_parse("'\\\0'", 4, &v, &e), ERR_FORMAT);
    CHECK_INT(literal_parse("1\0", 2, &v, &e), ERR_FORMAT);
    double d;
    CHECK(!number_parse("1\0", 2, &d));
}

TEST(a_number_is_a_decimal_number_and_nothing_else)
{
    static const char *const bad[] = {"",   " ", "x",   "1x",    "0x10", "inf", "nan",
                                      "1e", "-", "1 2", "1e999", "1_0",  ".",   "+-1"};
    double d;
    CHECK(number_parse(" 12485760.34 ", 13, &d));
    NEAR(d, 12485760.34, 1e-6);
    CHECK(number_parse("-1e3", 4, &d));
    NEAR(d, -1000, 0);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        if (number_parse(bad[i], strlen(bad[i]), &d))
            test_fail(__FILE__, __LINE__, "'%s' was taken", bad[i]);
}
