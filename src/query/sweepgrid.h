/* SPDX-License-Identifier: Apache-2.0 */
/* sweepgrid.h - which rows of a node's groups belong to one sweep.
 *
 * All groups of a node are read at the same tick, some milliseconds apart, slow ones not at every
 * tick. A row belongs to the sweep being made unless its group has one in it already or it comes
 * three quarters of a period or more after the sweep began. Pure, and fed row by row in order of
 * time, so that a run that lives and the files of one that ended show the same sweeps. */
#ifndef QUERY_SWEEPGRID_H
#define QUERY_SWEEPGRID_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

enum { SWEEP_GROUPS_MOST = 64 }; /* more than these are distinguished by time alone */

/* A zeroed one is ready. */
struct sweepgrid {
    bool begun;
    int64_t at_us;   /* first row of the sweep being made; monotonic */
    uint64_t groups; /* that have a row in it, as bits */
};

static inline uint64_t sweepgrid_bit(unsigned group)
{
    return group < SWEEP_GROUPS_MOST ? UINT64_C(1) << group : 0;
}

/* A row of the group with that number at t. `period_us` is the shortest that any group has now. */
static inline bool sweepgrid_begins(const struct sweepgrid *g, unsigned group, int64_t t_us,
                                    int64_t period_us)
{
    return !g->begun || g->groups & sweepgrid_bit(group) ||
           t_us - g->at_us >= period_us - period_us / 4;
}

/* Takes the row in; true: it begins a sweep. */
static inline bool sweepgrid_row(struct sweepgrid *g, unsigned group, int64_t t_us,
                                 int64_t period_us)
{
    const bool begins = sweepgrid_begins(g, group, t_us, period_us);
    if (begins) {
        g->at_us = g->begun ? MAX_OF(g->at_us, t_us) : t_us;
        g->groups = 0;
        g->begun = true;
    }
    g->groups |= sweepgrid_bit(group);
    return begins;
}

#endif
