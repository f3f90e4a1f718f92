/* SPDX-License-Identifier: Apache-2.0 */
/* longest.h - the k longest steps of those that were told, whatever the order they came in. */
#ifndef RULES_LONGEST_H
#define RULES_LONGEST_H

#include "base/arena.h"
#include "query/steps.h"

struct long_step {
    int64_t start_ns, dur_ns, number;
    uint32_t part_us[STEP_PARTS_MOST], between_us;
};

/* Zeroed: none yet. */
struct longest {
    struct long_step *v; /* a heap, the shortest on top */
    uint32_t n, cap;
};

/* At most `most` are kept; of equal ones the earlier. `dur_ns` is how long it counts for. */
void longest_add(struct longest *l, uint32_t most, const struct step *s, int64_t dur_ns);
/* Those that took more than `over_ns`, in order of time. */
struct long_step *longest_over(const struct longest *l, double over_ns, struct arena *a, size_t *n);
void longest_free(struct longest *l);

#endif
