/* SPDX-License-Identifier: Apache-2.0 */
/* format_wide.c - the same sums by wider registers; compiled for AVX2, called where that is there.
 */
#include "store/format.h"

#ifdef __x86_64__
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t format_sum_wide(const void *p, size_t n)
{
    return XXH3_64bits(p, n);
}
#endif
