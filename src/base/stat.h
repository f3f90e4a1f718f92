/* SPDX-License-Identifier: Apache-2.0 */
/* stat.h - numbers about an array of numbers. */
#ifndef BASE_STAT_H
#define BASE_STAT_H

#include <stddef.h>

/* In order. */
void stat_sort(double *v, size_t n);
/* With linear interpolation between the two values beside it; at least one, and q from 0 to 1. */
double stat_quantile(const double *sorted, size_t n, double q);
/* Of at least one; the deviation is that of the whole population. */
void stat_spread(const double *v, size_t n, double *mean, double *stddev);

/* Shares of a whole as people read them: with one decimal, and 100.0 together. */
enum { PERCENTS_MOST = 64 };

/* Rounded to tenths such that they sum to 100 (largest remainders). What is not positive has 0;
 * when nothing is positive all are 0. Of more than PERCENTS_MOST each is rounded on its own. */
void percents_of(const double *v, size_t n, double *out);

#endif
