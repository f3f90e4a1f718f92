/* SPDX-License-Identifier: Apache-2.0 */
/* group.c - see group.h. */
#include "record/group.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

/* 2^53: exact in a double, and small enough that the sum of a summary bucket fits. */
#define CELL_MOST 9007199254740992.0

/* A rate whose step is "one count per period" gets coarser as the period gets shorter. */
static double group_step_of(const struct slot *s, int64_t period_ns)
{
    const struct metric *m = &metrics[s->metric];
    if (s->own_step || m->step > 0)
        return s->own_step ? s->step : m->step;
    const double one = m->count / (double)s->parts;
    return m->kind == KIND_GAUGE ? one : one * (double)NS_PER_S / (double)period_ns;
}

void group_open(struct group *g, const char *name, int64_t period_ns)
{
    assert(period_ns > 0);
    *g = (struct group){.period_ns = period_ns, .generation = 1};
    snprintf(g->name, sizeof g->name, "%s", name);
}

void group_close(struct group *g)
{
    free(g->slots);
    free(g->scales);
    free(g->cells);
    *g = (struct group){0};
}

static slot_id free_slot(struct group *g)
{
    for (slot_id s = 0; s < g->n; s++)
        if (!g->slots[s].used)
            return s;
    if (VEC_GROW(g->cap, g->n + 1)) {
        g->slots = xrealloc(g->slots, g->cap, sizeof *g->slots);
        g->scales = xrealloc(g->scales, g->cap, sizeof *g->scales);
        g->cells = xrealloc(g->cells, g->cap, sizeof *g->cells);
    }
    return g->n++;
}

static void set_scale(struct group *g, slot_id id)
{
    struct slot *s = &g->slots[id];
    const struct metric *m = &metrics[s->metric];
    s->step = group_step_of(s, g->period_ns);
    g->scales[id].cells = m->count * (m->kind == KIND_RATE ? (double)NS_PER_S : 1) / s->step;
    g->scales[id].most = m->hi > 0 ? nearbyint(m->hi / s->step) : INFINITY;
}

static slot_id add(struct group *g, const struct slot *like, const char *entity)
{
    const slot_id id = free_slot(g);
    struct slot *s = &g->slots[id];
    g->generation++;
    *s = *like;
    s->used = true;
    s->born = g->generation;
    set_scale(g, id);
    snprintf(s->entity, sizeof s->entity, "%s", entity);
    g->cells[id] = CELL_MISSING;
    return id;
}

slot_id group_add_mean(struct group *g, enum metric_id m, const char *entity, unsigned parts)
{
    assert(parts > 0);
    return add(g, &(struct slot){.metric = m, .parts = parts}, entity);
}

slot_id group_add_step(struct group *g, enum metric_id m, const char *entity, double step)
{
    assert(step > 0);
    return add(g, &(struct slot){.metric = m, .parts = 1, .step = step, .own_step = true}, entity);
}

slot_id group_add(struct group *g, enum metric_id m, const char *entity)
{
    return group_add_mean(g, m, entity, 1);
}

void group_drop(struct group *g, slot_id s)
{
    if (s == SLOT_NONE)
        return;
    assert(s < g->n && g->slots[s].used);
    g->slots[s].used = false;
    g->cells[s] = CELL_MISSING;
    g->generation++;
}

void group_set_period(struct group *g, int64_t period_ns)
{
    assert(period_ns > 0);
    if (period_ns == g->period_ns)
        return;
    g->period_ns = period_ns;
    g->generation++;
    for (slot_id s = 0; s < g->n; s++)
        set_scale(g, s);
}

/* The cell of a slot that is there; what is not a number stays missing. */
static void group_set_cell(struct group *g, slot_id s, double cell)
{
    if (isnan(cell))
        return;
    cell = cell < 0 ? 0 : cell > g->scales[s].most ? g->scales[s].most : cell;
    g->cells[s] = cell <= CELL_MOST ? (int64_t)(cell + 0.5) : CELL_MISSING;
}

void group_gauge(struct group *g, slot_id s, double counts)
{
    if (s != SLOT_NONE)
        group_set_cell(g, s, counts * g->scales[s].cells);
}

void group_rate(struct group *g, slot_id s, double delta, int64_t dt_ns)
{
    if (s != SLOT_NONE && dt_ns > 0)
        group_set_cell(g, s, delta * g->scales[s].cells / (double)dt_ns);
}

void group_commit(struct group *g, struct sink *s, mono_ns t)
{
    bool some = false;
    for (slot_id i = 0; i < g->n && !some; i++)
        some = g->cells[i] != CELL_MISSING;
    if (some)
        s->ops->row(s, g, t);
    for (slot_id i = 0; i < g->n; i++)
        g->cells[i] = CELL_MISSING;
}

static enum counter_step counter_growth(const struct counter *c, uint64_t now, unsigned bits,
                                        uint64_t *growth)
{
    if (!c->known)
        return COUNTER_FIRST;
    *growth = now - c->last;
    if (now >= c->last)
        return COUNTER_OK;
    if (bits != 32 || c->last > UINT32_MAX)
        return COUNTER_RESET;
    *growth = (uint32_t)(now - c->last);
    return *growth < UINT32_MAX / 2 ? COUNTER_OK : COUNTER_RESET;
}

enum counter_step group_counter(struct group *g, slot_id s, struct counter *c, uint64_t now,
                                unsigned bits, mono_ns t)
{
    uint64_t growth = 0;
    const enum counter_step step = counter_growth(c, now, bits, &growth);
    if (step == COUNTER_OK)
        group_rate(g, s, (double)growth, mono_diff(t, c->at));
    *c = (struct counter){now, t, true};
    return step;
}
