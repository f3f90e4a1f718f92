/* SPDX-License-Identifier: Apache-2.0 */
/* detail.h - when operators were recorded in detail, and what that cost the program. */
#ifndef QUERY_DETAIL_H
#define QUERY_DETAIL_H

#include "query/events.h"
#include "query/steps.h"

/* ---- when ----
 *
 * A window is known from its file of operators (trace-PID-K.fp), and in newer runs also from the
 * span "detail.window" of the hooks, which includes the time that the profiler took to start and
 * stop. Steps inside a range are slower than others, and so are the first ones after it. */

struct detail_range {
    uint32_t process; /* in the list of events_processes */
    const char *node;
    uint32_t pid;
    wall_ns begin, end; /* of the window, with the profiler's start and stop where known */
    /* First begin and last end of what was recorded in it; begin.ns INT64_MAX: nothing was, or its
     * file is not there yet. */
    wall_ns first, last;
    bool operators; /* operators were recorded, not only a profile of Python functions */
};

/* Sorted by process, then by begin; those of one process do not overlap. Windows of Python profiles
 * count too. */
MUST_CHECK int detail_ranges(struct run *r, struct arena *a, struct detail_range **out, size_t *n,
                             struct err *e);

/* ---- what it cost: steps of each window beside the usual steps of the same rank ----
 *
 * Recording slows the thread that launches work, not the work on the GPU. So times of kernels in a
 * window are right, but the GPU waits more than it usually does. */

struct detail_cost {
    const char *node;
    int64_t rank;
    uint32_t pid;
    wall_ns begin, end; /* of what was recorded */
    int64_t first_step; /* of the training steps recorded; -1: none is known */
    size_t n_steps;
    double step_s;       /* mean iteration of these steps; NAN: not known */
    double usual_step_s; /* median iteration of steady steps outside of windows; NAN */
    double usual_mean_s; /* their mean: of a host that runs ahead of the device, the median is not
                            an iteration but the time to launch one; NAN */
    double stall_s;      /* what starting and stopping the profiler added; NAN */
};

/* One row for each window of training processes, in order of rank and time. */
void detail_costs_of(const struct rank_steps *ranks, size_t n_ranks,
                     const struct detail_range *ranges, size_t n_ranges, struct arena *a,
                     struct detail_cost **out, size_t *n);

#endif
