/* SPDX-License-Identifier: Apache-2.0 */
/* values.h - what a column says at a glance, by loops that the compiler vectorizes: most batches
 * need no closer look. NAN is where nothing was read. */
#ifndef RULES_VALUES_H
#define RULES_VALUES_H

#include <stddef.h>

#include "base/clock.h"

/* How many were read. */
size_t values_read(const float *v, size_t n);
/* The highest of them and `most`; a column that is NULL has none. */
float values_highest(const float *v, size_t n, float most);
/* The first of n sweeps, in order of time, that is not before t; n: all are. */
size_t sweeps_from(const wall_ns *at, size_t n, int64_t t);

#endif
