/* SPDX-License-Identifier: Apache-2.0 */
/* health_stats.h - statistics of a tensor in the memory of the CPU, in one pass.
 *
 * Results depend on the bytes alone: sums are made in a fixed number of lanes, whatever the CPU can
 * do at once. `stride` counts elements. Nothing here knows Python. */
#ifndef BASE_HEALTH_STATS_H
#define BASE_HEALTH_STATS_H

#include <stddef.h>
#include <stdint.h>

enum health_dtype {
    HEALTH_FLOAT32,
    HEALTH_FLOAT64,
    HEALTH_FLOAT16,
    HEALTH_BFLOAT16,
    HEALTH_DTYPES
};

struct health_tensor {
    const void *at; /* elements may be at any address */
    size_t n, stride;
    enum health_dtype dtype;
};

size_t health_dtype_bytes(enum health_dtype t);

struct health_tensor_stats {
    double sum, l1, l2, min, max; /* of finite elements; min and max are NAN when there are none */
    uint64_t zeros, nonfinite;
};

void health_tensor_stats(const struct health_tensor *t, struct health_tensor_stats *out);

enum { HEALTH_EXPONENTS = 256 };
/* Elements by their exponent as float32. */
void health_tensor_exponents(const struct health_tensor *t, uint64_t out[HEALTH_EXPONENTS]);

/* The elements as float32, of float64 as float64: health_gathered_bytes of them. */
void health_tensor_gather(const struct health_tensor *t, void *out);
size_t health_gathered_bytes(const struct health_tensor *t);

struct health_update {
    double change, before; /* norms */
    uint64_t equal;        /* elements */
};

/* Against what was gathered before. */
void health_tensor_update(const struct health_tensor *t, const void *before,
                          struct health_update *out);

/* Unsigned words of 1, 2, 4 or 8 bytes, modulo 2^64. */
uint64_t health_word_sum(const void *at, size_t n, unsigned bytes);

#endif
