/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_memory.c - see gpu_memory.h. */
#include "rules/gpu_memory.h"

#include <math.h>

#include "rules/values.h"

/* Bytes; 0: not known. */
static float total_of(const struct gpu_sweeps *g, size_t n, const struct node_facts *node)
{
    const float known = node ? (float)node->gpu_memory_bytes : 0;
    return values_highest(g->v[GPU_SIG_MEM_TOTAL], n, known);
}

const float *gpu_memory_column(enum gpu_memory which, const struct sweeps *s, size_t gpu)
{
    const float *v = s->gpus[gpu].v[which == MEMORY_OF_DEVICE ? GPU_SIG_MEM : GPU_SIG_MEM_CTRL];
    return v && values_read(v, s->n) ? v : NULL;
}

/* Where the driver cannot see the processes of the job, or they do not use the GPU yet, it tells of
 * none: that is not known, not zero. */
bool job_memory_column(struct job_memory *m, const struct sweeps *s, size_t gpu,
                       const struct node_facts *node, float *room)
{
    const struct gpu_sweeps *g = &s->gpus[gpu];
    const float *bytes = g->v[GPU_SIG_JOB_MEM], total = total_of(g, s->n, node);
    for (size_t i = 0; i < s->n; i++) {
        if (bytes && bytes[i] > 0 && total > 0) {
            m->last = 100 * (bytes[i] / total);
            m->n++;
        }
        room[i] = m->n ? m->last : NAN;
    }
    return m->n > 0;
}
