/* SPDX-License-Identifier: Apache-2.0 */
/* percents.h - shares of a whole as people read them: with one decimal, and 100.0 together. */
#ifndef BASE_PERCENTS_H
#define BASE_PERCENTS_H

#include <stddef.h>

enum { PERCENTS_MOST = 64 };

/* Rounded to tenths such that they sum to 100 (largest remainders). What is not positive has 0;
 * when nothing is positive all are 0. Of more than PERCENTS_MOST each is rounded by itself. */
void percents_of(const double *v, size_t n, double *out);

#endif
