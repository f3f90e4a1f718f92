/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.h - what the processor can do beyond what the program is compiled for; x86-64 only.
 *
 * Asked of the C library, which found it out when it started: the compiler's own way asks the
 * processor again at every start of the program, and on a virtual machine each question costs
 * microseconds. A program for a glibc before 2.33 asks the processor once, at the first question.
 */
#ifndef BASE_CPU_H
#define BASE_CPU_H

#ifdef __x86_64__
#include <features.h>

#if __GLIBC_PREREQ(2, 33)
#include <sys/platform/x86.h>
#define CPU_AVX    CPU_FEATURE_ACTIVE(AVX)
#define CPU_AVX2   CPU_FEATURE_ACTIVE(AVX2)
#define CPU_BMI    CPU_FEATURE_ACTIVE(BMI1)
#define CPU_BMI2   CPU_FEATURE_ACTIVE(BMI2)
#define CPU_POPCNT CPU_FEATURE_ACTIVE(POPCNT)
#else
#define CPU_ASKED_HERE
enum cpu_feature {
    CPU_ASKED = 1,
    CPU_HAS_AVX = 2,
    CPU_HAS_AVX2 = 4,
    CPU_HAS_BMI = 8,
    CPU_HAS_BMI2 = 16,
    CPU_HAS_POPCNT = 32,
};
unsigned cpu_features(void);
#define CPU_AVX    ((cpu_features() & CPU_HAS_AVX) != 0)
#define CPU_AVX2   ((cpu_features() & CPU_HAS_AVX2) != 0)
#define CPU_BMI    ((cpu_features() & CPU_HAS_BMI) != 0)
#define CPU_BMI2   ((cpu_features() & CPU_HAS_BMI2) != 0)
#define CPU_POPCNT ((cpu_features() & CPU_HAS_POPCNT) != 0)
#endif
#endif

#endif
