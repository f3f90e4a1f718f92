/* SPDX-License-Identifier: Apache-2.0 */
/* golden_v1.h - the numbers in tests/golden/v1, for the program that made it and for the test that
 * reads it. Never change one: the files are there, and they must open forever. */
#ifndef TESTS_GOLDEN_V1_H
#define TESTS_GOLDEN_V1_H

#include <stdint.h>

#include "base/clock.h"

/* Wall clock at monotonic zero, by node. */
#define GOLDEN_START_A (INT64_C(1790000000) * NS_PER_S)
#define GOLDEN_START_B (INT64_C(1790000100) * NS_PER_S)

enum {
    A_FAST_ROWS = 600, /* node a, "cpu": 100 ms, then */
    A_SLOW_ROWS = 300, /* 200 ms */
    A_GPU_ROWS = 150,  /* "gpu": 500 ms, every tenth row without power */
    A_PROCESSES = 12,  /* one after the other in the same slot, ten rows each */
    B_ROWS = 17250,    /* node b, session 1: sealed once, the rest in the tail */
    B_COLUMNS = 60,
    B_AFTER_JUMP = 3, /* rows after the wall clock jumped */
    B2_ROWS = 50,     /* node b, session 2 */
};

/* Monotonic us of row i, by group. */
static inline int64_t golden_fast_us(int i)
{
    return 1000000 + i * INT64_C(100000) + i % 5;
}

static inline int64_t golden_slow_us(int i)
{
    return golden_fast_us(A_FAST_ROWS) + i * INT64_C(200000) + i % 3;
}

static inline int64_t golden_gpu_us(int i)
{
    return 1000000 + i * INT64_C(500000) + i * i % 700;
}

static inline int64_t golden_proc_us(int i)
{
    return 2000000 + i * INT64_C(500000);
}

static inline int64_t golden_b_us(int i)
{
    return 5000000 + i * INT64_C(10000);
}

static inline int64_t golden_b2_us(int i)
{
    return 900000000 + i * INT64_C(1000000);
}

/* Cells of row i: value = cell x step. */
static inline int64_t golden_core(int i, int core)
{
    return (i * 7 + core * 3) % 11;
}

static inline int64_t golden_power(int i)
{
    return i == 77 ? 1200 : 250 + i * i % 53; /* one spike */
}

static inline int64_t golden_memory(int i)
{
    return (INT64_C(1) << 16) + i * INT64_C(1021);
}

static inline int64_t golden_b(int i, int column)
{
    return column == 0 ? i / 100 % 2 : column;
}

#define GOLDEN_JUMP_NS  (3600 * NS_PER_S)
#define GOLDEN_JUMP_US  golden_b_us(B_ROWS)
#define GOLDEN_TRAIN    "python train.py"
#define GOLDEN_LOSS     "gpu0 gpu.energy"
#define GOLDEN_LOSS_WHY "not supported"

#endif
