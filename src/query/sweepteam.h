/* SPDX-License-Identifier: Apache-2.0 */
/* sweepteam.h - groups of a node that are read at every tick, and how many sweeps they make
 * together before anything else happens.
 *
 * What a sweep is says sweepgrid.h, row by row; most rows are of such groups, so that whole
 * stretches of sweeps are found at once. sweepteam_open, sweepteam_put for every group that has
 * rows to come, then sweepteam_count. */
#ifndef QUERY_SWEEPTEAM_H
#define QUERY_SWEEPTEAM_H

#include <stddef.h>

#include "query/sweepgrid.h"

struct sweepteam {
    unsigned groups[SWEEP_GROUPS_MOST];
    const int64_t *times[SWEEP_GROUPS_MOST]; /* us, of their rows to come */
    size_t rows[SWEEP_GROUPS_MOST];          /* so many; at least one */
    size_t n; /* in order of their next row; after sweepteam_count those that make the sweeps */
};

void sweepteam_open(struct sweepteam *t);
/* No more than SWEEP_GROUPS_MOST. The times stay the caller's. */
void sweepteam_put(struct sweepteam *t, unsigned group, const int64_t *times, size_t rows);
/* How many sweeps follow that have one row of each of the first t->n groups and no other, at most
 * `most` and less than any of those has rows. The first row of all begins a sweep. */
size_t sweepteam_count(struct sweepteam *t, int64_t period_us, size_t most);

#endif
