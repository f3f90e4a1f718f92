/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_rows.h - the tables of rows that only a command prints; see cmd_rows.def. */
#ifndef CMD_CMD_ROWS_H
#define CMD_CMD_ROWS_H

#include "base/row_table.h"
#include "rules/rule.h"
#include "run/run_info.h"

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
