/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/err.h"
#include "test.h"

TEST(err_set_returns_its_code_and_keeps_the_sentence)
{
    struct err e = {.sys = 7};
    CHECK_INT(err_set(&e, ERR_LIMIT, "'%s' has %d rows", "x", 3), ERR_LIMIT);
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK_INT(e.sys, 0);
    CHECK_STR(e.msg, "'x' has 3 rows");
}

TEST(err_sys_adds_the_systems_reason)
{
    struct err e = {0};
    errno = ENOSPC;
    CHECK_INT(err_sys(&e, "write '%s'", "f"), ERR_SYS);
    CHECK_INT(e.sys, ENOSPC);
    CHECK_STR(e.msg, "write 'f': No space left on device");
}

TEST(err_in_puts_the_place_before_the_cause)
{
    struct err e = {0};
    err_set(&e, ERR_FORMAT, "line 3: no number");
    CHECK_INT(err_in(&e, "node '%s'", "a"), ERR_FORMAT);
    CHECK_STR(e.msg, "node 'a': line 3: no number");
}

TEST(a_sentence_that_is_too_long_is_cut_not_overflowed)
{
    struct err e = {0};
    char text[2000];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = 0;
    err_set(&e, ERR_USAGE, "%s", text);
    CHECK_INT(strlen(e.msg), sizeof e.msg - 1);
    errno = EIO;
    CHECK_INT(err_sys(&e, "%s", text), ERR_SYS);
    CHECK_INT(strlen(e.msg), sizeof e.msg - 1);
    CHECK_INT(err_in(&e, "%s", text), ERR_SYS);
    CHECK_INT(strlen(e.msg), sizeof e.msg - 1);
}

static int try_all(const int *codes, size_t n, size_t *called)
{
    for (size_t i = 0; i < n; i++) {
        ++*called;
        TRY(codes[i]);
    }
    return 0;
}

TEST(try_returns_the_first_error_and_does_no_more)
{
    size_t called = 0;
    CHECK_INT(try_all((const int[]){0, ERR_LIMIT, ERR_SYS}, 3, &called), ERR_LIMIT);
    CHECK_INT(called, 2);
    CHECK_INT(try_all((const int[]){0, 0}, 2, &called), 0);
}
