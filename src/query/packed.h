/* SPDX-License-Identifier: Apache-2.0 */
/* packed.h - a table of integers in little memory, for callers that have many rows and read them
 * again in order. Rows are in parts of PACKED_ROWS; a column of a part has as many bytes a row as
 * the difference of its largest and smallest number needs. */
#ifndef QUERY_PACKED_H
#define QUERY_PACKED_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

enum { PACKED_ROWS = 256, PACKED_COLUMNS_MOST = 20 };

/* A part as it goes in and comes out. */
struct packed_cells {
    int64_t v[PACKED_COLUMNS_MOST][PACKED_ROWS];
};

struct packed_column {
    int64_t base;
    uint16_t at;   /* where it begins in the bytes of the part */
    uint8_t width; /* bytes a row; 0: all are `base` */
};

struct packed_part {
    uint8_t *bytes;
    struct packed_column *columns;
};

struct packed {
    size_t columns, n; /* rows */
    struct packed_part *parts;
};

/* Room for n rows, in the arena. */
void packed_open(struct packed *k, size_t columns, size_t n, struct arena *a);
/* Sets rows i..i + PACKED_ROWS, or to the end; i is a multiple of PACKED_ROWS. */
void packed_put(struct packed *k, size_t i, const struct packed_cells *cells, struct arena *a);
/* The same rows back; returns how many. */
size_t packed_get(const struct packed *k, size_t i, struct packed_cells *out);
int64_t packed_cell(const struct packed *k, size_t column, size_t i);

#endif
