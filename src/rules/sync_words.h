/* SPDX-License-Identifier: Apache-2.0 */
/* sync_words.h - the findings of SyncBound name the places in the code that wait for the GPU. */
#ifndef RULES_SYNC_WORDS_H
#define RULES_SYNC_WORDS_H

#include "rules/correlate.h"

/* Adds the places to the messages and numbers of the rule's findings. Nothing is read when there
 * are none. Texts live in the arena. */
MUST_CHECK int sync_name_places(const struct correlate_ask *ask, struct verdict *v, struct arena *a,
                                struct err *e);

#endif
