/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_memory.h - what is known of the memory of a GPU, the best first: that of the job's own
 * processes, what is in use on the device, or, of runs that were imported from SageMaker, how busy
 * the memory controller was, which is what its rules were given.
 *
 * A rule keeps a state for each of them and judges by the first that anything was read of. */
#ifndef RULES_GPU_MEMORY_H
#define RULES_GPU_MEMORY_H

#include "rules/sight.h"

enum gpu_memory { MEMORY_OF_JOB, MEMORY_OF_DEVICE, MEMORY_ACTIVITY, GPU_MEMORY_N };

/* The column in percent of GPU `gpu` of the batch, in `room` of s->n when it has to be made; NULL:
 * nothing of it was read in this batch. That of the job is read every few seconds only, and is not
 * known, rather than zero, where the driver tells of none. */
const float *gpu_memory_column(enum gpu_memory which, const struct sweeps *s, size_t gpu,
                               const struct node_facts *node, float *room);

#endif
