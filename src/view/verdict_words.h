/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_words.h - how verdicts are put in order and sized, wherever they are told to people. */
#ifndef VIEW_VERDICT_WORDS_H
#define VIEW_VERDICT_WORDS_H

#include "base/buf.h"
#include "rules/engine.h"

/* The severest comes first, of those what cost most; else they stay as they stand. */
void verdicts_worst_first(const struct verdict **v, size_t n);
/* "warning, 12.4 s lost, 3.1 % of the training loop, at a cost of 1.20" */
void verdict_size_words(struct buf *b, const struct verdict *v, bool has_steps);

#endif
