/* SPDX-License-Identifier: Apache-2.0 */
/* loghist.h - how often values of any size occurred, to 1 % of the value: bytes per second, times.
 * Each power of two is cut into 64 equal bins, so a bin is at most 1/64 of its values wide and its
 * middle at most 0.8 % off. Merges by addition. */
#ifndef RULES_LOGHIST_H
#define RULES_LOGHIST_H

#include <stddef.h>
#include <stdint.h>

/* From 1 to 2^48; below 1 is bin 0, the rest above counts as the highest. */
enum { LOGHIST_PER_POWER = 64, LOGHIST_POWERS = 48 };
enum { LOGHIST_BINS = 1 + LOGHIST_PER_POWER * LOGHIST_POWERS };

struct loghist {
    uint64_t n;
    float lo, hi; /* exactly */
    uint32_t bin[LOGHIST_BINS];
};

/* NAN is left out; nothing is below 0. */
void loghist_add(struct loghist *h, const float *v, size_t n);
void loghist_join(struct loghist *h, const struct loghist *other);
/* Linear interpolation between neighbours, q in 0..1; NAN when it is empty. */
double loghist_quantile(const struct loghist *h, double q);
/* Adds to out[n] how many lie in each of n equal stretches from lo to hi; what is outside counts to
 * the nearest. */
void loghist_counts(const struct loghist *h, double lo, double hi, double *out, size_t n);

#endif
