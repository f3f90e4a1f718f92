/* SPDX-License-Identifier: Apache-2.0 */
/* steps_derive.c - the events of one thread in, its steps out. */
#include <stdlib.h>

#include "base/mem.h"
#include "query/steps_internal.h"

void step_list_add(struct step_list *l, struct bare_step s)
{
    if (l->n)
        s.start = MAX_OF(s.start, l->v[l->n - 1].end);
    if (s.end < s.start)
        return;
    if (l->n == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 256;
        l->v = xrealloc(l->v, l->cap, sizeof *l->v);
    }
    l->v[l->n++] = s;
    l->numbers[s.mode]++;
}

void steps_list(const struct points *p, struct step_list *out)
{
    *out = (struct step_list){0};
    if (!steps_said(p, out))
        steps_seen(p, out);
}

void steps_of_points(const struct points *p, struct arena *a, struct step **out, size_t *n)
{
    struct step_list l;
    struct steps_fill fill;
    steps_list(p, &l);
    *out = arena_array(a, struct step, l.n);
    *n = l.n;
    steps_fill_open(&fill, p);
    steps_fill_next(&fill, &l, 0, *out, l.n);
    free(l.v);
}

void steps_derive(const struct run_event *v, size_t n, struct arena *a, struct step **out,
                  size_t *n_out)
{
    struct points p = {0};
    struct names_seen names = {0};
    for (size_t i = 0; i < n; i++)
        points_add(&p, &v[i].event, names_seen_find(&names, v[i].event.name));
    points_sort(&p);
    steps_of_points(&p, a, out, n_out);
    steps_mark_warmup(*out, *n_out);
    points_free(&p);
    /* Every step begins with an event; both are in order of time. */
    for (size_t i = 0, k = 0; i < *n_out; i++) {
        wall_ns *start = &(*out)[i].start;
        while (k + 1 < n && v[k + 1].event.at.ns <= start->ns)
            k++;
        start->ns += v[k].at.ns - v[k].event.at.ns;
    }
}
