/* SPDX-License-Identifier: Apache-2.0 */
/* hist.h - distributions: how often each percentage occurred, in steps of a tenth, and values of
 * any size; they merge by addition. And quick checks of the columns of a batch of sweeps. */
#ifndef RULES_HIST_H
#define RULES_HIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "rules/rule_input.h"
#include "rules/verdict.h"

enum { HIST_BINS = 1001 };

struct hist {
    uint64_t n;
    uint32_t bin[HIST_BINS];
};

/* NAN is left out; below 0 and above 100 count as those. */
void hist_add(struct hist *h, const float *v, size_t n);
/* The same in two steps, the first for several histograms: each value's number of tenths, NAN's is
 * TENTHS_NAN. */
enum { TENTHS_NAN = HIST_BINS };
void hist_tenths(const float *v, size_t n, uint16_t *out);
void hist_add_tenths(struct hist *h, const uint16_t *tenths, size_t n);
void hist_join(struct hist *h, const struct hist *other);
/* Linear interpolation between neighbours, q in 0..1; NAN when it is empty. */
double hist_quantile(const struct hist *h, double q);
double hist_mean(const struct hist *h);
double hist_max(const struct hist *h);
/* ---- values of any size ---- */

/* How often values of any size occurred, to 1 % of the value: bytes per second, times.
 * Each power of two is cut into 64 equal bins, so a bin is at most 1/64 of its values wide and its
 * middle at most 0.8 % off. Merges by addition. */

/* From 1 to 2^48; below 1 is bin 0, the rest above counts as the highest. */
enum { LOGHIST_PER_POWER = 64, LOGHIST_POWERS = 48 };
enum { LOGHIST_BINS = 1 + LOGHIST_PER_POWER * LOGHIST_POWERS };

struct loghist {
    uint64_t n;
    float lo, hi; /* exactly */
    uint32_t bin[LOGHIST_BINS];
};

/* NAN is left out; nothing is below 0. */
void loghist_add(struct loghist *h, const float *v, size_t n);
void loghist_join(struct loghist *h, const struct loghist *other);
/* Linear interpolation between neighbours, q in 0..1; NAN when it is empty. */
double loghist_quantile(const struct loghist *h, double q);
/* Adds to out[n] how many lie in each of n equal bins from lo to hi; what is outside counts to
 * the nearest. */
void loghist_counts(const struct loghist *h, double lo, double hi, double *out, size_t n);

/* ---- plots ---- */

/* Rows of a PLOT_BOX. */

/* p5, p25, p50, p75, p95 of the values. */
void plot_box(struct verdict *v, struct plot *p, const char *label, const struct hist *h);

/* ---- tenths ---- */

/* Percentages as whole numbers of tenths: sums of them do not depend on their order. */

enum { TENTHS_MOST = 1000 };

/* NAN has none; the caller checks first. Below 0 and above 100 count as those. */
static inline int32_t tenths_of(float percent)
{
    const float at = percent * 10.0f + 0.5f;
    return at < 1 ? 0 : at >= TENTHS_MOST ? TENTHS_MOST : (int32_t)at;
}

/* ==== columns of a batch of sweeps ==== */

/* ---- at a glance ---- */

/* Quick checks of a column, by loops that the compiler vectorizes: most batches need no more. NAN
 * is where nothing was read. */

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

/* The column `v` of the batch, all s->n values, in tenths; NULL: nothing is shared.
 * Good for the time of the batch. */
const uint16_t *shared_tenths(const struct sweeps *s, const float *v);
/* Adds the column to the histogram, from its values where nothing is shared. NULL: it never was
 * read. */
void shared_hist(const struct sweeps *s, const float *v, struct hist *to);

#endif
