/* SPDX-License-Identifier: Apache-2.0 */
/* timeline_internal.h - what the files of timeline.h share; nobody else includes it.
 *
 * drawing_open, for each lane drawing_lane, any number of slices in order of their begin,
 * drawing_lane_end; then drawing_close, which makes the timeline whole. */
#ifndef QUERY_TIMELINE_INTERNAL_H
#define QUERY_TIMELINE_INTERNAL_H

#include "query/ops_names.h"
#include "query/timeline.h"

enum {
    LANE_ROWS_MOST = 64,
    NAMES_EACH = 8, /* that wait in a row */
};

/* The span that a row shows next, and how many it stands for. */
struct waiting {
    struct timeline_slice slice;
    int64_t end;     /* of the last that was joined */
    int64_t longest; /* of those that were joined; its name is shown */
    uint32_t n;      /* 0: none waits */
};

struct drawing {
    const struct timeline_ask *ask;
    struct arena *arena;
    struct timeline *out;
    size_t cap_lanes, cap_slices;
    struct op_names names;
    int64_t pixel_ns;
    uint64_t budget;
    bool by_name; /* there is room for it */
    /* of the lane being drawn */
    int64_t ends[LANE_ROWS_MOST];
    size_t open;
    struct waiting row[LANE_ROWS_MOST][NAMES_EACH];
    size_t first; /* slice */
    bool lane_by_name;
};

struct drawing *drawing_open(const struct timeline_ask *ask, struct arena *a, struct timeline *out);
void drawing_close(struct drawing *d);
void drawing_lane(struct drawing *d, const struct timeline_lane *lane);
void drawing_lane_end(struct drawing *d);
/* A slice of the lane that was begun last, which is written into it: its row follows from what runs
 * already and is written too, or is known. */
void drawing_span(struct drawing *d, struct timeline_slice *s);
void drawing_slice(struct drawing *d, struct timeline_slice *s);

/* Whether the track has a lane. */
bool timeline_shows(const struct timeline_ask *ask, const struct run_track *t);

/* Draws the events of a track into the lane that was begun last, and ends it. */
MUST_CHECK int timeline_draw_events(struct drawing *d, struct run *r, const struct run_track *t,
                                    struct err *e);

/* What of the overview is fine enough for these pixels, or the finest there is; NULL: the track is
 * not in it. overview_draw draws its slices into the lane that was begun last. */
const struct overview_level *overview_for(const struct timeline_overview *o, uint32_t track,
                                          int64_t pixel_ns);
void overview_draw(struct drawing *d, const struct overview_level *o, uint32_t track);

#endif
