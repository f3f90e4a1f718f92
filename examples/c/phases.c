/* SPDX-License-Identifier: Apache-2.0 */
/* phases.c - adds up the time of each phase, and says to Footplate when it begins and ends. Without
 * a recorder those calls do nothing. */
#include "phases.h"

#include <assert.h>
#include <time.h>

static const char *const names[PHASES] = {
    [PHASE_DATA_WAIT] = "data wait", [PHASE_FORWARD] = "forward", [PHASE_BACKWARD] = "backward",
    [PHASE_OPTIMIZER] = "optimizer", [PHASE_EVAL] = "eval",       [PHASE_CHECKPOINT] = "checkpoint",
};

/* What Footplate knows them by. */
static const char *const emitted[PHASES] = {
    [PHASE_DATA_WAIT] = "data",    [PHASE_FORWARD] = "forward",
    [PHASE_BACKWARD] = "backward", [PHASE_OPTIMIZER] = "optimizer",
    [PHASE_EVAL] = "forward.eval", [PHASE_CHECKPOINT] = "checkpoint",
};

double phases_clock_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

const char *phases_name(enum phase p)
{
    assert(p < PHASES);
    return names[p];
}

void phases_start(struct phases *p)
{
    *p = (struct phases){.start_s = phases_clock_s(), .open = PHASES};
    for (enum phase i = 0; i < PHASES; i++)
        p->names[i] = fp_intern(emitted[i]);
}

void phases_step_begin(struct phases *p)
{
    assert(p->open == PHASES);
    fp_step_begin(p->steps, FP_TRAIN);
    p->steps++;
}

void phases_step_end(struct phases *p)
{
    assert(p->open == PHASES);
    fp_step_end(p->steps - 1, FP_TRAIN);
}

void phases_begin(struct phases *p, enum phase which)
{
    assert(p->open == PHASES);
    p->open = which;
    if (which == PHASE_EVAL)
        fp_step_begin(p->evals, FP_EVAL);
    fp_span_begin(p->names[which]);
    p->begin_s = phases_clock_s();
}

void phases_end(struct phases *p, enum phase which)
{
    assert(p->open == which);
    p->spent_s[which] += phases_clock_s() - p->begin_s;
    fp_span_end(p->names[which]);
    if (which == PHASE_EVAL)
        fp_step_end(p->evals++, FP_EVAL);
    p->open = PHASES;
}
