/* SPDX-License-Identifier: Apache-2.0 */
/* stepdiff.h - how much longer the steps of B take than those of A, and between which bounds that
 * lies. Pure: arrays in, numbers out, the same numbers every time. docs/compare.md has the method.
 *
 * A series is one value for every step of a run. All series of one call have the same length and
 * begin at the same step, so that step k of one is compared with step k of the other. */
#ifndef COMPARE_STEPDIFF_H
#define COMPARE_STEPDIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Steps that must be there, warm-up left out, before a difference is called. */
enum { STEPDIFF_LEAST = 10 };

struct step_diff_spread {
    size_t count;
    double mean_s, min_s, p50_s, p90_s, p95_s, p99_s, max_s, stddev_s; /* stddev: population */
    double effective_n; /* independent steps with the same information; NAN: not known */
};

struct diff_interval {
    double at, low, high; /* NAN: not known */
};

/* One side: a series per run. */
struct step_group {
    const double *const *runs;
    size_t n;
};

struct stepdiff_ask {
    struct step_group a, b;
    size_t steps; /* of each series */
    double confidence;
    uint64_t seed; /* any number; the same gives the same */
};

struct stepdiff {
    struct diff_interval share; /* mean(b) / mean(a) - 1 */
    struct diff_interval diff;  /* mean(b) - mean(a), in the unit of the series */
    double effective_n[2];      /* of one run, a and b */
    size_t block;               /* steps that were drawn together */
};

/* How many steps at the beginning do not count, of a run with so many: one in ten, at least 1, at
 * most 100. It looks at nothing but their number, so it cannot be moved towards a verdict. */
size_t stepdiff_warmup(size_t steps);

/* Means. All NAN when there are fewer than STEPDIFF_LEAST steps. */
void stepdiff_means(const struct stepdiff_ask *ask, struct stepdiff *out);
/* Medians, as a share of A's. */
void stepdiff_medians(const struct stepdiff_ask *ask, struct diff_interval *out);
/* Of all values; `v` comes back sorted. */
void step_spread_of(double *v, size_t n, struct step_diff_spread *out);

#endif
