/* SPDX-License-Identifier: Apache-2.0 */
/* stepview.c - see stepview.h. */
#include "tables/stepview.h"

#include <string.h>

#include "base/arena.h"
#include "record/record.h"

const char *mode_name(enum event_mode m)
{
    return event_mode_names[m];
}

static const char attached_has_none[] =
    "attach records no steps; start the job with 'footplate run' to record them";

const char *steps_none_text(const struct run_info *info, const char *why, struct arena *a)
{
    if (runview_attached(info))
        return attached_has_none;
    return arena_printf(a,
                        "no steps were detected: %s. Steps are detected automatically for PyTorch, "
                        "Keras and frameworks based on them, and XGBoost. In other programs, mark "
                        "them with footplate.step() in Python or fp_step_begin() in C "
                        "(docs/steps.md).",
                        why);
}

const char *steps_none_words(const struct run_info *info)
{
    return runview_attached(info) ? attached_has_none
                                  : "no training steps were detected. Mark them with "
                                    "footplate.step(); see docs/steps.md";
}

int steps_why_none(struct run *r, const struct loss_list *lost, struct arena *a, const char **why,
                   struct err *e)
{
    struct run_process *processes;
    size_t n;
    const int rc = events_processes(r, a, &processes, &n, e);
    if (rc)
        return rc;
    if (n == 0 && runview_attached(run_get_info(r))) {
        *why = attached_has_none;
        return 0;
    }
    *why = n ? "events were recorded, but none of them mark a step" : "no process reported events";
    for (size_t i = 0; n == 0 && i < lost->n; i++) {
        const struct loss *l = &lost->v[i].loss;
        if (l->id == LOSS_NO_HOOKS || (l->id == LOSS_HOOK && loss_is_part(l, "hooks")))
            *why = loss_why(l);
    }
    return 0;
}
