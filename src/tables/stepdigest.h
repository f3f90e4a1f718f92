/* SPDX-License-Identifier: Apache-2.0 */
/* stepdigest.h - the steps of a run, small enough for a cache: the rows of `steps`,
 * the last steps in full, all others as marks, the phases of the job, and an overview of what ran
 * when for runs too long to read each event. */
#ifndef TABLES_STEPDIGEST_H
#define TABLES_STEPDIGEST_H

#include "query/efficiency.h"
#include "query/timeline.h"
#include "tables/stepsview.h"

enum {
    DIGEST_LAST = 2000,       /* steps of each rank and mode in full */
    DIGEST_OVERVIEW = 100000, /* events from which on a track is in the overview */
};

struct step_digest {
    struct steps_view view; /* its items: the last of each rank and mode */
    struct rank_marks *ranks;
    size_t n_ranks;
    struct run_phases phases;
    struct loop_window window;
    struct allocator_peak allocator;
    struct timeline_overview overview;
    size_t bytes; /* about so much memory is in use */
};

/* Everything lives in the arena and survives run_close. */
MUST_CHECK int stepdigest_read(struct step_digest *out, struct run *r, struct arena *a,
                               struct err *e);
/* How many events have to be read for it. */
MUST_CHECK int stepdigest_cost(struct run *r, struct arena *a, uint64_t *events, struct err *e);

#endif
