/* SPDX-License-Identifier: Apache-2.0 */
/* sweepgrid.c - see sweepgrid.h. */
#include "query/sweepgrid.h"

#include "base/mem.h"

static uint64_t bit_of(unsigned group)
{
    return group < SWEEP_GROUPS_MOST ? UINT64_C(1) << group : 0;
}

bool sweepgrid_begins(const struct sweepgrid *g, unsigned group, int64_t t_us, int64_t period_us)
{
    return !g->begun || g->groups & bit_of(group) || t_us - g->at_us >= period_us - period_us / 4;
}

bool sweepgrid_row(struct sweepgrid *g, unsigned group, int64_t t_us, int64_t period_us)
{
    const bool begins = sweepgrid_begins(g, group, t_us, period_us);
    if (begins) {
        g->at_us = g->begun ? MAX_OF(g->at_us, t_us) : t_us;
        g->groups = 0;
        g->begun = true;
    }
    g->groups |= bit_of(group);
    return begins;
}
