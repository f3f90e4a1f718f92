/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.h - what the processor can do beyond what the program is compiled for; x86-64 only.
 *
 * Asked of the C library, which found it out when it started: the compiler's own way asks the
 * processor again at every start of the program, and on a virtual machine each question costs
 * microseconds. */
#ifndef BASE_CPU_H
#define BASE_CPU_H

#ifdef __x86_64__
#if __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#define CPU_AVX    CPU_FEATURE_ACTIVE(AVX)
#define CPU_AVX2   CPU_FEATURE_ACTIVE(AVX2)
#define CPU_BMI    CPU_FEATURE_ACTIVE(BMI1)
#define CPU_BMI2   CPU_FEATURE_ACTIVE(BMI2)
#define CPU_POPCNT CPU_FEATURE_ACTIVE(POPCNT)
#else
#define CPU_AVX    __builtin_cpu_supports("avx")
#define CPU_AVX2   __builtin_cpu_supports("avx2")
#define CPU_BMI    __builtin_cpu_supports("bmi")
#define CPU_BMI2   __builtin_cpu_supports("bmi2")
#define CPU_POPCNT __builtin_cpu_supports("popcnt")
#endif
#endif

#endif
