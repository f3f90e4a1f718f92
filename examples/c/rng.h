/* SPDX-License-Identifier: Apache-2.0 */
/* rng.h - small random numbers (splitmix64), the same on every machine. Each sample has its own
 * stream, made from (seed, stream number), so what is drawn does not depend on which thread
 * draws it. Not for secrets. */
#ifndef RNG_H
#define RNG_H

#include <stdint.h>

struct rng {
    uint64_t state;
};

static inline uint64_t rng_next(struct rng *r)
{
    uint64_t z = (r->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline struct rng rng_make(uint64_t seed, uint64_t stream)
{
    struct rng r = {seed};
    r.state = rng_next(&r) ^ (stream * 0xd1342543de82ef95u);
    rng_next(&r);
    return r;
}

/* Uniform in [low, high). */
static inline float rng_range(struct rng *r, float low, float high)
{
    const float unit = (float)(rng_next(r) >> 40) * 0x1p-24f;
    return low + (high - low) * unit;
}

/* Nearly normal, mean 0 and deviation 1: the sum of four uniform numbers, scaled. */
static inline float rng_normal(struct rng *r)
{
    float sum = 0.0f;
    for (int i = 0; i < 4; i++)
        sum += rng_range(r, -1.0f, 1.0f);
    return sum * 0.8660254f;
}

#endif
