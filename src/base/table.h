/* SPDX-License-Identifier: Apache-2.0 */
/* table.h - text in columns.
 *
 * table_init, then cells from left to right, top to bottom (a full row begins the next one),
 * then table_print. Cells live in the arena. What comes from outside (names, commands) is made safe
 * for a terminal: control characters come out as '?'. */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/arena.h"

struct table_column {
    const char *title;
    bool right; /* numbers are at the right */
    bool gives; /* prose: cut when the line is too long; in HTML it takes the room that is left */
};

struct table {
    struct arena *arena;
    struct table_column *columns;
    size_t n_columns;
    const char **cells; /* NULL: the cell before it spans this one */
    size_t n_cells, cap;
};

/* The titles, from left to right: "NAME|>SIZE|~COMMAND". After '>' it is a column of numbers, after
 * '~' the one that gives. */
void table_init(struct table *t, struct arena *a, const char *columns);
void table_cell(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* One text over all columns that are left in this row; it widens none of them. */
void table_rest(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* width: of the terminal; 0: as wide as it gets. bold: the titles, where colour is allowed. */
void table_print(const struct table *t, FILE *to, size_t width, bool bold);

/* Columns that a text takes on a terminal: its code points. */
size_t text_columns(const char *s);
/* Bytes of its first `columns` code points. */
size_t text_bytes(const char *s, size_t columns);
/* A copy in which control characters are '?' and broken UTF-8 is too. */
const char *text_safe(struct arena *a, const char *s);
#endif
