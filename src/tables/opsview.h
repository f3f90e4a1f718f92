/* SPDX-License-Identifier: Apache-2.0 */
/* opsview.h - which operators and kernels the time went to, as `ops` shows them. */
#ifndef TABLES_OPSVIEW_H
#define TABLES_OPSVIEW_H

#include "base/row_table.h"
#include "query/breakdown.h"
#include "query/ops.h"

/* By their enums; both end with NULL. */
extern const char *const op_device_names[]; /* "cpu", "gpu" */
extern const char *const ops_by_names[];    /* "name", "module", "function", "group" */

struct opsview_ask {
    struct ops_ask ops;
    int64_t device; /* enum op_device; -1: both */
    size_t limit;   /* rows of each table */
};

struct opsview {
    struct op_row *v;
    size_t n;
};

extern const struct row_table row_Op, row_StackFrame; /* see op_rows.def */

MUST_CHECK int opsview_read(struct opsview *out, struct run *r, const struct opsview_ask *ask,
                            struct arena *a, struct err *e);
/* One array. */
void opsview_json(struct jw *j, const struct opsview *l);

/* Whether they are ranked together: of one device; of functions, of one phase and timer. */
bool op_same_table(const struct op_row *x, const struct op_row *y);
/* The group of a kernel or copy; NULL for others. */
const char *op_group(const struct op_row *r);
double op_mean_s(const struct op_row *r); /* of a call */

/* ---- where the time of steps went ---- */

/* What steps and devices spent their time on, as `breakdown` shows it. */

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
extern const struct row_table row_Breakdown;             /* see op_rows.def */

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
