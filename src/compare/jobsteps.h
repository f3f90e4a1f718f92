/* SPDX-License-Identifier: Apache-2.0 */
/* jobsteps.h - the training steps of a job over all its ranks: the slowest rank is how long a step
 * took. Pure. */
#ifndef COMPARE_JOBSTEPS_H
#define COMPARE_JOBSTEPS_H

#include "query/steps.h"

struct jobsteps {
    size_t n;
    int64_t *number;                 /* as the program or the order of steps has it */
    double *s;                       /* how long each took: the longest of its ranks */
    double *part_s[STEP_PARTS_MOST]; /* of that rank; NULL: no step of the run has it */
    double *batch;                   /* samples over all ranks; NULL: not known */
    size_t ranks;
};

/* Steps that were cut do not count. Ranks are tied together by the numbers of steps where each
 * counts upwards, else by their order. Lives in the arena. */
void jobsteps_of(const struct rank_steps *ranks, size_t n, struct arena *a, struct jobsteps *out);

#endif
