/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.c - see cpu.h. Empty where the C library answers. */
#include "base/cpu.h"

#ifdef CPU_ASKED_HERE
#include <cpuid.h>
#include <stdatomic.h>

enum cpu_answer { CPU_NOT_ASKED, CPU_NO, CPU_YES };

enum { LEAF_BASIC = 1, XMM_AND_YMM = 6 };

/* The system must also save the wide registers of a process that is not running. */
static enum cpu_answer cpu_ask(void)
{
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid(LEAF_BASIC, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_AVX))
        return CPU_NO;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & XMM_AND_YMM) == XMM_AND_YMM ? CPU_YES : CPU_NO;
}

bool cpu_has_avx(void)
{
    static _Atomic int known; /* every thread finds the same, so that any may write it */
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (answer == CPU_NOT_ASKED) {
        answer = cpu_ask();
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer == CPU_YES;
}
#else
typedef int cpu_is_asked_of_the_c_library; /* a file needs a declaration */
#endif
