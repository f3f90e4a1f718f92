/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.c - see cpu.h. Empty where the C library answers. */
#include "base/cpu.h"

#ifdef CPU_ASKED_HERE
#include <cpuid.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { LEAF_BASIC = 1, LEAF_EXTENDED = 7, XMM_AND_YMM = 6 };

/* Whether the system saves the wide registers of a process that is not running. */
static bool cpu_saves_wide(unsigned ecx)
{
    unsigned low, high;
    if (!(ecx & bit_OSXSAVE))
        return false;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & XMM_AND_YMM) == XMM_AND_YMM;
}

static unsigned cpu_ask(void)
{
    unsigned a, b, c, d, has = CPU_ASKED;
    if (!__get_cpuid(LEAF_BASIC, &a, &b, &c, &d))
        return has;
    const bool wide = cpu_saves_wide(c) && (c & bit_AVX);
    has |= wide ? CPU_HAS_AVX : 0;
    has |= c & bit_POPCNT ? CPU_HAS_POPCNT : 0;
    if (!__get_cpuid_count(LEAF_EXTENDED, 0, &a, &b, &c, &d))
        return has;
    has |= wide && (b & bit_AVX2) ? CPU_HAS_AVX2 : 0;
    has |= b & bit_BMI ? CPU_HAS_BMI : 0;
    has |= b & bit_BMI2 ? CPU_HAS_BMI2 : 0;
    return has;
}

unsigned cpu_features(void)
{
    static _Atomic unsigned known; /* every thread finds the same, so that any may write it */
    unsigned has = atomic_load_explicit(&known, memory_order_relaxed);
    if (!has) {
        has = cpu_ask();
        atomic_store_explicit(&known, has, memory_order_relaxed);
    }
    return has;
}
#else
typedef int cpu_is_asked_of_the_c_library; /* a file needs a declaration */
#endif
