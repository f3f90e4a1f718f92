/* SPDX-License-Identifier: Apache-2.0 */
/* jobsteps.h - the training steps of a job from those of its ranks: a step of the job begins and
 * ends with the last of its ranks. Pure.
 *
 * A step counts by its iteration, from its begin to the begin of the next step of the rank: where
 * the program runs ahead of a GPU, a step alone is only the time it takes to launch the work. The
 * last step of a rank has no iteration and counts by its duration. */
#ifndef COMPARE_JOBSTEPS_H
#define COMPARE_JOBSTEPS_H

#include "query/steps.h"

/* Parts of an iteration: those of the step, then the time between it and the next. */
enum { ITERATION_PARTS_MOST = STEP_PARTS_MOST + 1 };

size_t iteration_parts(void);                 /* how many there are, "between" included */
const char *iteration_part_name(size_t part); /* the last is "between" */

struct jobsteps {
    size_t n;
    int64_t *number;                      /* as the program or the order of steps has it */
    double *s;                            /* how long its iteration took */
    double *part_s[ITERATION_PARTS_MOST]; /* of the last rank, host time; NULL: no step has it */
    double *batch;                        /* samples over all ranks; NULL: not known */
    bool *warmup, *disturbed;             /* by the step of any rank: see struct step */
    size_t ranks;
};

/* Steps that were cut do not count. Ranks are tied together by the numbers of steps where each
 * counts upwards, else by their order. Lives in the arena. */
void jobsteps_of(const struct rank_steps *ranks, size_t n, struct arena *a, struct jobsteps *out);

#endif
