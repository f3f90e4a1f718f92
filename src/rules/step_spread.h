/* SPDX-License-Identifier: Apache-2.0 */
/* step_spread.h - how long the iterations of one rank and mode took: mean and standard deviation,
 * the quantiles, the longest of them. All in whole microseconds, so that it does not matter how the
 * steps were split. An iteration is evened out where the host ran ahead of the GPU (see
 * query/steps.h); a step without an end of its iteration counts with its duration.
 *
 * The first step is stored separately: it compiles, tunes and fills caches, and is not typical of
 * the others. */
#ifndef RULES_STEP_SPREAD_H
#define RULES_STEP_SPREAD_H

#include "base/arena.h"
#include "query/steps.h"
#include "rules/hist.h"
#include "rules/state.h"

/* ---- the longest steps ---- */

/* The k longest steps, in whatever order they come. */

struct long_step {
    int64_t start_ns, dur_ns, number;
    uint32_t part_us[STEP_PARTS_MOST], between_us;
};

/* Zeroed: none yet. */
struct longest {
    struct long_step *v; /* a heap, the shortest on top */
    uint32_t n, cap;
};

/* At most `most` are stored; of equal ones the earlier. `dur_ns` is how long it counts for. */
void longest_add(struct longest *l, uint32_t most, const struct step *s, int64_t dur_ns);
/* Those that took more than `over_ns`, in order of time. */
struct long_step *longest_over(const struct longest *l, double over_ns, struct arena *a, size_t *n);
void longest_memory(struct longest *l, enum state_op op);

/* ---- all of them ---- */

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
void step_spread_memory(struct step_spread *x, enum state_op op);

/* Seconds; NAN when there are none. */
double step_spread_mean(const struct step_spread *x);
double step_spread_sigma(const struct step_spread *x); /* population */
double step_spread_quantile(const struct step_spread *x, double q);
/* How many of them lie in each of n equal bins from lo to hi, both included. */
void step_spread_counts(const struct step_spread *x, double lo, double hi, double *out, size_t n);

#endif
