/* SPDX-License-Identifier: Apache-2.0 */
/* stepdiff.h - how much longer the steps of B take than those of A, and between which bounds that
 * lies. Pure: arrays in, numbers out, the same numbers every time. docs/compare.md has the method.
 *
 * A series is one value for every step of a run. All series of one call have the same length and
 * begin at the same step, so that step k of one is compared with step k of the other. */
#ifndef COMPARE_STEPDIFF_H
#define COMPARE_STEPDIFF_H

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
 * most 100. It depends on nothing but their number, so it cannot be moved towards a verdict. */
size_t stepdiff_warmup(size_t steps);

/* Means. All NAN when there are fewer than STEPDIFF_LEAST steps. */
void stepdiff_means(const struct stepdiff_ask *ask, struct stepdiff *out);
/* Medians, as a share of A's. */
void stepdiff_medians(const struct stepdiff_ask *ask, struct diff_interval *out);
/* Of all values; `v` comes back sorted. */
void step_spread_of(double *v, size_t n, struct step_diff_spread *out);

/* ---- long-run variance ---- */

/* The standard error of the mean of values that depend on each other, and Student's t.
 *
 * Steps are not independent: a slow one is followed by slow ones. The standard error of their mean
 * then is larger than spread / sqrt(n), and with few values it is itself not well known. */

struct longrun {
    double se;  /* of the mean */
    double df;  /* degrees of freedom of Student's t that go with it */
    double rho; /* of neighbours, as it was assumed: 0..0.99 */
};

/* At least three values, their mean 0. */
void longrun_of(const double *z, size_t n, struct longrun *out);

/* How many neighbours belong together in one block when values are drawn again (Politis and White,
 * with the correction of Patton): 1 when they are independent, at most n / 3. */
size_t longrun_block(const double *z, size_t n);

/* How far from 0, to both sides, the mean of z would lie when blocks of it are drawn again, as
 * multiples of the standard error of the mean of blocks (symmetric bootstrap-t), in the unit of z;
 * the same for z and -z. At least three values, their mean 0. */
double longrun_resample(const double *z, size_t n, size_t block, double confidence, uint64_t seed);

/* Student's t, for intervals whose standard error was estimated from few values: the t that lies
 * above a share p (0.5 < p < 1) of the distribution with df > 0 degrees of freedom, whole or not;
 * to six digits. */
double student_quantile(double p, double df);

/* ---- between the files of the comparison ---- */

/* Estimates of runs against each other, for the files of compare/ alone. */

/* The result of one run: an estimate, and its variance by its steps alone. */
struct run_says {
    double at, variance;
};

/* Estimates of two groups of runs against each other, by how much runs of a group differ. At least
 * one group has two runs. */
struct diff_interval runs_against(const struct run_says *a, size_t n_a, const struct run_says *b,
                                  size_t n_b, double confidence);

/* How far an interval reaches out: standard errors. */
double reach_of(double confidence, double df);

#endif
