/* SPDX-License-Identifier: Apache-2.0 */
/* frontier.h - which rank slows the others down, and in which part of the step.
 *
 * Ranks that train together wait for each other, in backward (DDP) or in collectives that the
 * program calls after it. What a rank does from one such wait to the next is its own: optimizer and
 * what follows a step, then data, copies and forward of the next one, and backward where the waits
 * are in collectives. The rank whose own time is longest arrives last, and waits least itself. Only
 * durations are compared, each by its own clock.
 *
 * Which of the two it is need not be known: where backward contains the wait, all ranks arrive at
 * a later collective together, and no rank is late by that reckoning.
 *
 *     frontier_see for each step of a rank; frontier_of over all ranks; the caller
 *     frees `v`.
 *
 * Of long runs every 2nd, 4th, ... step is stored, by its number, so ranks store the same ones. */
#ifndef QUERY_FRONTIER_H
#define QUERY_FRONTIER_H

#include "query/steps.h"

enum { FRONTIER_STEPS = 512, FRONTIER_STAGES = STEP_PARTS_MOST + 1 };

struct frontier_step {
    int64_t number;
    uint32_t part_us[FRONTIER_STAGES]; /* by part of a step, then what is between steps */
};

/* Of one rank. Zeroed: none yet. */
struct frontier_rank {
    struct frontier_step *v; /* in order of number */
    uint32_t n, cap;
    int64_t stride;                    /* 0: 1 */
    uint32_t optimizer_us, between_us; /* of the step before, whose number is `last` */
    int64_t last;
};

enum frontier_trust {
    FRONTIER_NONE,      /* no rank slows the others down */
    FRONTIER_AMBIGUOUS, /* one may, but another rank or part is as likely */
    FRONTIER_SURE,
};

struct frontier {
    size_t steps;       /* that all ranks have */
    double iteration_s; /* of the group: the longest own time and the work that is common */
    enum frontier_trust trust;
    size_t rank;     /* index of the rank */
    size_t stage;    /* part of a step; step_parts(): between steps */
    bool in_comm;    /* the others wait in collectives, and not in backward */
    double excess_s; /* own time above that of the next rank: what it costs, mean per step */
    double stage_s, usual_s; /* of that part: the rank's, the median of the others; per step */
    double waited_s;         /* by the median of the others for it, per step */
    double led;              /* share of the steps that it led with this part */
};

/* Steady train steps count; in order. */
void frontier_see(struct frontier_rank *r, const struct step *v, size_t n);
/* False: there are fewer than 2 ranks, or than 20 steps that all of them have. */
bool frontier_of(const struct frontier_rank *const *ranks, size_t n, struct arena *a,
                 struct frontier *out);
/* "data", "between steps" */
const char *frontier_stage_name(size_t stage);

#endif
