/* SPDX-License-Identifier: Apache-2.0 */
/* step_spread.h - how long the iterations of one rank and mode took: mean and standard deviation,
 * the quantiles, the longest of them. All in whole microseconds, so that it does not matter how the
 * steps were cut into pieces. An iteration is evened out where the host ran ahead of the GPU (see
 * query/step_async.h); a step without an end of its iteration counts with its duration.
 *
 * The first step is kept apart: it compiles, tunes and fills caches, which says nothing about the
 * others. */
#ifndef RULES_STEP_SPREAD_H
#define RULES_STEP_SPREAD_H

#include "rules/loghist.h"
#include "rules/longest.h"

enum { LONGEST_KEPT = 4096 };

/* Zeroed: none yet. */
struct step_spread {
    bool some; /* there is a first one */
    struct step first;
    uint64_t n; /* of the others */
    uint64_t sum_us;
    unsigned __int128 sum_us2;
    uint64_t part_us[STEP_PARTS_MOST], between_us;
    struct longest longest;
    struct loghist *quantiles; /* us; NULL: n is 0 */
};

/* A step that was not cut. */
void step_spread_add(struct step_spread *x, const struct step *s);
/* `other` is empty afterwards. */
void step_spread_free(struct step_spread *x);

/* Seconds; NAN when there are none. */
double step_spread_mean(const struct step_spread *x);
double step_spread_sigma(const struct step_spread *x); /* population */
double step_spread_quantile(const struct step_spread *x, double q);
double step_spread_part(const struct step_spread *x, size_t part); /* mean */
double step_spread_between(const struct step_spread *x);           /* mean */
/* How many of them lie in each of n equal stretches from lo to hi, both included. */
void step_spread_counts(const struct step_spread *x, double lo, double hi, double *out, size_t n);

#endif
