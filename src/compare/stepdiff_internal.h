/* SPDX-License-Identifier: Apache-2.0 */
/* stepdiff_internal.h - for stepdiff.c and stepmedian.c alone. */
#ifndef COMPARE_STEPDIFF_INTERNAL_H
#define COMPARE_STEPDIFF_INTERNAL_H

#include "compare/stepdiff.h"

enum { CELLS_MOST = 1024 };

/* A series in at most CELLS_MOST cells, so that what follows costs the same for any run. */
struct cells {
    size_t n;
    double mean, variance; /* of the steps */
    double v[CELLS_MOST];  /* mean of each cell */
};

void cells_of(const double *v, size_t steps, struct cells *out);
/* Standard error of the mean of the steps, and the degrees of freedom that go with it. */
double cells_se(const struct cells *c, double *df);

/* What one run says: an estimate, and its variance by its steps alone. */
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
