/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_activity.h - how busy each GPU of a node was on the mean: utilization (a kernel ran), SM
 * activity, tensor activity, DRAM activity, in percent. The last three come from the GPU's own
 * performance monitor (GPM), which Hopper and later have.
 *
 * Sums are whole numbers of tenths, so that a state does not depend on how it was cut. */
#ifndef RULES_GPU_ACTIVITY_H
#define RULES_GPU_ACTIVITY_H

#include "rules/per_entity.h"
#include "rules/sight.h"

/* Readings below this are too few for a mean. */
enum { GPU_ACTIVITY_LEAST = 5 };

struct gpu_level {
    uint64_t n, tenths;
};

struct gpu_activity {
    struct gpu_head head;
    struct gpu_level util, sm, tensor, dram;
    int64_t first_ns, end_ns; /* of the sweeps; 0: there was none */
};

void gpu_activity_see(struct per_gpu *g, const struct sweeps *s);
/* NAN: too few readings. */
double gpu_level_mean(const struct gpu_level *l);
/* The time that was looked at. */
struct time_range gpu_activity_range(const struct gpu_activity *a);

/* The mean over all GPUs of a node that the job used. */
struct node_activity {
    size_t gpus;     /* that it used */
    double util, sm; /* NAN: not known of any of them */
    uint64_t readings;
    struct time_range range;
};

struct node_activity node_activity_of(const struct per_gpu *g);

/* Why a node has no SM activity, in the judge's arena. */
const char *gpu_activity_missing(const struct judge *j);

/* ---- the time of ranks ---- */

/* What the steady training steps of a rank were spent on, as sums.
 *
 * An iteration lasts from the begin of a step to the begin of the next. Steps of warm-up, of detail
 * windows, of evaluation and those that were cut do not count. */

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

/* ---- memory ---- */

/* What is known of the memory of a GPU, the best first: that of the job's own
 * processes, what is in use on the device, or, of runs that were imported from SageMaker, how busy
 * the memory controller was, which is what its rules were given.
 *
 * A rule keeps a state for each of them and judges by the first that anything was read of. */

enum gpu_memory { MEMORY_OF_JOB, MEMORY_OF_DEVICE, MEMORY_ACTIVITY, GPU_MEMORY_N };

/* The column in percent of GPU `gpu` of the batch, in `room` of s->n when it has to be made; NULL:
 * nothing of it was read in this batch. That of the job is read every few seconds only, and is not
 * known, rather than zero, where the driver tells of none. */
const float *gpu_memory_column(enum gpu_memory which, const struct sweeps *s, size_t gpu,
                               const struct node_facts *node, float *room);

#endif
