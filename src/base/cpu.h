/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.h - which vector instructions this process can use.
 *
 * By the instruction itself: __builtin_cpu_supports needs a library that is not there in every
 * build for older systems. */
#ifndef BASE_CPU_H
#define BASE_CPU_H

#if defined(__x86_64__)
#include <cpuid.h>
#include <stdatomic.h>

enum cpu_vectors { CPU_UNKNOWN, CPU_SSE2, CPU_AVX, CPU_AVX2 };

/* The system must also save the wide registers of a process that is not running. */
static inline enum cpu_vectors cpu_query_vectors(void)
{
    enum { LEAF_BASIC = 1, LEAF_MORE = 7, XMM_AND_YMM = 6 };
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid(LEAF_BASIC, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_AVX))
        return CPU_SSE2;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & XMM_AND_YMM) != XMM_AND_YMM)
        return CPU_SSE2;
    return __get_cpuid_count(LEAF_MORE, 0, &a, &b, &c, &d) && (b & bit_AVX2) ? CPU_AVX2 : CPU_AVX;
}

/* Querying the CPU takes long below a hypervisor, so it is done once; all threads find the same. */
static inline enum cpu_vectors cpu_vectors(void)
{
    static _Atomic int known;
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (answer == CPU_UNKNOWN) {
        answer = (int)cpu_query_vectors();
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return (enum cpu_vectors)answer;
}
#endif

#endif
