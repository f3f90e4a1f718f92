/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_activity.h - how busy each GPU of a node was on average: utilization (a kernel ran), SM
 * activity, tensor activity, DRAM activity, in percent. The last three come from the GPU's own
 * performance monitor (GPM), which Hopper and later have.
 *
 * Sums are whole numbers of tenths, so that a state does not depend on how it was cut. */
#ifndef RULES_GPU_ACTIVITY_H
#define RULES_GPU_ACTIVITY_H

#include "rules/per_entity.h"
#include "rules/rule_input.h"

/* Readings below this are too few for a mean. */
enum { GPU_ACTIVITY_LEAST = 5 };

struct gpu_level {
    uint64_t n, tenths;
};

struct gpu_activity {
    struct gpu_head head;
    struct gpu_level util, sm, tensor, dram;
    struct time_range range; /* of the sweeps; 0: there was none */
};

/* Members of a RULE_STATE. */
#define GPU_ACTIVITY .gpu_size = sizeof(struct gpu_activity), .gpu = gpu_activity_see
void gpu_activity_see(void *gpu, const struct gpu_batch *c);
/* NAN: too few readings. */
double gpu_level_mean(const struct gpu_level *l);

/* The mean over all GPUs of a node that the job used. */
struct node_activity {
    size_t gpus;     /* that it used */
    double util, sm; /* NAN: not known of any of them */
    struct time_range range;
};

struct node_activity node_activity_of(const struct node_state *t);

/* No GPU has SM activity: records why. */
void gpu_activity_is_missing(const struct judge *j, struct verdict *out);

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

/* Of the part that these events are, in all steps. */
double rank_time_part_s(const struct rank_time *t, enum event_id part);
/* Waits for the GPU, in steps and between them. */
double rank_time_waits_s(const struct rank_time *t);
/* Time in steps in which the program itself works: no loading, waiting, communication, compiling
 * or saving. In a CUDA job it launches work for the GPU then. */
double rank_time_launch_s(const struct rank_time *t);

/* The GPU's use in percent while the program launches work, if all of its work was done then: the
 * most that it can have been. `mean`: its use over the loop after warm-up; NAN gives NAN. */
double rank_time_gpu_use(const struct judge *j, const struct rank_time *t, double mean);

/* ---- memory ---- */

/* What is known of the memory of a GPU, the best first: that of the job's own
 * processes, what is in use on the device, or, of runs that were imported from SageMaker, how busy
 * the memory controller was, which is what its rules were given.
 *
 * A rule has a state for each of them and judges by the first that has readings. */

enum gpu_memory { MEMORY_OF_JOB, MEMORY_OF_DEVICE, MEMORY_ACTIVITY, GPU_MEMORY_N };

/* The GPU's column of the batch in percent, in `room` of s->n when it has to be made; NULL: nothing
 * of it was read in this batch. That of the job is read every few seconds only, and is not known,
 * rather than zero, where the driver reports none. */
const float *gpu_memory_column(enum gpu_memory which, const struct gpu_batch *c, float *room);

#endif
