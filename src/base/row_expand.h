/* SPDX-License-Identifier: Apache-2.0 */
/* row_expand.h - makes the tables of a file *_rows.def; see row_table.h. Include it after
 * `#define ROWS_FILE "tables/step_rows.def"`, below the functions that the file uses. It has no
 * guard, so that a source file may include it for several .def files. */
#include "base/mem.h"
#include "base/row_table.h"

/* The constructor of each type. */
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
#define ROW_CELL_any             /* a row_cell already */

/* Each line as ROW_ITEM(cell, initialisers of its row_field). */
#define FIELD(key, type_, value, text)                                                             \
    ROW_ITEM(ROW_CELL_##type_(value), .name = #key, .type = #type_, .help = text)
#define KEY(key, type_, text) ROW_ITEM(row_absent(), .name = #key, .type = #type_, .help = text)
#define OBJECT(key, id, pointer, text)                                                             \
    ROW_ITEM(row_object(pointer), .name = #key, .type = #id, .help = text, .shape = SHAPE_OBJECT,  \
             .of = &row_##id)
#define OBJECT_OR_NULL(key, id, pointer, text)                                                     \
    ROW_ITEM(row_object(pointer), .name = #key, .type = #id, .help = text, .shape = SHAPE_OBJECT,  \
             .of = &row_##id, .null = true)
#define LIST(key, id, pointer, count, text)                                                        \
    ROW_ITEM(row_list(pointer, count, NULL), .name = #key, .type = #id, .help = text,              \
             .shape = SHAPE_LIST, .of = &row_##id)
#define LIST_OF(key, id, cell, text)                                                               \
    ROW_ITEM(cell, .name = #key, .type = #id, .help = text, .shape = SHAPE_LIST, .of = &row_##id)
#define ARRAY(key, type_, cell, text)                                                              \
    ROW_ITEM(cell, .name = #key, .type = #type_, .help = text, .shape = SHAPE_ARRAY)
#define MAP(key, type_, unit_, count, get, text)                                                   \
    ROW_ITEM(row_map(x, count, get), .name = #key, .type = #type_, .help = text,                   \
             .shape = SHAPE_MAP, .unit = unit_, .at = get)
#define MAP_OR_NULL(key, type_, when, count, get, text)                                            \
    ROW_ITEM((when) ? row_map(x, count, get) : row_object(NULL), .name = #key, .type = #type_,     \
             .help = text, .shape = SHAPE_MAP, .unit = "", .null = true)
#define EMBED(id, pointer)                                                                         \
    ROW_ITEM(row_object(pointer), .type = #id, .shape = SHAPE_EMBED, .of = &row_##id)

/* First the functions that get the values. */
#define ROW(id, c_type, text)                                                                      \
    enum { row_##id##_size = sizeof(c_type) };                                                     \
    static const char row_##id##_help[] = text;                                                    \
    static void row_##id##_cells(const void *row, struct row_cell *v, struct arena *a)             \
    {                                                                                              \
        const c_type *x = row;                                                                     \
        (void)x, (void)a;
#define ROW_ITEM(cell, ...) *v++ = cell;
#define WHEN(condition, item)                                                                      \
    if (!(condition))                                                                              \
        *v++ = row_absent();                                                                       \
    else                                                                                           \
        item
#define ROW_END(id) }
#include ROWS_FILE
#undef ROW
#undef ROW_ITEM
#undef WHEN
#undef ROW_END

/* Then which keys may be absent. */
#define ROW(id, c_type, text) static const bool row_##id##_optional[] = {
#define ROW_ITEM(...)         false,
#define WHEN(condition, item) true,
#define ROW_END(id)                                                                                \
    }                                                                                              \
    ;
#include ROWS_FILE
#undef ROW
#undef ROW_ITEM
#undef WHEN
#undef ROW_END

/* Then the tables. */
#define ROW(id, c_type, text) static const struct row_field row_##id##_fields[] = {
#define ROW_ITEM(cell, ...)   {__VA_ARGS__},
#define WHEN(condition, item) item
#define ROW_END(id)                                                                                \
    }                                                                                              \
    ;                                                                                              \
    _Static_assert(COUNT_OF(row_##id##_fields) <= ROW_FIELDS_MOST, "fields of a row");             \
    const struct row_table row_##id = {                                                            \
        .name = #id,                                                                               \
        .help = row_##id##_help,                                                                   \
        .fields = row_##id##_fields,                                                               \
        .optional = row_##id##_optional,                                                           \
        .n = COUNT_OF(row_##id##_fields),                                                          \
        .size = row_##id##_size,                                                                   \
        .cells = row_##id##_cells,                                                                 \
    };
#include ROWS_FILE
#undef ROW
#undef ROW_ITEM
#undef WHEN
#undef ROW_END
#undef ROWS_FILE
