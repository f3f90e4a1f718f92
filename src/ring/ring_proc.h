/* SPDX-License-Identifier: Apache-2.0 */
/* ring_proc.h - what both sides of a ring read from the system: the two clocks of an event, which
 * process a file belongs to, and whether it still runs. Also used inside the job: libc only,
 * nothing allocated. */
#ifndef RING_PROC_H
#define RING_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/prctl.h>
#include <x86intrin.h>
#endif

/* ---- clocks: the CPU's counter where there is a good one, else CLOCK_MONOTONIC ---- */

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

/* ---- processes ----
 *
 * A pid alone does not identify one: pids are reused, and mean something else in another pid
 * namespace. */

struct ring_stat {
    char state;           /* 'R', 'S', 'Z', ... */
    uint64_t threads;     /* that have not ended */
    uint64_t start_ticks; /* since boot */
};

/* The text of /proc/PID/stat; false when it is not what the kernel writes. */
bool ring_stat_parse(const char *text, size_t len, struct ring_stat *out);
/* Of `pid`, or of the caller when it is 0. */
bool ring_stat_read(uint32_t pid, struct ring_stat *out);
/* The inode of the caller's pid namespace, 0 when it cannot be had. */
uint64_t ring_pid_ns(void);
/* True while a thread of the process can still write. */
bool ring_process_lives(uint32_t pid, uint64_t start_ticks);

/* Digits of v in `base` (10 or 16), at least `digits` of them; returns the end. No NUL. */
char *ring_put_number(char *at, uint64_t v, unsigned base, int digits);

#endif
