/* SPDX-License-Identifier: Apache-2.0 */
/* timeline_events.c - the lane of a track that is drawn from its events. */
#include <stdlib.h>

#include "base/mem.h"
#include "query/event_flow.h"
#include "query/eventsum.h"
#include "query/timeline_internal.h"

/* The first ones of a lane wait until it is known what kind of lane it is. */
enum { FIRST = 256 };

struct events {
    struct drawing *d;
    struct flow_window window;
    struct timeline_slice first[FIRST];
    size_t n, seen, operators;
    bool settled;
};

/* A trace that was imported has its operators among the other events. Operators have too many names
 * for each to wait for its own. */
static void timeline_events_settle(struct events *v)
{
    struct timeline_lane *lane = &v->d->out->lanes[v->d->out->n_lanes - 1];
    if (lane->kind == LANE_EVENTS && 2 * v->operators > v->seen)
        lane->kind = LANE_OPERATORS;
    v->d->lane_by_name = v->d->by_name && lane->kind == LANE_EVENTS;
    v->settled = true;
    for (size_t i = 0; i < v->n; i++)
        drawing_span(v->d, &v->first[i]);
}

static void hold_back(struct events *v, const struct timeline_slice *s, const struct event *e)
{
    v->operators += event_is_operator(e);
    v->first[v->n++] = *s;
    if (v->n == FIRST)
        timeline_events_settle(v);
}

/* All there is to see of the event, but its name. */
static struct event event_of(const struct event_columns *c, uint32_t row)
{
    struct event e = {.dur_ns = event_cell(c, COLUMN_DUR, row)};
    event_set_what(&e, event_columns_what(c, row));
    return e;
}

static void draw_row(struct events *v, const struct flow_rows *rows, uint32_t row)
{
    const struct event_columns *c = rows->columns;
    const int64_t start = flow_row_wall(rows, row);
    const struct event e = event_of(c, row);
    if (!flow_window_overlaps(&v->window, start, start + e.dur_ns))
        return;
    v->seen++;
    if (e.kind != EVENT_SPAN)
        return;
    struct timeline_slice s = {.start = start,
                               .dur_ns = MAX_OF(e.dur_ns, 0),
                               .name = op_names_id(&v->d->names, event_columns_name(c, row)),
                               .category = e.category};
    if (v->settled)
        drawing_span(v->d, &s);
    else
        hold_back(v, &s, &e);
}

int timeline_draw_events(struct drawing *d, struct run *r, const struct run_track *t, struct err *e)
{
    struct arena texts = {0}; /* names are found by their address, so they stay until the end */
    struct event_flow *flow = event_flow_borrow(r);
    struct events *v = xmalloc(sizeof *v);
    *v = (struct events){.d = d, .window = {d->ask->from, d->ask->to}};
    const int rc = event_flow_track(flow, r, t, &v->window, &texts, e);
    for (struct flow_rows rows; rc == 0 && event_flow_rows(flow, &rows);)
        for (uint32_t i = rows.from; i < rows.to; i++)
            draw_row(v, &rows, i);
    if (rc == 0 && !v->settled)
        timeline_events_settle(v);
    if (rc == 0)
        drawing_lane_end(d);
    event_flow_give_back(r, flow);
    free(v);
    arena_free(&texts);
    return rc;
}
