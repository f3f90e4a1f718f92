/* SPDX-License-Identifier: Apache-2.0 */
/* columns_late.c - see columns_late.h. */
#include "query/columns_late.h"

#include <stdlib.h>

#include "base/mem.h"

void lates_free(struct lates *x)
{
    for (size_t i = 0; i < x->cap; i++) {
        free(x->v[i].columns);
        free(x->v[i].list);
    }
    free(x->v);
    *x = (struct lates){0};
}

static struct late *next_free(struct lates *x)
{
    if (x->n == x->cap) {
        const size_t cap = x->cap ? 2 * x->cap : 4;
        x->v = xrealloc(x->v, cap, sizeof *x->v);
        for (size_t i = x->cap; i < cap; i++)
            x->v[i] = (struct late){0};
        x->cap = cap;
    }
    return &x->v[x->n++];
}

void late_add(struct lates *x, size_t lane, const struct fold_parts *parts, uint32_t ask)
{
    struct late *l = next_free(x);
    if (parts->n > l->cap_columns) {
        l->cap_columns = parts->n;
        l->columns = xrealloc(l->columns, parts->n, sizeof *l->columns);
        l->list = xrealloc(l->list, parts->n, sizeof *l->list);
    }
    l->ended = false;
    l->lane = lane;
    l->ask = ask;
    l->block = parts->block;
    l->first = l->n = l->to = 0;
    l->n_columns = parts->n;
    for (size_t i = 0; i < parts->n; i++) {
        l->columns[i] = *parts->v[i];
        l->list[i] = &l->columns[i];
    }
}

struct late *late_find(struct lates *x, size_t lane, uint32_t ask)
{
    for (size_t i = 0; i < x->n; i++)
        if (!x->v[i].ended && x->v[i].lane == lane && x->v[i].ask == ask)
            return &x->v[i];
    return NULL;
}

void late_end(struct lates *x, size_t lane)
{
    for (size_t i = 0; i < x->n; i++)
        if (x->v[i].lane == lane)
            x->v[i].ended = true;
}

void late_done(struct lates *x)
{
    size_t left = 0;
    for (size_t i = 0; i < x->n; i++) {
        const struct late l = x->v[i];
        if (l.ended)
            continue;
        x->v[i] = x->v[left]; /* what has ended keeps its room */
        x->v[left] = l;
        x->v[left++].n = 0;
    }
    x->n = left;
}

struct fold_parts late_parts(const struct late *l, const struct column_limits *limits,
                             const uint8_t *where)
{
    return (struct fold_parts){l->block, l->list, l->n_columns, FOLD_MAX, limits, where};
}
