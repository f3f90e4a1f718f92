/* SPDX-License-Identifier: Apache-2.0 */
/* balance.h - how far apart two GPUs are in their utilization: over time, by their histograms, and
 * at once, by their difference in every sweep. */
#ifndef RULES_BALANCE_H
#define RULES_BALANCE_H

#include "rules/hist.h"
#include "rules/sight.h"
#include "rules/state.h"

/* ---- over time ---- */

/* Bins of 5 percentage points around 0, 5, ... 100, those at both ends half as wide: a GPU that
 * stays near 0 or near 100 is not split between two. */
enum { SHAPE_BINS = 21 };

struct shape {
    double share[SHAPE_BINS]; /* of the sweeps; sums to 1 */
    double entropy;           /* bits */
    double mean;              /* percent */
};

struct shape shape_of(const struct hist *h);
extern const double shape_edges[SHAPE_BINS + 1]; /* percent */

/* Jensen-Shannon distance: the root of the divergence in bits, so 0 is the same and 1 is nothing in
 * common. */
double shape_distance(const struct shape *a, const struct shape *b);
/* By how many percentage points the one's utilization would have to be moved, on the mean, to
 * become the other's (area between the distributions). At least the difference of the means. */
double hist_apart(const struct hist *a, const struct hist *b);
/* The mean difference of the two in a sweep if they had nothing to do with each other. */
double hist_chance_gap(const struct hist *a, const struct hist *b);

/* ---- at once ---- */

/* The sum of their differences, by sweep, of all pairs of GPUs of a node. */
struct gap {
    uint64_t n;
    uint64_t sum; /* tenths of a percent */
};

struct gaps {
    struct gap *v; /* of GPUs a < b: v[b * (b - 1) / 2 + a] */
    size_t n;
};

void gaps_add(struct gaps *g, const struct sweeps *s);
void gaps_memory(struct gaps *g, enum state_op op);
/* The mean difference in percentage points; NAN when they were never read together. */
double gaps_mean(const struct gaps *g, size_t a, size_t b);

#endif
