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

#endif
