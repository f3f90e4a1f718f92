/* SPDX-License-Identifier: Apache-2.0 */
/* ops_launch.c - see ops_launch.h. */
#include "query/ops_launch.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { NEAR_BITS = 9 };

/* Links are counted up as calls are made, and devices run them in nearly that order: neighbours
 * stay neighbours, in pieces that are spread over the table. */
static size_t slot_of(const struct launches *l, uint64_t link)
{
    uint64_t far = (link >> NEAR_BITS) * 0x9E3779B97F4A7C15u;
    far ^= far >> 29;
    return (size_t)((far << NEAR_BITS) + (link & ((1u << NEAR_BITS) - 1))) & (l->n_slots - 1);
}

void launches_add(struct launches *l, const struct launch *one)
{
    if (one->link == 0 || l->n >= UINT32_MAX / 2)
        return;
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 1024;
        l->v = xrealloc(l->v, l->cap, sizeof *l->v);
    }
    l->v[l->n++] = *one;
}

static uint32_t *find(const struct launches *l, uint64_t link)
{
    for (size_t at = slot_of(l, link);; at = (at + 1) & (l->n_slots - 1))
        if (l->slots[at] == 0 || l->v[l->slots[at] - 1].link == link)
            return &l->slots[at];
}

void launches_index(struct launches *l)
{
    free(l->slots);
    l->n_slots = 1u << NEAR_BITS;
    while (l->n_slots < 2 * l->n)
        l->n_slots *= 2;
    l->slots = xcalloc(l->n_slots, sizeof *l->slots);
    for (size_t i = 0; i < l->n; i++) {
        uint32_t *slot = find(l, l->v[i].link);
        if (*slot == 0)
            *slot = (uint32_t)i + 1;
    }
}

const struct launch *launches_find(const struct launches *l, uint64_t link)
{
    if (link == 0 || !l->slots)
        return NULL;
    const uint32_t *slot = find(l, link);
    return *slot ? &l->v[*slot - 1] : NULL;
}

void launches_clear(struct launches *l)
{
    l->n = 0;
    free(l->slots);
    l->slots = NULL;
    l->n_slots = 0;
}

void launches_free(struct launches *l)
{
    launches_clear(l);
    free(l->v);
    *l = (struct launches){0};
}
