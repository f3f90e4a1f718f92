/* SPDX-License-Identifier: Apache-2.0 */
/* test.h - unit tests whose names are sentences, each run in its own process.
 *
 *     TEST(an_empty_file_has_no_blocks)
 *     {
 *         CHECK(blocks("") == 0);
 *     }
 *
 * `test_x` runs all, `test_x word` those whose name contains the word, `test_x --list` names them.
 * A failed CHECK ends its test at once. SKIP says why and the test counts as skipped. */
#ifndef TEST_H
#define TEST_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEST_FAILED = 1, TEST_SKIPPED = 77 };

struct test_case {
    const char *name;
    void (*run)(void);
    struct test_case *next;
};

void test_register(struct test_case *c);
_Noreturn void test_fail(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void test_skip(const char *why);
/* A fresh folder, removed when the test ends. */
const char *test_tmpdir(void);
/* To be freed by the caller. */
char *test_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2), returns_nonnull));

#define TEST(name)                                                                                 \
    static void test_##name(void);                                                                 \
    static struct test_case case_##name = {#name, test_##name, NULL};                              \
    __attribute__((constructor)) static void add_##name(void)                                      \
    {                                                                                              \
        test_register(&case_##name);                                                               \
    }                                                                                              \
    static void test_##name(void)

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond))                                                                               \
            test_fail(__FILE__, __LINE__, "CHECK(%s)", #cond);                                     \
    } while (0)

#define CHECK_INT(a, b)                                                                            \
    do {                                                                                           \
        const long long a_ = (long long)(a), b_ = (long long)(b);                                  \
        if (a_ != b_)                                                                              \
            test_fail(__FILE__, __LINE__, "%s is %lld, not %lld (%s)", #a, a_, b_, #b);            \
    } while (0)

#define CHECK_STR(a, b)                                                                            \
    do {                                                                                           \
        const char *a_ = (a), *b_ = (b);                                                           \
        if (strcmp(a_, b_) != 0)                                                                   \
            test_fail(__FILE__, __LINE__, "%s is \"%s\", not \"%s\"", #a, a_, b_);                 \
    } while (0)

#define NEAR(a, b, eps)                                                                            \
    do {                                                                                           \
        const double a_ = (a), b_ = (b);                                                           \
        if (!(fabs(a_ - b_) <= (eps)))                                                             \
            test_fail(__FILE__, __LINE__, "%s is %.9g, not within %g of %.9g", #a, a_,             \
                      (double)(eps), b_);                                                          \
    } while (0)

/* For calls that return 0 or fill `struct err e`. */
#define OK(call)                                                                                   \
    do {                                                                                           \
        if ((call) != 0)                                                                           \
            test_fail(__FILE__, __LINE__, "%s: %s", #call, e.msg);                                 \
    } while (0)

#define SKIP(why) test_skip(why)

#endif
