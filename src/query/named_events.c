/* SPDX-License-Identifier: Apache-2.0 */
/* named_events.c - see named_events.h. */
#include "query/named_events.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static bool named_events_in_order(const void *a, const void *b)
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
    if (l->n == 0 || !named_events_in_order(&l->v[l->n - 1], x))
        sorted_runs_add(&l->runs, l->n);
    l->v[l->n++] = *x;
}

/* ---- kept ---- */

enum { C_AT, C_DUR, C_VALUE, C_PROCESS, C_ID, COLUMNS };

static void named_events_keep(const struct named_event *v, size_t n, struct arena *a,
                              struct node_events *out)
{
    struct kept_cells cells;
    out->n = n;
    kept_open(&out->kept, COLUMNS, n, a);
    for (size_t from = 0; from < n; from += KEPT_ROWS) {
        for (size_t i = 0; i < MIN_OF(n - from, (size_t)KEPT_ROWS); i++) {
            cells.v[C_AT][i] = v[from + i].at.ns;
            cells.v[C_DUR][i] = v[from + i].dur_ns;
            cells.v[C_VALUE][i] = v[from + i].value;
            cells.v[C_PROCESS][i] = v[from + i].process;
            cells.v[C_ID][i] = v[from + i].id;
        }
        kept_put(&out->kept, from, &cells, a);
    }
}

size_t node_events_read(const struct node_events *x, size_t i, struct named_event *out)
{
    struct kept_cells cells;
    const size_t n = kept_get(&x->kept, i, &cells);
    for (size_t k = 0; k < n; k++)
        out[k] = (struct named_event){
            .at = {cells.v[C_AT][k]},
            .dur_ns = cells.v[C_DUR][k],
            .value = cells.v[C_VALUE][k],
            .process = (uint32_t)cells.v[C_PROCESS][k],
            .id = (enum event_id)cells.v[C_ID][k],
        };
    return n;
}

void named_lists_join(const struct named_list *const *lists, size_t n_lists, struct arena *a,
                      struct node_events *out)
{
    struct sorted_runs runs = {0};
    size_t all = 0, n = 0;
    for (size_t i = 0; i < n_lists; i++)
        all += lists[i]->n;
    struct named_event *v = xmalloc((all + 1) * sizeof *v);
    for (size_t i = 0; i < n_lists; i++) {
        if (lists[i]->n)
            memcpy(v + n, lists[i]->v, lists[i]->n * sizeof *v);
        sorted_runs_append(&runs, &lists[i]->runs, n);
        n += lists[i]->n;
    }
    sorted_runs_merge(&runs, v, n, sizeof *v, named_events_in_order);
    sorted_runs_free(&runs);
    named_events_keep(v, n, a, out);
    free(v);
}

void named_list_free(struct named_list *l)
{
    free(l->v);
    sorted_runs_free(&l->runs);
    *l = (struct named_list){0};
}
