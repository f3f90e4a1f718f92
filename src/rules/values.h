/* SPDX-License-Identifier: Apache-2.0 */
/* values.h - columns of a batch of sweeps: what they say at a glance, and what several rules make
 * of the same column, made once. */
#ifndef RULES_VALUES_H
#define RULES_VALUES_H

#include <stddef.h>

#include "base/clock.h"
#include "rules/hist.h"
#include "rules/sight.h"

/* ---- at a glance ---- */

/* What a column says at a glance, by loops that the compiler vectorizes: most batches
 * need no closer look. NAN is where nothing was read. */

/* How many were read. */
size_t values_read(const float *v, size_t n);
/* The highest of them and `most`; a column that is NULL has none. */
float values_highest(const float *v, size_t n, float most);
/* The first of n sweeps, in order of time, that is not before t; n: all are. */
size_t sweeps_from(const wall_ns *at, size_t n, int64_t t);

/* ---- made once for all rules ---- */

/* What several rules make of the same column of a batch, made once: its percentages as
 * whole tenths, and how often each occurs. The engine offers it with every large batch. */

struct shared;

struct shared *shared_open(void);
void shared_close(struct shared *x); /* NULL is fine */
/* A new batch of n sweeps. Returns what to offer with it: NULL where sharing would not pay. */
struct shared *shared_begin(struct shared *x, size_t n);

/* The column `v` of the batch, all s->n values, in tenths (see hist.h); NULL: nothing is shared.
 * Good for the time of the batch. */
const uint16_t *shared_tenths(const struct sweeps *s, const float *v);
/* Adds the column to the histogram; by itself where nothing is shared. NULL: it never was read. */
void shared_hist(const struct sweeps *s, const float *v, struct hist *to);

#endif
