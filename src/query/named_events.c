/* SPDX-License-Identifier: Apache-2.0 */
/* named_events.c - see named_events.h. */
#include "query/named_events.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static bool in_order(const void *a, const void *b)
{
    const struct named_event *x = a, *y = b;
    return x->at.ns <= y->at.ns;
}

void named_list_push(struct named_list *l, const struct named_event *x)
{
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 1024;
        l->v = xrealloc(l->v, l->cap, sizeof *l->v);
    }
    if (l->n == 0 || !in_order(&l->v[l->n - 1], x))
        sorted_runs_add(&l->runs, l->n);
    l->v[l->n++] = *x;
}

void named_lists_join(const struct named_list *const *lists, size_t n_lists, struct arena *a,
                      struct node_events *out)
{
    struct sorted_runs runs = {0};
    size_t all = 0;
    for (size_t i = 0; i < n_lists; i++)
        all += lists[i]->n;
    out->v = arena_array(a, struct named_event, all);
    out->n = 0;
    for (size_t i = 0; i < n_lists; i++) {
        if (lists[i]->n)
            memcpy(out->v + out->n, lists[i]->v, lists[i]->n * sizeof *out->v);
        sorted_runs_append(&runs, &lists[i]->runs, out->n);
        out->n += lists[i]->n;
    }
    sorted_runs_merge(&runs, out->v, out->n, sizeof *out->v, in_order);
    sorted_runs_free(&runs);
}

void named_list_free(struct named_list *l)
{
    free(l->v);
    sorted_runs_free(&l->runs);
    *l = (struct named_list){0};
}
