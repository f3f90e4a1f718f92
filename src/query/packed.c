/* SPDX-License-Identifier: Apache-2.0 */
/* packed.c - see packed.h. */
#include "query/packed.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

/* A number is read and written as a whole word, whatever its width. */
enum { WORD = sizeof(uint64_t), SLACK = WORD };

static_assert(PACKED_ROWS * WORD * PACKED_COLUMNS_MOST <= UINT16_MAX, "places in a part fit");

static size_t packed_rows_of(const struct packed *k, size_t i)
{
    return MIN_OF(k->n - i, (size_t)PACKED_ROWS);
}

void packed_open(struct packed *k, size_t columns, size_t n, struct arena *a)
{
    assert(columns <= PACKED_COLUMNS_MOST);
    *k = (struct packed){.columns = columns, .n = n};
    k->parts = arena_array(a, struct packed_part, (n + PACKED_ROWS - 1) / PACKED_ROWS);
}

/* ---- in ---- */

static uint8_t bytes_for(uint64_t span)
{
    return span ? (uint8_t)((71 - __builtin_clzll(span)) / 8) : 0;
}

static struct packed_column packed_measure(const int64_t *v, size_t n)
{
    int64_t lo = v[0], hi = v[0];
    for (size_t i = 1; i < n; i++) {
        lo = MIN_OF(lo, v[i]);
        hi = MAX_OF(hi, v[i]);
    }
    return (struct packed_column){.base = lo, .width = bytes_for((uint64_t)hi - (uint64_t)lo)};
}

/* In order: what a word has too much is overwritten by the next one. */
static void packed_put_column(const struct packed_column *c, const int64_t *v, size_t n,
                              uint8_t *to)
{
    for (size_t i = 0; i < n; i++, to += c->width) {
        const uint64_t x = (uint64_t)v[i] - (uint64_t)c->base;
        memcpy(to, &x, WORD);
    }
}

void packed_put(struct packed *k, size_t i, const struct packed_cells *cells, struct arena *a)
{
    const size_t rows = packed_rows_of(k, i);
    struct packed_part *p = &k->parts[i / PACKED_ROWS];
    size_t bytes = 0;
    assert(i % PACKED_ROWS == 0 && i < k->n);
    p->columns = arena_array(a, struct packed_column, k->columns);
    for (size_t c = 0; c < k->columns; c++) {
        p->columns[c] = packed_measure(cells->v[c], rows);
        p->columns[c].at = (uint16_t)bytes;
        bytes += rows * p->columns[c].width;
    }
    p->bytes = arena_alloc(a, bytes + SLACK, 1);
    for (size_t c = 0; c < k->columns; c++)
        if (p->columns[c].width)
            packed_put_column(&p->columns[c], cells->v[c], rows, p->bytes + p->columns[c].at);
}

/* ---- out ---- */

static uint64_t mask_of(unsigned width)
{
    return width ? UINT64_MAX >> (64 - 8 * width) : 0;
}

static int64_t cell_at(const struct packed_column *c, uint64_t mask, const uint8_t *from)
{
    uint64_t x;
    memcpy(&x, from, WORD);
    return (int64_t)((uint64_t)c->base + (x & mask));
}

size_t packed_get(const struct packed *k, size_t i, struct packed_cells *out)
{
    const size_t rows = packed_rows_of(k, i);
    const struct packed_part *p = &k->parts[i / PACKED_ROWS];
    assert(i % PACKED_ROWS == 0 && i < k->n);
    for (size_t c = 0; c < k->columns; c++) {
        const struct packed_column *column = &p->columns[c];
        const uint64_t mask = mask_of(column->width);
        const uint8_t *from = p->bytes + column->at;
        for (size_t r = 0; r < rows; r++, from += column->width)
            out->v[c][r] = cell_at(column, mask, from);
    }
    return rows;
}

int64_t packed_cell(const struct packed *k, size_t column, size_t i)
{
    const struct packed_part *p = &k->parts[i / PACKED_ROWS];
    const struct packed_column *c = &p->columns[column];
    return cell_at(c, mask_of(c->width), p->bytes + c->at + i % PACKED_ROWS * c->width);
}
