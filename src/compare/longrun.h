/* SPDX-License-Identifier: Apache-2.0 */
/* longrun.h - the standard error of the mean of values that depend on each other, and Student's t.
 *
 * Steps are not independent: a slow one is followed by slow ones. The standard error of their mean
 * then is larger than spread / sqrt(n), and with few values it is itself not well known. */
#ifndef COMPARE_LONGRUN_H
#define COMPARE_LONGRUN_H

#include <stddef.h>
#include <stdint.h>

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

#endif
