/* SPDX-License-Identifier: Apache-2.0 */
/* entropy.h - how many bits a sample carries, alone and given the one before it: the floor that a
 * stored size is compared with. Values of 0 to 127. */
#ifndef BENCH_ENTROPY_H
#define BENCH_ENTROPY_H

#include <stdint.h>

enum { ENTROPY_VALUES = 128 };

struct entropy {
    uint64_t pairs[ENTROPY_VALUES][ENTROPY_VALUES]; /* [before][now] */
};

struct entropy_bits {
    double alone, given_before;
};

void entropy_add(struct entropy *e, int64_t before, int64_t now);
struct entropy_bits entropy_get(const struct entropy *e);

#endif
