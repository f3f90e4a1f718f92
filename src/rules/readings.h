/* SPDX-License-Identifier: Apache-2.0 */
/* readings.h - percentages of a stretch of time, as a histogram or as they came, and on which side
 * of a limit a quantile of them lies. Both ways give the same answer; to count values that are at
 * hand is much less work than to make a histogram of them. */
#ifndef RULES_READINGS_H
#define RULES_READINGS_H

#include <stdbool.h>

#include "rules/hist.h"

struct readings {
    const struct hist *hist; /* NULL: `tenths` has them */
    const uint16_t *tenths;  /* as of hist_tenths */
    size_t n;
};

/* Whether nothing was read in it. */
bool readings_are_empty(const struct readings *x);
/* Below 0: hist_quantile(q) is below the limit, above 0: it is above; 0: it is the limit, or there
 * is none. */
int readings_side(const struct readings *x, double q, double limit);

#endif
