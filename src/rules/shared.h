/* SPDX-License-Identifier: Apache-2.0 */
/* shared.h - what several rules make of the same column of a batch, made once: its percentages as
 * whole tenths, and how often each occurs. The engine offers it with every large batch. */
#ifndef RULES_SHARED_H
#define RULES_SHARED_H

#include "rules/hist.h"
#include "rules/sight.h"

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
