/* SPDX-License-Identifier: Apache-2.0 */
/* student.h - Student's t: how many standard errors an interval must reach out when the standard
 * error itself was estimated from few values. */
#ifndef COMPARE_STUDENT_H
#define COMPARE_STUDENT_H

/* The t that lies above a share p (0.5 < p < 1) of the distribution with df > 0 degrees of freedom,
 * whole or not; to six digits. */
double student_quantile(double p, double df);

#endif
