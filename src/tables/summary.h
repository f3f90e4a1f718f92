/* SPDX-License-Identifier: Apache-2.0 */
/* summary.h - the answer about a run in at most SUMMARY_LINES lines of plain text: the worst
 * finding, why and what to do, what an iteration is spent on, throughput and use. `footplate run`
 * ends with it and `footplate show` begins with it. */
#ifndef TABLES_SUMMARY_H
#define TABLES_SUMMARY_H

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

#endif
