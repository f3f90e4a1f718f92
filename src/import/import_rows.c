/* SPDX-License-Identifier: Apache-2.0 */
/* import_rows.c - see import_rows.h. */
#include "import/import_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static struct rows_group *import_rows_group_of(struct import_rows *r, const struct group *g)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (strcmp(r->groups[i].own.name, g->name) == 0)
            return &r->groups[i];
    r->groups = xrealloc(r->groups, r->n + 1, sizeof *r->groups);
    struct rows_group *x = &r->groups[r->n++];
    *x = (struct rows_group){0};
    group_open(&x->own, g->name, g->period_ns);
    return x;
}

static bool import_rows_is_same(const struct slot *a, const struct slot *b)
{
    return a->metric == b->metric && a->step == b->step && strcmp(a->entity, b->entity) == 0;
}

/* Mostly the files of a machine name their series in the same order. */
static slot_id slot_like(struct group *own, const struct slot *s, slot_id guess)
{
    if (guess < own->n && import_rows_is_same(&own->slots[guess], s))
        return guess;
    for (slot_id i = 0; i < own->n; i++)
        if (import_rows_is_same(&own->slots[i], s))
            return i;
    return group_add_step(own, s->metric, s->entity, s->step);
}

static void map_slots(struct rows_group *x, struct group *g)
{
    x->to = xrealloc(x->to, g->n, sizeof *x->to);
    for (slot_id i = 0; i < g->n; i++)
        x->to[i] = g->slots[i].used ? slot_like(&x->own, &g->slots[i], i) : SLOT_NONE;
    x->n = g->n;
    x->from = g;
    x->generation = g->generation;
}

/* Rows of a group go forward in time. What goes back is told as a group of its own. */
static void import_rows_begin_anew(struct rows_group *x)
{
    x->own.sink_data = NULL;
    x->begun = false;
}

void rows_take(struct import_rows *r, struct group *g, mono_ns t)
{
    struct rows_group *x = import_rows_group_of(r, g);
    if (x->from != g || x->generation != g->generation)
        map_slots(x, g);
    if (x->begun && t.ns < x->last.ns)
        import_rows_begin_anew(x);
    if (!x->begun)
        group_set_period(&x->own, g->period_ns);
    for (slot_id i = 0; i < x->n; i++)
        if (x->to[i] != SLOT_NONE && g->cells[i] != CELL_MISSING)
            x->own.cells[x->to[i]] = g->cells[i];
    group_commit(&x->own, r->sink, t);
    x->last = t;
    x->begun = true;
}

void rows_begin(struct import_rows *r)
{
    for (uint32_t i = 0; i < r->n; i++)
        r->groups[i].from = NULL;
}

/* Each once, whatever is read of it. */
static bool is_first_of(const struct group *g, slot_id at, enum entity_kind per)
{
    for (slot_id i = 0; i < at; i++)
        if (metrics[g->slots[i].metric].per == per &&
            strcmp(g->slots[i].entity, g->slots[at].entity) == 0)
            return false;
    return metrics[g->slots[at].metric].per == per &&
           strcmp(g->slots[at].entity, ENTITY_TOTAL) != 0;
}

unsigned rows_devices(const struct import_rows *r, enum entity_kind per)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < r->n; i++)
        for (slot_id s = 0; s < r->groups[i].own.n; s++)
            n += is_first_of(&r->groups[i].own, s, per);
    return n;
}

void rows_open(struct import_rows *r, struct sink *sink)
{
    *r = (struct import_rows){.sink = sink};
}

void rows_close(struct import_rows *r)
{
    for (uint32_t i = 0; i < r->n; i++) {
        group_close(&r->groups[i].own);
        free(r->groups[i].to);
    }
    free(r->groups);
    *r = (struct import_rows){0};
}
