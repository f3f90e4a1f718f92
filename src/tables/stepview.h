/* SPDX-License-Identifier: Apache-2.0 */
/* stepview.h - what all who show a run say about its steps, said once. */
#ifndef TABLES_STEPVIEW_H
#define TABLES_STEPVIEW_H

#include "query/steps.h"
#include "tables/runview.h"

const char *mode_name(enum event_mode m); /* "train", "eval", "predict" */

/* Why there are no steps, as half a sentence: never NULL. */
MUST_CHECK int steps_why_none(struct run *r, const struct loss_list *lost, struct arena *a,
                              const char **why, struct err *e);
/* That there are none, why, and what to do about it, as sentences. */
const char *steps_none_text(const struct run_info *info, const char *why, struct arena *a);
/* The same in a few words, for the message that no rules ran. */
const char *steps_none_words(const struct run_info *info);

#endif
