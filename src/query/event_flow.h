/* SPDX-License-Identifier: Apache-2.0 */
/* event_flow.h - the events of a run. This is the only code that walks them.
 *
 *     event_flow_open          which columns are decoded
 *     event_flow_track         which track and time; sorted by begin, the longer event first
 *       or event_flow_blocks   some blocks of a track, as they are stored
 *     event_flow_next          some events at a time, until it returns 0
 *       or event_flow_rows     the same as rows of columns, for readers of few columns
 *     event_flow_close         at any time
 *
 * Only blocks that overlap in time are decoded at once, in memory that is used again, so a long
 * track needs no more memory than a short one. Damaged blocks are left out; run_losses counts
 * them. */
#ifndef QUERY_EVENT_FLOW_H
#define QUERY_EVENT_FLOW_H

#include "query/events.h"
#include "store/event_columns.h"

struct event_track;

struct flow_window {
    wall_ns from, to; /* 0: open */
};

/* A moment at the very end of the window is after it, one at its begin is in it. */
static inline bool flow_window_overlaps(const struct flow_window *w, int64_t begin, int64_t end)
{
    return (!w->to.ns || begin < w->to.ns) &&
           (!w->from.ns || end > w->from.ns || begin >= w->from.ns);
}

struct event_flow;

struct event_flow *event_flow_open(const struct event_want *want);
void event_flow_close(struct event_flow *f); /* NULL is fine */

/* Events that overlap the window. Names and arguments are allocated in `texts`; NULL: they are
 * valid until the next call of the flow, and other texts may have their addresses later. */
MUST_CHECK int event_flow_track(struct event_flow *f, struct run *r, const struct run_track *t,
                                const struct flow_window *w, struct arena *texts, struct err *e);
/* Number of events in *out, which are valid until the next call; 0: there are no more. */
size_t event_flow_next(struct event_flow *f, const struct run_event **out);

/* Rows of a block. */
struct flow_rows {
    const struct event_columns *columns;
    uint32_t from, to;
    const struct store *store;
    bool steady; /* the wall clock is `ahead` of the clock of all rows */
    uint64_t ahead;
};

/* Wall time of a moment of the store's own clock. */
wall_ns event_wall(const struct store *s, mono_ns t);

static inline int64_t flow_row_wall(const struct flow_rows *r, uint32_t row)
{
    const mono_ns at = {r->columns->v[COLUMN_AT][row]};
    return r->steady ? (int64_t)((uint64_t)at.ns + r->ahead) : event_wall(r->store, at).ns;
}

/* In place of event_flow_next: the same events in the same order as rows, some of which may end
 * before the window begins. They are valid until the next call; false: there are no more. */
bool event_flow_rows(struct event_flow *f, struct flow_rows *out);

/* In place of event_flow_track: blocks first..first + n - 1 of the track one after the other, each
 * with all its rows as stored, for event_flow_rows alone. `wanted`, when it is not NULL, decides by
 * the names of a block whether it is decoded. */
typedef bool flow_names_fn(void *ctx, const char *const *names, size_t n);
void event_flow_blocks(struct event_flow *f, const struct event_track *t, uint32_t first,
                       uint32_t n, flow_names_fn *wanted, void *ctx);

/* A flow without optional columns, in memory that the run caches for the next caller unless it is
 * much. */
struct event_flow *event_flow_borrow(struct run *r);
void event_flow_give_back(struct run *r, struct event_flow *f);
size_t event_flow_memory(const struct event_flow *f); /* bytes that are cached; NULL: 0 */

/* All events of the track that overlap from..to (0: open), sorted as above, in the arena. */
MUST_CHECK int events_read(struct run *r, const struct run_track *t, wall_ns from, wall_ns to,
                           struct arena *a, struct run_event **out, size_t *n, struct err *e);

/* ---- blocks of a track; nothing is decoded ---- */

struct track_block {
    wall_ns first, last; /* begin of the first event, latest end of an event */
    uint32_t events;
    uint32_t place; /* in the track */
};

/* Blocks that overlap from..to (0: open), in order of their begin. */
MUST_CHECK int track_blocks(struct run *r, const struct run_track *t, wall_ns from, wall_ns to,
                            struct arena *a, struct track_block **out, size_t *n, struct err *e);
/* The names that occur in it; `*out` NULL: damaged. Texts are in the arena. */
MUST_CHECK int track_block_names(struct run *r, const struct run_track *t,
                                 const struct track_block *b, struct arena *a, const char ***out,
                                 size_t *n, struct err *e);

#endif
