/* SPDX-License-Identifier: Apache-2.0 */
/* output.h - how results reach stdout, and the rows that only a command prints (cmd_rows.def). */
#ifndef CMD_OUTPUT_H
#define CMD_OUTPUT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"
#include "base/row_table.h"
#include "base/table.h"
#include "rules/rule.h"
#include "run/run_info.h"

/* Writes the buffer to stdout and empties it. */
void output_buf(struct buf *b);
/* n rows as a JSON array. */
void output_json(const struct row_table *t, const void *rows, size_t n);
/* n rows as CSV, with a line of names; `first` as in row_columns_of. */
void output_csv(const struct row_table *t, const char *first, const void *rows, size_t n,
                struct arena *a);
/* A cell with a number for people, as human_value writes it. */
void cell_value(struct table *t, double v, const char *unit);

/* ---- rows ---- */

/* A run of `ls`. One that cannot be read is listed too, with the reason. */
struct run_line {
    struct run_info info;
    const char *folder; /* its name: names of runs repeat, folders do not */
    const char *broken; /* NULL: it is readable */
};

struct finding_line {
    const struct verdict *v;
    const struct finding *f; /* NULL: the rule has none */
};

/* RunLine: struct run_line; FindingLine: struct finding_line; EventSum: struct event_sum;
 * KnownMetric: struct metric. */
extern const struct row_table row_RunLine, row_FindingLine, row_EventSum, row_KnownMetric;

/* By enum metric_per and enum metric_kind. */
extern const char *const metric_per_names[];
extern const char *const metric_kind_names[];

#endif
