/* SPDX-License-Identifier: Apache-2.0 */
/* steps_points.c - points: the events of a thread that steps are made of.
 *
 * Events come block by block; blocks follow each other in time but for a few long spans, so sorting
 * merges only where neighbours really overlap. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "query/steps_internal.h"
#include "record/event.h"

void names_seen_forget(struct names_seen *s)
{
    *s = (struct names_seen){0};
}

/* What PyTorch's profiler calls the same things. They lie in steps that it marks; where there
 * are only these, there are no passes, so no steps are made of them. */
static const struct {
    const char *start;
    enum event_id as;
} profilers[] = {
    {"enumerate(DataLoader)#", EV_DATA},
    {"Optimizer.step#", EV_OPTIMIZER},
    {"Optimizer.zero_grad#", EV_ZERO_GRAD},
};

static struct point_name meaning_of(const char *name)
{
    const enum event_id id = event_find(name);
    if (id != EV_N)
        return (struct point_name){id, step_part_of(id)};
    for (size_t i = 0; i < COUNT_OF(profilers); i++)
        if (text_starts(name, profilers[i].start))
            return (struct point_name){EV_N, step_part_of(profilers[i].as)};
    return (struct point_name){EV_N, NO_PART};
}

struct point_name names_seen_find(struct names_seen *s, const char *name)
{
    const size_t at = ((uintptr_t)name >> 3 ^ (uintptr_t)name >> 11) % COUNT_OF(s->v);
    if (s->v[at].name != name) {
        s->v[at].name = name;
        s->v[at].means = meaning_of(name);
    }
    return s->v[at].means;
}

/* Whether steps are made of events of this kind and name. */
static bool point_matters(const struct event *e, enum event_id id, uint8_t part)
{
    if (e->kind == EVENT_SPAN)
        return part != NO_PART || id == EV_LOADER_START || id == EV_DETAIL;
    if (e->kind == EVENT_COUNT)
        return id == EV_BATCH_SIZE || id == EV_SYNC_SHORT || id == EV_DEVICE;
    return e->kind == EVENT_MARK && (id == EV_LOADER_START || id == EV_STEP_VOID);
}

bool point_is_phase(uint8_t what)
{
    switch (what) {
    case EV_DATA:
    case EV_FORWARD:
    case EV_FORWARD_EVAL:
    case EV_BACKWARD:
    case EV_OPTIMIZER:
    case EV_GRAPH:
        return true;
    default:
        return false;
    }
}

bool point_is_mark(uint8_t what)
{
    return point_is_phase(what) || what == POINT_STEP;
}

static bool steps_points_in_order(const struct point *a, const struct point *b)
{
    return a->at != b->at ? a->at < b->at : a->end >= b->end;
}

void points_push(struct points *p, const struct point *x)
{
    VEC_ROOM(p->v, p->cap, p->n + 1);
    if (p->n == 0 || !steps_points_in_order(&p->v[p->n - 1], x))
        sorted_runs_add(&p->runs, p->n);
    p->v[p->n++] = *x;
    p->marked += point_is_mark(x->what);
}

void points_add(struct points *p, const struct event *e, struct point_name name)
{
    struct point x = {.at = e->at.ns, .value = e->value, .part = NO_PART};
    if (e->kind == EVENT_STEP) {
        x.what = POINT_STEP;
    } else {
        if (!point_matters(e, name.id, name.part))
            return;
        x.what = (uint8_t)(name.id == EV_N ? POINT_PART : name.id);
        x.part = name.part;
    }
    if (e->kind == EVENT_SPAN || e->kind == EVENT_STEP)
        x.open = e->end != END_KNOWN;
    else
        x.part = NO_PART;
    x.end = x.at + MAX_OF(e->dur_ns, 0);
    x.mode = (uint8_t)(e->mode < MODE_N ? e->mode : MODE_TRAIN);
    points_push(p, &x);
}

static bool may_precede(const void *a, const void *b)
{
    return steps_points_in_order(a, b);
}

void points_sort(struct points *p)
{
    sorted_runs_merge(&p->runs, p->v, p->n, sizeof *p->v, may_precede);
}

void points_free(struct points *p)
{
    free(p->v);
    sorted_runs_free(&p->runs);
    *p = (struct points){0};
}
