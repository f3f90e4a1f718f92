/* SPDX-License-Identifier: Apache-2.0 */
/* row_table.h - one table per kind of row: the names, types and descriptions of its fields, and a
 * function that gets their values. JSON, CSV, JSON lines, the OpenAPI description and the types of
 * the dashboard come from it, so a new field is one line.
 *
 * A table is written in a file *_rows.def and expanded by row_expand.h:
 *
 *   ROW(id, C type, help)                      `x` below points to a value of the C type, `a` is an
 *                                              arena for texts that are made
 *   FIELD(name, type, value, help)
 *   OBJECT(name, id, pointer, help)            another row, inside
 *   OBJECT_OR_NULL(name, id, pointer, help)
 *   LIST(name, id, pointer, n, help)           an array of rows
 *   LIST_OF(name, id, cell, help)              the same, of a list that a function made
 *   ARRAY(name, type, cell, help)              an array of values: row_ints and its family
 *   MAP(name, type, unit, n, at, help)         an object whose keys are data; `at` returns key and
 *                                              value i of `x`. With a unit the keys are always the
 *                                              same, and CSV has a column KEY_UNIT for each
 *   MAP_OR_NULL(name, type, when, n, at, help) null unless the condition holds; no columns
 *   WHEN(condition, one of these)              the key is there only when the condition holds
 *   EMBED(id, pointer)                         the fields of another row, between these
 *   KEY(name, type, help)                      a value of an object that is only described here;
 *                                              other code writes it
 *   ROW_END(id)
 *
 * Types: int, ns (a time, since the epoch), number, text, bool, word(T) (a text; T is the type that
 * the dashboard gives it), any (number or text), object (its keys are not described); int_or_null
 * and so on when the value may be null. web/rows.mjs reads these files without a compiler and
 * relies on this form. Keys may be added, never renamed or removed. */
#ifndef BASE_ROW_TABLE_H
#define BASE_ROW_TABLE_H

#include "base/arena.h"
#include "base/json_write.h"

enum row_kind {
    ROW_ABSENT, /* no key at all */
    ROW_NULL,
    ROW_INT,
    ROW_NUMBER,
    ROW_TEXT,
    ROW_BOOL,
    ROW_OBJECT,
    ROW_LIST,
    ROW_MAP,
};

struct row_cell;
/* Element i of a list or map of `x`. A map sets the key; its keys alone are requested with x NULL,
 * and it sets NULL past the last one. ROW_ABSENT leaves the element out. */
typedef struct row_cell row_at(const void *x, size_t i, const char **key);

struct row_cell {
    enum row_kind kind;
    union {
        int64_t i;
        double d;
        const char *s;
        const void *p; /* object, list, map */
    };
    size_t n;   /* list, map */
    row_at *at; /* NULL: a list of rows, one after the other */
};

enum row_shape { SHAPE_VALUE, SHAPE_OBJECT, SHAPE_LIST, SHAPE_ARRAY, SHAPE_MAP, SHAPE_EMBED };

struct row_field {
    const char *name, *type, *help;
    const struct row_table *of; /* objects, lists and what is embedded */
    const char *unit;           /* of a map */
    row_at *at;                 /* of a map */
    enum row_shape shape;
    bool null;
};

enum { ROW_FIELDS_MOST = 48 };

struct row_table {
    const char *name, *help;
    const struct row_field *fields;
    const bool *optional; /* by field: the key may be absent */
    size_t n;
    size_t size; /* bytes of the C type */
    void (*cells)(const void *x, struct row_cell *out, struct arena *a);
};

/* ---- writing ---- */

/* One object. `a` may be NULL where no text is made. */
void row_json(struct jw *j, const char *key, const struct row_table *t, const void *x,
              struct arena *a);
/* The fields alone, into an object that the caller opened. */
void row_fields_json(struct jw *j, const struct row_table *t, const void *x, struct arena *a);
/* One array of n rows, one after the other in memory. */
void rows_json(struct jw *j, const char *key, const struct row_table *t, const void *rows, size_t n,
               struct arena *a);

/* The columns of a table for CSV and JSON lines: its values and maps, without what is nested. */
struct row_table_column {
    const char *name;
    size_t field;
    size_t key; /* of a map */
};

enum { ROW_COLUMNS_MOST = 64 };

struct row_columns {
    const struct row_table *table;
    struct row_table_column v[ROW_COLUMNS_MOST];
    size_t n;
};

/* `first`: names of the columns that come first, "node,rank,..."; "old=name" is column `name` under
 * an old name, which stays; "-name" leaves it out. Columns that are not in it follow. Names live
 * in the arena. */
void row_columns_of(struct row_columns *out, const struct row_table *t, const char *first,
                    struct arena *a);
/* The values of the columns, into out[c->n]. */
void row_column_cells(const struct row_columns *c, const void *x, struct row_cell *out,
                      struct arena *a);
void row_csv_head(const struct row_columns *c, struct buf *out);
/* Empty: null. bool is 0 and 1. */
void row_csv(const struct row_columns *c, const void *x, struct buf *out, struct arena *a);
/* {"type":"step",...}: nulls are left out; bool is 0 and 1, as in CSV. */
void row_line(const struct row_columns *c, const char *type, const void *x, struct buf *out,
              struct arena *a);

/* A field of CSV, quoted where RFC 4180 requires it. */
void csv_put(struct buf *out, const char *text);

/* ---- values ---- */

static inline struct row_cell row_absent(void)
{
    return (struct row_cell){.kind = ROW_ABSENT};
}

static inline struct row_cell row_int(int64_t v)
{
    return (struct row_cell){.kind = ROW_INT, .i = v};
}

/* Negative: not known. */
static inline struct row_cell row_int_or_null(int64_t v)
{
    return (struct row_cell){.kind = v < 0 ? ROW_NULL : ROW_INT, .i = v};
}

/* Not finite: not known. */
struct row_cell row_number(double v);

/* NULL: not known. */
static inline struct row_cell row_text(const char *s)
{
    return (struct row_cell){.kind = s ? ROW_TEXT : ROW_NULL, .s = s};
}

/* Text that is empty is not known. */
static inline const char *known_text(const char *s)
{
    return s && *s ? s : NULL;
}

static inline struct row_cell row_bool(bool v)
{
    return (struct row_cell){.kind = ROW_BOOL, .i = v};
}

static inline struct row_cell row_object(const void *p)
{
    return (struct row_cell){.kind = p ? ROW_OBJECT : ROW_NULL, .p = p};
}

static inline struct row_cell row_list(const void *x, size_t n, row_at *at)
{
    return (struct row_cell){.kind = ROW_LIST, .p = x, .n = n, .at = at};
}

static inline struct row_cell row_map(const void *x, size_t n, row_at *at)
{
    return (struct row_cell){.kind = ROW_MAP, .p = x, .n = n, .at = at};
}

struct row_cell row_ints(const int64_t *v, size_t n);
struct row_cell row_numbers(const double *v, size_t n);
struct row_cell row_texts(const char *const *v, size_t n);

#endif
