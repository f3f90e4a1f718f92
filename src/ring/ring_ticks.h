/* SPDX-License-Identifier: Apache-2.0 */
/* ring_ticks.h - the two clocks of an event: the CPU's counter where there is a good one, else
 * CLOCK_MONOTONIC. Included by both sides; libc only. */
#ifndef RING_TICKS_H
#define RING_TICKS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/prctl.h>
#include <x86intrin.h>
#endif

static inline uint64_t ring_mono_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

#if defined(__x86_64__)
static inline uint64_t ring_tsc(void)
{
    return __rdtsc();
}

/* Invariant: the same rate in every power state, and not stopped in deep sleep. A process may also
 * have been forbidden to read it, which would end it with a signal. */
static inline bool ring_tsc_usable(void)
{
    enum { ADVANCED_POWER = 0x80000007, INVARIANT = 1 << 8 };
    unsigned a, b, c, d;
    int mode = PR_TSC_ENABLE;
    if (prctl(PR_GET_TSC, &mode) == 0 && mode != PR_TSC_ENABLE)
        return false;
    return __get_cpuid((unsigned)ADVANCED_POWER, &a, &b, &c, &d) && (d & INVARIANT);
}
#else
static inline uint64_t ring_tsc(void)
{
    return 0;
}

static inline bool ring_tsc_usable(void)
{
    return false;
}
#endif

#endif
