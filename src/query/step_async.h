/* SPDX-License-Identifier: Apache-2.0 */
/* step_async.h - iterations of a loop that launches work on a GPU and does not wait for it.
 *
 * Such a loop runs ahead of the GPU for a while and then waits for it: a few iterations that take
 * next to nothing stand beside one that takes as long as all of them should have. None of them says
 * how long an iteration takes; their mean does.
 *
 *     host  |s|s|s|----- long -----|s|s|s|----- long -----|
 *     GPU   |-----|-----|-----|-----|-----|-----|-----|----- */
#ifndef QUERY_STEP_ASYNC_H
#define QUERY_STEP_ASYNC_H

#include "query/steps.h"

/* Of n iterations in order of time, each as long as the group it belongs to takes on the mean. A
 * group is an iteration above the mean of all with those next to it that are below half of that
 * mean: those that follow it, and before the first such one those that precede it. All others
 * stand alone. Below 0: left out, and no group reaches across it. `out` may be `ns`. */
void iteration_groups(const int64_t *ns, size_t n, int64_t *out);

/* The same for all steps of a rank, shown in order and in pieces of any size. Zeroed: none yet. */
struct step_pace {
    int64_t *ns; /* of each step */
    unsigned char *mode;
    size_t n, cap;
};

/* Steady steps count; one whose iteration has no end counts with its duration. */
void step_pace_see(struct step_pace *p, const struct step *v, size_t n);
/* All were shown. Modes are looked at one by one. */
void step_pace_done(struct step_pace *p);
/* Sets paced_ns of the n steps from number `from` on. */
void step_pace_give(const struct step_pace *p, size_t from, struct step *v, size_t n);
void step_pace_free(struct step_pace *p);

/* All of it for steps that lie in one array. */
void steps_set_pace(struct step *v, size_t n);

#endif
