/* SPDX-License-Identifier: Apache-2.0 */
/* tenths.h - percentages as whole numbers of tenths: sums of them do not depend on their order. */
#ifndef RULES_TENTHS_H
#define RULES_TENTHS_H

#include <stdint.h>

enum { TENTHS_MOST = 1000 };

/* NAN has none; the caller asks first. Below 0 and above 100 count as those. */
static inline int32_t tenths(float percent)
{
    const float at = percent * 10.0f + 0.5f;
    return at < 1 ? 0 : at >= TENTHS_MOST ? TENTHS_MOST : (int32_t)at;
}

#endif
