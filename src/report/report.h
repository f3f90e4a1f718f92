/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - a run and what slowed it down, as one document that people mail to each other.
 *
 * report_read gathers everything once; the functions below it only write it down, so that HTML,
 * JSON, text and Markdown have the same numbers. The caller evaluates the rules and passes
 * the verdicts. */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "base/buf.h"
#include "compare/compare.h"
#include "report/doc.h"
#include "rules/feed_run.h"
#include "rules/verdict_json.h"

struct report;

struct report_ask {
    const struct checked *checked;    /* rules_check_run or rules_check_priced over the same run */
    const struct rule_params *params; /* that they were evaluated with */
    const struct hosted *own;         /* user rules */
    size_t n_own;
    struct rank_steps *ranks; /* steps_read of the run, where they were read; NULL: read here */
    size_t n_ranks;
    struct node_events *named; /* events read with them, see show_read_named */
    size_t n_named;
    const struct right_size *right_size; /* NULL: none is proposed */
    wall_ns now;                         /* when the report is made; 0: by the clock */
};

/* Everything lives in the arena, and as long as the run and the request. */
MUST_CHECK int report_read(struct report **out, struct run *r, const struct report_ask *ask,
                           struct arena *a, struct err *e);

/* report_read in two: what needs no verdicts, which another thread may do with a separately opened
 * run while the rules are evaluated; then their verdicts, called before anything is written. */
MUST_CHECK int report_gather(struct report **out, struct run *r, const struct report_ask *ask,
                             struct arena *a, struct err *e);
void report_conclude(struct report *r, const struct report_ask *ask);

/* One file: no network, no other file, complete without a script. */
void report_html(const struct report *r, struct buf *out);
/* Every number of the page. Keys may be added, never renamed. */
void report_json(const struct report *r, struct buf *out);
extern const struct row_table row_Report;
/* For terminals and mail. */
void report_text(const struct report *r, struct buf *out);
/* For pull requests. */
void report_markdown(const struct report *r, struct buf *out);

/* report.html and report.json into the run, each replaced in one step. */
MUST_CHECK int report_write(const struct report *r, const char *run, struct err *e);

/* ---- the page of a comparison ---- */

/* A comparison as a document: a self-contained page, text, or Markdown. */

/* The first line of text and Markdown is the verdict. */
void compare_document(const struct compared *c, enum doc_kind kind, struct arena *a,
                      struct buf *out);

#endif
