/* SPDX-License-Identifier: Apache-2.0 */
/* stepview.h - what all who show a run say about its steps, said once. */
#ifndef VIEW_STEPVIEW_H
#define VIEW_STEPVIEW_H

#include "query/steps.h"
#include "view/runview.h"

const char *mode_name(enum event_mode m); /* "train", "eval", "predict" */

/* Why there are no steps, as half a sentence: never NULL. */
MUST_CHECK int steps_why_none(struct run *r, const struct loss_list *lost, struct arena *a,
                              const char **why, struct err *e);
/* What to do about it, as a sentence. */
extern const char steps_advice[];

#endif
