/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_memory.c - see gpu_memory.h. */
#include "rules/gpu_memory.h"

#include <math.h>

#include "rules/values.h"

static const float *of_job(const struct gpu_sweeps *g, size_t n, const struct node_facts *node,
                           float *room)
{
    const float *bytes = g->v[GPU_SIG_JOB_MEM], *totals = g->v[GPU_SIG_MEM_TOTAL];
    const float known = (float)node->gpu_memory_bytes;
    bool any = false;
    for (size_t i = 0; bytes && i < n; i++) {
        const float total = totals && totals[i] > 0 ? totals[i] : known;
        room[i] = bytes[i] > 0 && total > 0 ? 100 * (bytes[i] / total) : NAN;
        any |= !isnan(room[i]);
    }
    return any ? room : NULL;
}

const float *gpu_memory_column(enum gpu_memory which, const struct sweeps *s, size_t gpu,
                               const struct node_facts *node, float *room)
{
    const struct gpu_sweeps *g = &s->gpus[gpu];
    if (which == MEMORY_OF_JOB)
        return of_job(g, s->n, node, room);
    const float *v = g->v[which == MEMORY_OF_DEVICE ? GPU_SIG_MEM : GPU_SIG_MEM_CTRL];
    return v && values_read(v, s->n) ? v : NULL;
}
