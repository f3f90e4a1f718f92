/* SPDX-License-Identifier: Apache-2.0 */
/* hist.h - how often each percentage occurred, in steps of a tenth; merges by addition. */
#ifndef RULES_HIST_H
#define RULES_HIST_H

#include <stddef.h>
#include <stdint.h>

enum { HIST_BINS = 1001 };

struct hist {
    uint64_t n;
    uint32_t bin[HIST_BINS];
};

/* NAN is left out; below 0 and above 100 count as those. */
void hist_add(struct hist *h, const float *v, size_t n);
/* The same in two steps, the first for several histograms: each value's number of tenths, NAN's is
 * TENTHS_NAN. */
enum { TENTHS_NAN = HIST_BINS };
void hist_tenths(const float *v, size_t n, uint16_t *out);
void hist_add_tenths(struct hist *h, const uint16_t *tenths, size_t n);
void hist_join(struct hist *h, const struct hist *other);
/* Linear interpolation between neighbours, q in 0..1; NAN when it is empty. */
double hist_quantile(const struct hist *h, double q);
double hist_mean(const struct hist *h);
double hist_min(const struct hist *h);
double hist_max(const struct hist *h);
/* How many lie below / above. */
uint64_t hist_below(const struct hist *h, double limit);
uint64_t hist_above(const struct hist *h, double limit);

#endif
