/* SPDX-License-Identifier: Apache-2.0 */
/* event_flow.h - the events of a track in order of their begin, the longer one first, a piece at a
 * time. For the files of query/ alone.
 *
 * Only blocks that overlap in time are held decoded at once, in memory that is used again, so that
 * a long track costs no more than a short one. event_flow_open, then for each track
 * event_flow_track and event_flow_next until it gives none; event_flow_close, at any time. */
#ifndef QUERY_EVENT_FLOW_H
#define QUERY_EVENT_FLOW_H

#include "query/event_blocks.h"

struct flow_window {
    wall_ns from, to; /* 0: open */
};

/* A moment at the very end of the window is behind it, one at its begin is in it. */
static inline bool flow_window_overlaps(const struct flow_window *w, int64_t begin, int64_t end)
{
    return (!w->to.ns || begin < w->to.ns) &&
           (!w->from.ns || end > w->from.ns || begin >= w->from.ns);
}

/* Whether a block of the track, by its place in it, has anything to do with the window. */
bool flow_window_meets(const struct flow_window *w, const struct event_track *t, uint32_t i);

struct event_flow;

struct event_flow *event_flow_open(const struct event_want *want);
/* These tracks will be read, in this order, each whole and to its end: as event_blocks_ahead. */
void event_flow_ahead(struct event_flow *f, const struct event_track *const *tracks, size_t n);
void event_flow_close(struct event_flow *f); /* NULL is fine */
/* What overlaps the window. Texts live in `texts`. */
void event_flow_track(struct event_flow *f, const struct event_track *t,
                      const struct flow_window *w, struct arena *texts);
/* How many there are in *out, which are gone with the next call; 0: that was all. Blocks that are
 * damaged are left out; run_losses counts them. */
size_t event_flow_next(struct event_flow *f, const struct run_event **out);

/* Rows of a block, for who looks at few columns of many events. */
struct flow_rows {
    const struct event_columns *columns;
    uint32_t from, to;
    const struct store *store;
    bool steady; /* all are `ahead` of their own clock by the wall clock */
    uint64_t ahead;
};

static inline int64_t flow_row_wall(const struct flow_rows *r, uint32_t row)
{
    const mono_ns at = {r->columns->v[COLUMN_AT][row]};
    return r->steady ? (int64_t)((uint64_t)at.ns + r->ahead) : event_wall(r->store, at).ns;
}

/* In place of event_flow_next: the same in the same order as rows, some of which may end before the
 * window begins. They are gone with the next call; false: that was all. */
bool event_flow_rows(struct event_flow *f, struct flow_rows *out);

/* A flow of what comes always (event_want.h), in memory that the run keeps for the next time unless
 * it is much. */
struct event_flow *event_flow_borrow(struct run *r);
void event_flow_give_back(struct run *r, struct event_flow *f);
size_t event_flow_memory(const struct event_flow *f); /* bytes that are kept; NULL: 0 */

#endif
