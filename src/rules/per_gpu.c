/* SPDX-License-Identifier: Apache-2.0 */
/* per_gpu.c - see per_gpu.h. */
#include "rules/per_gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rules/values.h"

static const float UNUSED_BELOW = 1; /* percent */

static void per_gpu_fit(struct per_gpu *g, size_t n, size_t size)
{
    if (n <= g->n)
        return;
    g->v = xrealloc(g->v, n, size);
    memset(g->v + g->n * size, 0, (n - g->n) * size);
    g->n = n;
    g->size = size;
}

void *per_gpu_at(const struct per_gpu *g, size_t i)
{
    return g->v + i * g->size;
}

void per_gpu_see(struct per_gpu *g, size_t size, const struct sweeps *s)
{
    per_gpu_fit(g, s->n_gpus, size);
    for (size_t i = 0; i < s->n_gpus; i++) {
        struct gpu_head *h = per_gpu_at(g, i);
        snprintf(h->entity, sizeof h->entity, "%s", s->gpus[i].entity);
        if (gpu_was_used(h)) /* nothing more to learn */
            continue;
        h->most_util = values_highest(s->gpus[i].v[GPU_SIG_UTIL], s->n, h->most_util);
        h->most_processes =
            values_highest(s->gpus[i].v[GPU_SIG_PROCESSES], s->n, h->most_processes);
    }
}

void per_gpu_free(struct per_gpu *g, void (*free_one)(void *own))
{
    for (size_t i = 0; free_one && i < g->n; i++)
        free_one(per_gpu_at(g, i));
    free(g->v);
    *g = (struct per_gpu){0};
}

bool gpu_was_used(const struct gpu_head *h)
{
    return h->most_util >= UNUSED_BELOW || h->most_processes > 0;
}
