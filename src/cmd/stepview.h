/* SPDX-License-Identifier: Apache-2.0 */
/* stepview.h - what several commands say about steps, said once. */
#ifndef CMD_STEPVIEW_H
#define CMD_STEPVIEW_H

#include "cmd/runview.h"
#include "query/steps.h"

const char *mode_name(enum event_mode m); /* "train", "eval", "predict" */

/* Why there are no steps, as half a sentence: never NULL. */
MUST_CHECK int steps_why_none(struct run *r, const struct loss_list *lost, struct arena *a,
                              const char **why, struct err *e);
/* What to do about it, as a sentence. */
extern const char steps_advice[];

#endif
