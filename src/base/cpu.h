/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.h - what the processor can do beyond what the program is compiled for; x86-64 only. */
#ifndef BASE_CPU_H
#define BASE_CPU_H

#define CPU_AVX    __builtin_cpu_supports("avx")
#define CPU_AVX2   __builtin_cpu_supports("avx2")
#define CPU_BMI    __builtin_cpu_supports("bmi")
#define CPU_BMI2   __builtin_cpu_supports("bmi2")
#define CPU_POPCNT __builtin_cpu_supports("popcnt")

#endif
