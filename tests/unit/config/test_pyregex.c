/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "config/pyregex.h"
#include "test.h"

TEST(expressions_that_python_compiles_are_taken)
{
    static const char *const rows[] = {
        "",        ".*",       "(?i)foo",
        "a|b",     "(a(b)c)*", "[a-z]+",
        "[]a]",    "[^]]",     "[^\\]]",
        "a{2,3}",  "a{,3}",    "{",
        "{}",      "a{x}",     "\\d+?",
        "a*?",     "a??",      "(?P<n>x)",
        "(?:a)*",  "x(?=y)",   "\\(",
        "\\[",     "^a$",      "()",
        "()*",     "a{2}?",    "[*+?]",
        "(?<!x)y", "[(]",      "\\\\",
        "}",       "]",        "dataset::.*GetNext",
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err e;
        if (pyregex_check(rows[i], &e) != 0)
            test_fail(__FILE__, __LINE__, "'%s': %s", rows[i], e.msg);
    }
}

TEST(broken_expressions_are_refused_with_the_place)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"*", "nothing to repeat at character 1"},
        {"(*)", "nothing to repeat at character 2"},
        {"(?:*)", "nothing to repeat at character 4"},
        {"a|*", "nothing to repeat at character 3"},
        {"^*", "nothing to repeat at character 2"},
        {"{2}", "nothing to repeat at character 1"},
        {"a**", "repeated quantifier at character 3"},
        {"a{2}{3}", "repeated quantifier at character 5"},
        {"(", "missing closing bracket"},
        {"(a", "missing closing bracket"},
        {"a)", "without an opening one at character 2"},
        {"[a", "class without a closing bracket at character 1"},
        {"[]", "class without a closing bracket"},
        {"[a\\", "class without a closing bracket"},
        {"a\\", "backslash"},
        {"(?", "missing closing bracket"},
        {"[a])", "without an opening one at character 4"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err e;
        if (pyregex_check(rows[i].text, &e) != ERR_FORMAT)
            test_fail(__FILE__, __LINE__, "'%s' was taken", rows[i].text);
        if (!strstr(e.msg, rows[i].says))
            test_fail(__FILE__, __LINE__, "'%s': %s", rows[i].text, e.msg);
    }
}
