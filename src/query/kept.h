/* SPDX-License-Identifier: Apache-2.0 */
/* kept.h - a table of whole numbers in little memory, for who must hold many rows and reads them
 * again in order. Rows stand in pieces; a column of a piece takes as many bytes a row as its
 * numbers are apart. */
#ifndef QUERY_KEPT_H
#define QUERY_KEPT_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

enum { KEPT_ROWS = 256, KEPT_COLUMNS_MOST = 20 };

/* A piece as it goes in and comes out. */
struct kept_cells {
    int64_t v[KEPT_COLUMNS_MOST][KEPT_ROWS];
};

struct kept_column {
    int64_t base;
    uint16_t at;   /* where it begins in the bytes of the piece */
    uint8_t width; /* bytes a row; 0: all are `base` */
};

struct kept_piece {
    uint8_t *bytes;
    struct kept_column *columns;
};

struct kept {
    size_t columns, n; /* rows */
    struct kept_piece *pieces;
};

/* Room for n rows, in the arena. */
void kept_open(struct kept *k, size_t columns, size_t n, struct arena *a);
/* Sets rows i..i + KEPT_ROWS, or to the end; i is a multiple of KEPT_ROWS. */
void kept_put(struct kept *k, size_t i, const struct kept_cells *cells, struct arena *a);
/* The same rows back; returns how many. */
size_t kept_get(const struct kept *k, size_t i, struct kept_cells *out);
int64_t kept_cell(const struct kept *k, size_t column, size_t i);

#endif
