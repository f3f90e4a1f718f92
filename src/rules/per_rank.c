/* SPDX-License-Identifier: Apache-2.0 */
/* per_rank.c - see per_rank.h. */
#include "rules/per_rank.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

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
    struct rank_head *h = r->v[r->n++] = xcalloc(1, size);
    h->who = *who;
    h->who.gpu = NULL; /* it is not there for long */
    return per_rank_settle(r, r->n - 1);
}

void per_rank_free(struct per_rank *r, void (*free_one)(void *own))
{
    for (size_t i = 0; i < r->n; i++) {
        if (free_one)
            free_one(r->v[i]);
        free(r->v[i]);
    }
    free(r->v);
    *r = (struct per_rank){0};
}
