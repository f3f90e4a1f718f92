/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.h - what the processor can do beyond what the program is compiled for; x86-64 only.
 *
 * Asked of the C library, which found it out when it started. The compiler's own way,
 * __builtin_cpu_supports, needs a library that is not there in every build for older systems. A
 * program for a glibc before 2.33 asks the processor once, at the first question. */
#ifndef BASE_CPU_H
#define BASE_CPU_H

#ifdef __x86_64__
#include <features.h>

#if __GLIBC_PREREQ(2, 33)
#include <sys/platform/x86.h>
#define CPU_AVX CPU_FEATURE_ACTIVE(AVX)
#else
#include <stdbool.h>
#define CPU_ASKED_HERE
bool cpu_has_avx(void);
#define CPU_AVX cpu_has_avx()
#endif
#endif

#endif
