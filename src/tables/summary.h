/* SPDX-License-Identifier: Apache-2.0 */
/* summary.h - the answer about a run in at most SUMMARY_LINES lines of plain text: the worst
 * finding, why and what to do, what an iteration is spent on, throughput and use. `footplate run`
 * ends with it and `footplate show` begins with it. */
#ifndef TABLES_SUMMARY_H
#define TABLES_SUMMARY_H

#include "base/arena.h"
#include "query/run.h"
#include "rules/engine.h"
#include "rules/feed_run.h"
#include "rules/verdict_json.h"
#include "tables/show.h"

enum { SUMMARY_LINES = 15 };

struct summary_ask {
    const struct show *show;
    const struct checked *checked;
    const struct hosted *own; /* verdicts of the user's rules */
    size_t n_own;
    const char *more; /* where the rest is; NULL: no such line */
};

/* The first line is a sentence, the others are indented. The texts live in the arena of `show`. */
size_t summary_lines(const struct summary_ask *ask, const char *out[SUMMARY_LINES]);

/* ---- verdicts in words ---- */

/* The words for verdicts and findings, wherever they are shown. */

/* "warning, 12.4 s lost (estimate), 3.1 % of the training loop, at a cost of 1.20" */
const char *verdict_size_words(const struct verdict *v, bool has_steps, struct arena *a);

/* "No issues found"; of a job that did not end well "No performance issues found in the recorded
 * part". */
const char *verdict_none_words(const struct run_info *info);
/* How the job ended, in a sentence: as FailedEarly has it where that is an issue. NULL: it ended
 * well, or has not ended. */
const char *verdicts_ending(const struct run_info *info, const struct verdicts *v, struct arena *a);

/* "from 12.0 s to 5 min 00 s after the start; 3 times, 40.1 s in total"; "" when it has no
 * time. */
const char *finding_when_words(const struct finding *f, wall_ns job_start, struct arena *a);
/* "12.4 s (estimate), 24.8 s of GPU time"; "" when it is not known. */
const char *finding_lost_words(const struct finding *f, struct arena *a);
/* "by I/O bottleneck, Data loading"; "" when nothing explains it. */
const char *finding_explained_words(const struct finding *f, struct arena *a);
/* "rank 0: train 98 %, data 61 %": of the first rank; "" when no events were recorded. Names
 * are as the program gave them. */
const char *finding_shares_words(const struct finding *f, struct arena *a);
/* What to do: the advice of the finding, otherwise that of its rule. */
const char *finding_advice(const struct verdict *v, const struct finding *f);
/* Those that cost most first; equal ones stay in their order. `out` has room for all of v's. */
void findings_costliest_first(const struct verdict *v, const struct finding **out);

#endif
