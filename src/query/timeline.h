/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.h - what ran when, in lanes: phases of the job, steps, hook events, operators, GPU
 * streams of all ranks; as much as a screen can show.
 *
 * Nested spans get rows by their depth. What is narrower than a pixel is drawn as one with its
 * neighbours of the same name in the same row; where there is no room for so many slices, and among
 * operators and kernels, with those of other names too, under the name of the longest.
 *
 * The work is bounded. With an overview of the run, made once, slices of it are used wherever they
 * are fine enough, and where a track has more events in the window than the budget allows; without
 * one each block that the track is stored in becomes one slice; zooming in shows more. */
#ifndef QUERY_TIMELINE_H
#define QUERY_TIMELINE_H

#include "query/stepmarks.h"

enum timeline_kind { LANE_PHASES, LANE_STEPS, LANE_EVENTS, LANE_OPERATORS, LANE_GPU, LANE_KINDS };

extern const char *const timeline_kind_names[LANE_KINDS]; /* "phases", "steps", ... */

struct timeline_overview;

struct timeline_ask {
    wall_ns from, to;                         /* both given */
    size_t px;                                /* pixels that the window is drawn on */
    const char *node;                         /* NULL: all */
    int64_t rank;                             /* -1: all */
    bool detail;                              /* operators and GPU streams too */
    size_t limit;                             /* slices */
    uint64_t budget;                          /* events to decode */
    uint64_t least;                           /* tracks with fewer events in total are left out */
    const struct timeline_overview *overview; /* of the same run; NULL: none */
    const struct run_phases *phases;          /* NULL: none */
    const struct rank_marks *ranks;           /* whose steps are shown */
    size_t n_ranks;
};

enum { NO_TRACK = UINT32_MAX };

struct timeline_lane {
    enum timeline_kind kind;
    uint32_t track;     /* run_track.index; NO_TRACK: not of one */
    const char *node;   /* NULL: of the whole job */
    int64_t rank;       /* -1: not known */
    uint32_t pid;       /* 0: none */
    const char *thread; /* NULL: none */
    const char *title;
    size_t depth; /* rows needed; 0: nothing in the window */
};

struct timeline_slice {
    uint32_t lane, row;
    int64_t start, dur_ns; /* wall; may reach out of the window. Of several: their sum */
    uint32_t name, merged; /* merged: how many were drawn as one; 0: it is one */
    enum event_category category;
};

struct timeline {
    struct timeline_lane *lanes;
    size_t n_lanes;
    struct timeline_slice *slices; /* lane by lane, in each by start */
    size_t n_slices;
    const char **names;
    size_t n_names;
    bool cut; /* there were more slices than the limit, or more events than the budget */
};

/* A timeline_slice of a lane that is known; there are many. */
struct overview_slice {
    int64_t start, dur_ns;
    uint32_t merged;
    uint32_t name : 20, row : 6, category : 6;
};

/* Where the slices of a track begin; they end with those of the next lane. */
struct overview_lane {
    uint32_t track;
    size_t first;
};

/* The hook events of a whole run. */
struct overview_level {
    struct overview_lane *lanes; /* and one more; none for a track with too few events */
    size_t n_lanes;
    struct overview_slice *slices; /* lane by lane, in each by start */
    size_t n_slices;
    const char **names;
    int64_t pixel_ns;
    int64_t *ends; /* the last one of some slices in a row each */
};

enum { OVERVIEW_LEVELS = 4 };

struct timeline_overview {
    struct overview_level levels[OVERVIEW_LEVELS]; /* from the finest on */
    size_t n_levels;
    size_t n_slices; /* of all levels */
    wall_ns to;      /* what is later came since */
};

MUST_CHECK int timeline_read(struct run *r, const struct timeline_ask *ask, struct arena *a,
                             struct timeline *out, struct err *e);
/* Of tracks that have at least so many events: as fine as there is room for. Reads all of them,
 * some at a time. */
MUST_CHECK int timeline_overview_read(struct run *r, uint64_t least, struct arena *a,
                                      struct timeline_overview *out, struct err *e);

#endif
