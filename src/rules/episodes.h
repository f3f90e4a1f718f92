/* SPDX-License-Identifier: Apache-2.0 */
/* episodes.h - stretches of time in which something held, told moment by moment and in pieces.
 * Moments that are no further apart than the gap belong to one episode, so a day has a bounded
 * number of them. */
#ifndef RULES_EPISODES_H
#define RULES_EPISODES_H

#include "rules/verdict.h"

struct episode {
    int64_t from_ns, to_ns; /* wall time */
    uint64_t count;         /* moments in it */
    int64_t held_ns;        /* that they stand for */
};

struct episodes {
    struct episode *v; /* in order of time */
    uint32_t n, cap;
};

#define EPISODE_GAP_NS (30 * NS_PER_S)

/* It held at `at` and for `held_ns` from there. In order of time. */
void episodes_add(struct episodes *e, wall_ns at, int64_t held_ns);
/* A whole one that follows all others. */
void episodes_put(struct episodes *e, const struct episode *x);
/* `later` follows `e` and is empty afterwards. */
void episodes_free(struct episodes *e);
int64_t episodes_held_ns(const struct episodes *e);
/* As ranges of a finding, in the arena. */
struct time_range *episodes_ranges(const struct episodes *e, struct arena *a);

#endif
