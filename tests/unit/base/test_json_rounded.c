/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_write.h"
#include "test.h"

static const char *rounded(double v)
{
    static char text[64];
    struct buf b = {0};
    json_put_rounded(&b, v);
    snprintf(text, sizeof text, "%.*s", (int)b.len, (const char *)b.p);
    buf_free(&b);
    return text;
}

TEST(four_digits_are_kept_and_zeros_left_out)
{
    CHECK_STR(rounded(0), "0");
    CHECK_STR(rounded(1), "1");
    CHECK_STR(rounded(-1), "-1");
    CHECK_STR(rounded(12.345), "12.35");
    CHECK_STR(rounded(12.5), "12.5");
    CHECK_STR(rounded(99.996), "100");
    CHECK_STR(rounded(100), "100");
    CHECK_STR(rounded(1234.5), "1235");
    CHECK_STR(rounded(123456), "123500");
    CHECK_STR(rounded(0.012345), "0.01235");
    CHECK_STR(rounded(0.1), "0.1");
    CHECK_STR(rounded(-0.00012), "-0.00012");
    CHECK_STR(rounded(68719476736.0), "68720000000");
    CHECK_STR(rounded(9999.5), "10000");
}

TEST(what_is_no_number_is_null)
{
    CHECK_STR(rounded(NAN), "null");
    CHECK_STR(rounded(INFINITY), "null");
}

TEST(numbers_of_any_size_read_back_within_four_digits)
{
    for (double v = 1.7e-30; v < 1e30; v *= 3.7) {
        NEAR(atof(rounded(v)) / v, 1, 6e-4);
        NEAR(atof(rounded(-v)) / v, -1, 6e-4);
    }
}
