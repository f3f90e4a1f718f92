/* SPDX-License-Identifier: Apache-2.0 */
/* rank_time.h - what the steady training steps of a rank were spent on, as sums.
 *
 * An iteration lasts from the begin of a step to the begin of the next. Steps of warm-up, of detail
 * windows, of evaluation and those that were cut do not count. */
#ifndef RULES_RANK_TIME_H
#define RULES_RANK_TIME_H

#include "rules/per_rank.h"

struct rank_time {
    uint64_t steps;
    int64_t iteration_ns, step_ns;
    int64_t between_sync_ns; /* waits for the GPU between steps */
    int64_t part_ns[STEP_PARTS_MOST];
};

/* Steps that begin before `from` do not count. */
void rank_time_add(struct rank_time *t, wall_ns from, const struct step *v, size_t n);

double rank_time_iterations_s(const struct rank_time *t);
/* Of the part with that name in all steps. */
double rank_time_part_s(const struct rank_time *t, const char *part);
/* Waits for the GPU, in steps and between them. */
double rank_time_waits_s(const struct rank_time *t);
/* Time in steps in which the program itself works: no loading, waiting, communication, compiling
 * or saving. In a CUDA job it launches work for the GPU then. */
double rank_time_launch_s(const struct rank_time *t);

/* Seconds of the loop after its warm-up. */
double judge_steady_s(const struct judge *j);
/* The GPU's use in percent while the program launches work, if all of its work was done then: the
 * most that it can have been. `mean`: its use over the loop after warm-up; NAN gives NAN. */
double rank_time_gpu_use(const struct judge *j, const struct rank_time *t, double mean);

#endif
