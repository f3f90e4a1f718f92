/* SPDX-License-Identifier: Apache-2.0 */
/* stepdiff_internal.h - estimates of runs against each other, for the files of compare/ alone. */
#ifndef COMPARE_STEPDIFF_INTERNAL_H
#define COMPARE_STEPDIFF_INTERNAL_H

#include "compare/stepdiff.h"

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
