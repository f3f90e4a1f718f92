/* SPDX-License-Identifier: Apache-2.0 */
/* row_expand.h - makes the tables of a file *_rows.def; see row_table.h. After
 * `#define ROWS_FILE "tables/step_rows.def"`, include it once, below the functions that the
 * file uses. It has no guard, because a file may have several sets of rows. */
#include "base/mem.h"
#include "base/row_table.h"

#define ROW_CELL_int             row_int
#define ROW_CELL_int_or_null     row_int_or_null
#define ROW_CELL_ns              row_int
#define ROW_CELL_ns_or_null      row_int_or_null
#define ROW_CELL_number          row_number
#define ROW_CELL_number_or_null  row_number
#define ROW_CELL_text            row_text
#define ROW_CELL_text_or_null    row_text
#define ROW_CELL_bool            row_bool
#define ROW_CELL_word(t)         row_text
#define ROW_CELL_word_or_null(t) row_text
#define ROW_CELL_any

/* First the functions that get the values. */
#define ROW(id, c_type, text)                                                                      \
    enum { row_##id##_size = sizeof(c_type) };                                                     \
    static const char row_##id##_help[] = text;                                                    \
    static void row_##id##_cells(const void *row, struct row_cell *v, struct arena *a)             \
    {                                                                                              \
        const c_type *x = row;                                                                     \
        (void)x, (void)a;
#define FIELD(key, type, value, text) *v++ = ROW_CELL_##type(value);
#define OPTIONAL(key, type, when, value, text)                                                     \
    *v++ = (when) ? ROW_CELL_##type(value) : row_absent();
#define OBJECT(key, id, pointer, text)            *v++ = row_object(pointer);
#define OBJECT_OR_NULL(key, id, pointer, text)    *v++ = row_object(pointer);
#define LIST(key, id, pointer, count, text)       *v++ = row_list(pointer, count, NULL);
#define PICK(key, id, count, get, text)           *v++ = row_list(x, count, get);
#define ARRAY(key, type, value, text)             *v++ = value;
#define MAP(key, type, measure, count, get, text) *v++ = row_map(x, count, get);
#define MAP_OR_NULL(key, type, when, count, get, text)                                             \
    *v++ = (when) ? row_map(x, count, get) : row_object(NULL);
#define EMBED(id, pointer) *v++ = row_object(pointer);
#define ROW_END(id)        }
#include ROWS_FILE
#undef ROW
#undef FIELD
#undef OPTIONAL
#undef OBJECT
#undef OBJECT_OR_NULL
#undef LIST
#undef PICK
#undef ARRAY
#undef MAP
#undef MAP_OR_NULL
#undef EMBED
#undef ROW_END

/* Then the tables. */
#define ROW(id, c_type, text)          static const struct row_field row_##id##_fields[] = {
#define FIELD(key, type_, value, text) {.name = #key, .type = #type_, .help = text},
#define OPTIONAL(key, type_, when, value, text)                                                    \
    {.name = #key, .type = #type_, .help = text, .optional = true},
#define OBJECT(key, id, pointer, text)                                                             \
    {.name = #key, .type = #id, .help = text, .shape = SHAPE_OBJECT, .of = &row_##id},
#define OBJECT_OR_NULL(key, id, pointer, text)                                                     \
    {.name = #key, .type = #id, .help = text, .shape = SHAPE_OBJECT, .of = &row_##id, .null = true},
#define LIST(key, id, pointer, count, text)                                                        \
    {.name = #key, .type = #id, .help = text, .shape = SHAPE_LIST, .of = &row_##id},
#define PICK(key, id, count, get, text) LIST(key, id, x, count, text)
#define ARRAY(key, type_, value, text)                                                             \
    {.name = #key, .type = #type_, .help = text, .shape = SHAPE_ARRAY},
#define MAP(key, type_, measure, count, get, text)                                                 \
    {.name = #key, .type = #type_, .help = text, .shape = SHAPE_MAP, .unit = measure, .at = get},
#define MAP_OR_NULL(key, type_, when, count, get, text)                                            \
    {.name = #key, .type = #type_, .help = text, .shape = SHAPE_MAP, .unit = "", .null = true},
#define EMBED(id, pointer) {.name = NULL, .type = #id, .shape = SHAPE_EMBED, .of = &row_##id},
#define ROW_END(id)                                                                                \
    }                                                                                              \
    ;                                                                                              \
    _Static_assert(COUNT_OF(row_##id##_fields) <= ROW_FIELDS_MOST, "fields of a row");             \
    const struct row_table row_##id = {                                                            \
        .name = #id,                                                                               \
        .help = row_##id##_help,                                                                   \
        .fields = row_##id##_fields,                                                               \
        .n = COUNT_OF(row_##id##_fields),                                                          \
        .size = row_##id##_size,                                                                   \
        .cells = row_##id##_cells,                                                                 \
    };
#include ROWS_FILE
#undef ROW
#undef FIELD
#undef OPTIONAL
#undef OBJECT
#undef OBJECT_OR_NULL
#undef LIST
#undef PICK
#undef ARRAY
#undef MAP
#undef MAP_OR_NULL
#undef EMBED
#undef ROW_END
#undef ROWS_FILE
