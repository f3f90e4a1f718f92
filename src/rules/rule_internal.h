/* SPDX-License-Identifier: Apache-2.0 */
/* rule_internal.h - the inside of rules whose parts have tests of their own. */
#ifndef RULES_RULE_INTERNAL_H
#define RULES_RULE_INTERNAL_H

#include "rules/per_entity.h"
#include "rules/windows.h"

/* ==== LoadBalancing: how far apart two GPUs are in their utilization ====
 *
 * Over time, by their histograms, and at once, by their difference in every sweep. */

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
/* By how many percentage points the one's utilization would have to be moved, on average, to
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

/* ==== CPUBottleneck and IOBottleneck: GPUs that idle while something else of the node is hot ====
 *
 * A snapshot is low when a GPU in use was below the threshold in it. Which GPUs are in use is known
 * only at the end, so snapshots that are low by GPUs not yet in use are counted apart, by the set
 * of those GPUs, and become low when one of the set is used. */

enum { BOTTLENECK_HOTS = 3 };

struct bottleneck_gpu {
    struct gpu_head head;
    int64_t waited_ns; /* it was low while the node was hot */
};

/* One way to be hot. */
struct bottleneck_hot {
    enum node_signal signal;
    const char *words;  /* "one core was" */
    const char *advice; /* when most of it is of this kind; a sentence without its full stop */
};

struct bottleneck_spec {
    const char *resource;                        /* "the CPU", for people */
    struct bottleneck_hot hots[BOTTLENECK_HOTS]; /* the first that holds counts */
    size_t n_hots;
    const char *refute;
};

/* How the used GPUs of a snapshot were. */
enum bottleneck_gpus { GPUS_NOT_READ, GPUS_FINE, GPUS_LOW, BOTTLENECK_GPUS_N };

struct bottleneck_row {
    uint64_t low; /* GPUs not in use so far that were low, as bits; 0 for GPUS_LOW */
    enum bottleneck_gpus gpus;
    uint64_t cool, hot[BOTTLENECK_HOTS]; /* snapshots */
    struct episodes episodes;            /* the hot ones */
};

/* Sets of GPUs differ only when single GPUs cannot be read; what is more than this is put to the
 * last row. */
enum { BOTTLENECK_ROWS = 16 };

struct bottleneck {
    struct node_state head;
    struct bottleneck_row row[BOTTLENECK_ROWS];
    size_t n_rows;
};

#endif
