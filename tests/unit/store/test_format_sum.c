/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mem.h"
#include "store/format.h"
#include "test.h"

TEST(a_sum_is_that_of_the_library_whatever_the_length)
{
    enum { MOST = 70000 };
    uint8_t *bytes = xmalloc(MOST + 1);
    for (size_t i = 0; i <= MOST; i++)
        bytes[i] = (uint8_t)(i * 2654435761u >> 13);
    for (size_t n = 0; n <= MOST; n += n < 5000 ? 61 : 997)
        CHECK(format_sum(bytes + 1, n) == XXH3_64bits(bytes + 1, n));
    free(bytes);
}
