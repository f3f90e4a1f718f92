/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_activity.h - how busy each GPU of a node was on the mean: utilization (a kernel ran), SM
 * activity, tensor activity, DRAM activity, in percent. The last three come from the GPU's own
 * performance monitor (GPM), which Hopper and later have.
 *
 * Sums are whole numbers of tenths, so that a state does not depend on how it was cut. */
#ifndef RULES_GPU_ACTIVITY_H
#define RULES_GPU_ACTIVITY_H

#include "rules/per_gpu.h"

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

#endif
