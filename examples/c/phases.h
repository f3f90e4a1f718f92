/* SPDX-License-Identifier: Apache-2.0 */
/* phases.h - where the time of the training loop goes. Every step and every phase of the loop
 * begins and ends through these functions and nowhere else, so this is also the one place that
 * tells Footplate about them. Phases do not nest; only the training thread calls this. */
#ifndef PHASES_H
#define PHASES_H

#include <footplate/emit.h>
#include <stdint.h>

enum phase {
    PHASE_DATA_WAIT,
    PHASE_FORWARD,
    PHASE_BACKWARD,
    PHASE_OPTIMIZER,
    PHASE_EVAL,
    PHASE_CHECKPOINT,
    PHASES,
};

struct phases {
    double spent_s[PHASES]; /* finished phases so far */
    double start_s;         /* of the run, on the monotonic clock */
    double begin_s;         /* of the phase that is open now */
    enum phase open;        /* PHASES when none is */
    fp_name names[PHASES];  /* of the spans, made once */
    uint64_t steps, evals;  /* begun; finished */
};

double phases_clock_s(void);
const char *phases_name(enum phase p);

void phases_start(struct phases *p);
void phases_step_begin(struct phases *p);
void phases_step_end(struct phases *p);
void phases_begin(struct phases *p, enum phase which);
void phases_end(struct phases *p, enum phase which);

#endif
