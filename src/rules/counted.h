/* SPDX-License-Identifier: Apache-2.0 */
/* counted.h - how fast a number grew in the training loop that hooks emit as "so far": CPU times,
 * context switches. The last readings are kept, since the end of the loop is not known while they
 * come. */
#ifndef RULES_COUNTED_H
#define RULES_COUNTED_H

#include <math.h>

#include "base/mem.h"
#include "rules/sight.h"

struct counted_reading {
    int64_t at_ns, value;
};

enum { COUNTED_LAST = 8 };

struct counted {
    uint64_t n;
    struct counted_reading first, last[COUNTED_LAST];
};

/* In order of time; those before `from` do not count. */
static inline void counted_see(struct counted *c, wall_ns from, const struct rule_event *v)
{
    const struct counted_reading x = {v->at.ns, v->value};
    if (v->at.ns < from.ns)
        return;
    if (c->n == 0)
        c->first = x;
    c->last[c->n++ % COUNTED_LAST] = x;
}

/* The last reading in the loop, or the first one after it. */
static inline const struct counted_reading *counted_last(const struct counted *c, wall_ns loop_end)
{
    const uint64_t first = c->n - MIN_OF(c->n, (uint64_t)COUNTED_LAST);
    uint64_t at = c->n - 1;
    while (at > first && c->last[at % COUNTED_LAST].at_ns > loop_end.ns)
        at--;
    return &c->last[at % COUNTED_LAST];
}

/* NAN: there are no two readings a second apart, or it went backwards. */
static inline double counted_per_s(const struct counted *c, wall_ns loop_end)
{
    if (c->n < 2)
        return NAN;
    const struct counted_reading *last = counted_last(c, loop_end);
    const double s = (double)(last->at_ns - c->first.at_ns) / 1e9,
                 grown = (double)(last->value - c->first.value);
    return s >= 1 && grown >= 0 ? grown / s : NAN;
}

#endif
