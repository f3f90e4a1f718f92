/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_words.h - the words for verdicts and findings, wherever they are shown. */
#ifndef TABLES_VERDICT_WORDS_H
#define TABLES_VERDICT_WORDS_H

#include "base/buf.h"
#include "query/run.h"
#include "rules/engine.h"

/* "warning, 12.4 s lost, 3.1 % of the training loop, at a cost of 1.20" */
void verdict_size_words(struct buf *b, const struct verdict *v, bool has_steps);

/* "No issues found"; of a job that did not end well "No performance issues found in the recorded
 * part". */
const char *verdict_none_words(const struct run_info *info);

/* "from 12.0 s to 5 min 00 s after the start; 3 times, 40.1 s in total"; nothing when it has no
 * time. */
void finding_when_words(struct buf *b, const struct finding *f, wall_ns job_start);
/* "12.4 s, 24.8 s of GPU time"; nothing when it is not known. */
void finding_lost_words(struct buf *b, const struct finding *f);
/* "by I/O bottleneck, Data loading"; nothing when nothing explains it. */
void finding_explained_words(struct buf *b, const struct finding *f);
/* "rank 0: train 98 %, data 61 %": of the first rank; nothing when no events were recorded. Names
 * are as the program gave them. */
void finding_shares_words(struct buf *b, const struct finding *f);
/* What to do: the advice of the finding, otherwise that of its rule. */
const char *finding_advice(const struct verdict *v, const struct finding *f);
/* Those that cost most first; equal ones keep their order. `out` has room for all of v's. */
void findings_costliest_first(const struct verdict *v, const struct finding **out);

#endif
