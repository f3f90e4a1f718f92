/* SPDX-License-Identifier: Apache-2.0 */
/* episodes.c - see episodes.h. */
#include "rules/episodes.h"

#include <stdlib.h>

#include "base/mem.h"

void episodes_put(struct episodes *e, const struct episode *x)
{
    struct episode *last = e->n ? &e->v[e->n - 1] : NULL;
    if (last && x->from_ns - last->to_ns <= EPISODE_GAP_NS) {
        last->to_ns = MAX_OF(last->to_ns, x->to_ns);
        last->count += x->count;
        last->held_ns += x->held_ns;
        return;
    }
    if (e->n == e->cap) {
        e->cap = e->cap ? 2 * e->cap : 4;
        e->v = xrealloc(e->v, e->cap, sizeof *e->v);
    }
    e->v[e->n++] = *x;
}

void episodes_add(struct episodes *e, wall_ns at, int64_t held_ns)
{
    const struct episode x = {at.ns, at.ns + held_ns, 1, held_ns};
    episodes_put(e, &x);
}

void episodes_free(struct episodes *e)
{
    free(e->v);
    *e = (struct episodes){0};
}

int64_t episodes_held_ns(const struct episodes *e)
{
    int64_t held = 0;
    for (uint32_t i = 0; i < e->n; i++)
        held += e->v[i].held_ns;
    return held;
}

struct time_range *episodes_ranges(const struct episodes *e, struct arena *a)
{
    struct time_range *r = arena_array(a, struct time_range, e->n);
    for (uint32_t i = 0; i < e->n; i++)
        r[i] = (struct time_range){{e->v[i].from_ns}, {e->v[i].to_ns}};
    return r;
}
