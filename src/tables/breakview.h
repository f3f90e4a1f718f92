/* SPDX-License-Identifier: Apache-2.0 */
/* breakview.h - what steps and devices spent their time on, as `breakdown` shows it: tables,
 * their rows as fields, one list for JSON and CSV. */
#ifndef TABLES_BREAKVIEW_H
#define TABLES_BREAKVIEW_H

#include "base/json_write.h"
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

enum field_type { F_INT, F_NUMBER, F_TEXT, F_NONE };

struct field {
    const char *name;
    enum field_type type;
    int64_t i;
    double d;
    const char *s;
};

enum { FIELDS_MOST = 24 };

struct fields {
    struct field v[FIELDS_MOST];
    size_t n;
    struct arena *arena;
};

size_t breakview_count(const struct breakdown *b, enum break_table t);
/* The fields of a row, behind those that are there. */
void breakview_fields(struct fields *f, const struct breakdown *b, enum break_table t, size_t row);
/* Only the last steps of each process, as many as make `most` together; counts the others. */
void breakview_keep_last(struct breakdown *b, size_t most);
/* One object; tables: bits. */
void breakview_json(struct jw *j, const struct breakdown *b, unsigned tables, struct arena *a);

/* "cpu", "gpu0": whose memory a curve is of. */
const char *memory_name(const struct memcurve *c, struct arena *a);
/* Share of a time; 0 of none. */
double time_share(int64_t ns, int64_t of);

#endif
