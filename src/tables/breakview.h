/* SPDX-License-Identifier: Apache-2.0 */
/* breakview.h - what steps and devices spent their time on, as `breakdown` shows it. */
#ifndef TABLES_BREAKVIEW_H
#define TABLES_BREAKVIEW_H

#include "base/row_table.h"
#include "query/breakdown.h"

enum break_table {
    BREAK_STEPS,
    BREAK_DEVICES,
    BREAK_STREAMS,
    BREAK_GROUPS,
    BREAK_MEMORY,
    BREAK_WINDOWS,
    BREAK_TABLES
};

extern const char *const break_table_names[]; /* "steps", ...; ends with NULL */

extern const struct row_table *const break_row_tables[]; /* by enum break_table */
extern const struct row_table row_Breakdown;             /* see breakdown_rows.def */

size_t breakview_count(const struct breakdown *b, enum break_table t);
/* The first of them. */
const void *breakview_rows(const struct breakdown *b, enum break_table t);
/* Only the last steps of each process, as many as make `most` together; counts the others. */
void breakview_keep_last(struct breakdown *b, size_t most);
/* One object; tables: bits. */
void breakview_json(struct jw *j, const struct breakdown *b, unsigned tables, struct arena *a);

/* "cpu", "gpu0": whose memory a curve is of. */
const char *memory_name(const struct memcurve *c, struct arena *a);
/* Share of a time; 0 of none. */
double time_share(int64_t ns, int64_t of);

#endif
