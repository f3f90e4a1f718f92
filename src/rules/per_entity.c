/* SPDX-License-Identifier: Apache-2.0 */
/* per_entity.c - see per_entity.h. */
#include "rules/per_entity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rules/values.h"

/* ==== GPUs ==== */

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

void per_gpu_memory(struct per_gpu *g, void (*one)(void *own, enum state_op op), enum state_op op)
{
    if (op == STATE_COPY)
        state_memory(op, &g->v, g->n * g->size);
    for (size_t i = 0; one && i < g->n; i++)
        one(per_gpu_at(g, i), op);
    if (op == STATE_FREE)
        state_memory(op, &g->v, 0);
}

bool gpu_was_used(const struct gpu_head *h)
{
    return h->most_util >= UNUSED_BELOW || h->most_processes > 0;
}

/* ==== ranks ==== */

static bool per_rank_is_same(const struct rank_sight *a, const struct rank_sight *b)
{
    if (a->rank >= 0 && b->rank >= 0)
        return a->rank == b->rank;
    return a->pid == b->pid;
}

static bool is_before(const struct rank_sight *a, const struct rank_sight *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->pid < b->pid;
}

/* Keeps the order when the one at i has got another number. */
static void *per_rank_settle(struct per_rank *r, size_t i)
{
    void *one = r->v[i];
    const struct rank_sight *who = &((struct rank_head *)one)->who;
    for (; i > 0 && is_before(who, &((struct rank_head *)r->v[i - 1])->who); i--)
        r->v[i] = r->v[i - 1];
    for (; i + 1 < r->n && is_before(&((struct rank_head *)r->v[i + 1])->who, who); i++)
        r->v[i] = r->v[i + 1];
    r->v[i] = one;
    return one;
}

void *per_rank_see(struct per_rank *r, size_t size, const struct rank_sight *who)
{
    for (size_t i = 0; i < r->n; i++) {
        struct rank_head *h = r->v[i];
        if (!per_rank_is_same(&h->who, who))
            continue;
        const bool settled = h->who.rank >= 0 || who->rank < 0;
        h->who.rank = MAX_OF(h->who.rank, who->rank);
        h->who.device = MAX_OF(h->who.device, who->device);
        return settled ? h : per_rank_settle(r, i);
    }
    r->v = xrealloc(r->v, r->n + 1, sizeof(void *));
    r->size = size;
    struct rank_head *h = r->v[r->n++] = xcalloc(1, size);
    h->who = *who;
    h->who.gpu = NULL; /* it is not there for long */
    return per_rank_settle(r, r->n - 1);
}

void per_rank_memory(struct per_rank *r, void (*one)(void *own, enum state_op op), enum state_op op)
{
    if (op == STATE_COPY)
        state_memory(op, &r->v, r->n * sizeof *r->v);
    for (size_t i = 0; i < r->n; i++) {
        if (op == STATE_COPY)
            state_memory(op, &r->v[i], r->size);
        if (one)
            one(r->v[i], op);
        if (op == STATE_FREE)
            free(r->v[i]);
    }
    if (op == STATE_FREE)
        state_memory(op, &r->v, 0);
}
