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

enum { SWEEP_GROUPS_MOST = 64 }; /* more than these are told apart by time alone */

/* A zeroed one is ready. */
struct sweepgrid {
    bool begun;
    int64_t at_us;   /* first row of the sweep being made; monotonic */
    uint64_t groups; /* that have a row in it, as bits */
};

/* A row of the group with that number at t. `period_us` is the shortest that any group has now. */
bool sweepgrid_begins(const struct sweepgrid *g, unsigned group, int64_t t_us, int64_t period_us);
/* Takes the row in; true: it begins a sweep. */
bool sweepgrid_row(struct sweepgrid *g, unsigned group, int64_t t_us, int64_t period_us);

#endif
