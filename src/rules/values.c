/* SPDX-License-Identifier: Apache-2.0 */
/* values.c - see values.h. */
#include "rules/values.h"

#include <stdint.h>

size_t values_read(const float *v, size_t n)
{
    uint32_t read = 0; /* of a batch */
    for (size_t i = 0; i < n; i++)
        read += v[i] == v[i];
    return read;
}

/* Several maxima side by side, so that the compiler can vectorize; NAN is never larger. */
enum { SIDE_BY_SIDE = 16 };

float values_highest(const float *v, size_t n, float most)
{
    float side[SIDE_BY_SIDE];
    size_t i = 0;
    if (!v)
        return most;
    for (size_t k = 0; k < SIDE_BY_SIDE; k++)
        side[k] = most;
    for (; i + SIDE_BY_SIDE <= n; i += SIDE_BY_SIDE)
        for (size_t k = 0; k < SIDE_BY_SIDE; k++)
            side[k] = v[i + k] > side[k] ? v[i + k] : side[k];
    for (; i < n; i++)
        side[0] = v[i] > side[0] ? v[i] : side[0];
    for (size_t k = 0; k < SIDE_BY_SIDE; k++)
        most = side[k] > most ? side[k] : most;
    return most;
}

size_t sweeps_from(const wall_ns *at, size_t n, int64_t t)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        const size_t mid = (lo + hi) / 2;
        if (at[mid].ns < t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}
