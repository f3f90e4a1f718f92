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
