/* SPDX-License-Identifier: Apache-2.0 */
/* entropy.c - see entropy.h. */
#include "entropy.h"

#include <math.h>

void entropy_add(struct entropy *e, int64_t before, int64_t now)
{
    e->pairs[before % ENTROPY_VALUES][now % ENTROPY_VALUES]++;
}

/* -n log2(n / of), the bits that n equal values of `of` take together. */
static double bits_of(uint64_t n, uint64_t of)
{
    return n ? -(double)n * log2((double)n / (double)of) : 0;
}

struct entropy_bits entropy_get(const struct entropy *e)
{
    uint64_t column[ENTROPY_VALUES] = {0}, total = 0;
    double given = 0, alone = 0;
    for (unsigned i = 0; i < ENTROPY_VALUES; i++) {
        uint64_t row = 0;
        for (unsigned j = 0; j < ENTROPY_VALUES; j++) {
            row += e->pairs[i][j];
            column[j] += e->pairs[i][j];
        }
        for (unsigned j = 0; j < ENTROPY_VALUES; j++)
            given += bits_of(e->pairs[i][j], row);
        total += row;
    }
    if (!total)
        return (struct entropy_bits){0};
    for (unsigned j = 0; j < ENTROPY_VALUES; j++)
        alone += bits_of(column[j], total);
    return (struct entropy_bits){alone / (double)total, given / (double)total};
}
