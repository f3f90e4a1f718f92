/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "query/runkit.h"
#include "query/steps.h"
#include "test.h"

enum { COLUMNS = 6, MOST = 3 * PACKED_ROWS + 17 };

/* Columns of other widths, one of them all alike. */
static int64_t cell_of(size_t column, size_t i)
{
    struct kit_random r = {column * MOST + i + 1};
    const int64_t x = (int64_t)kit_next(&r);
    switch (column) {
    case 0:
        return -7;
    case 1:
        return x & 1;
    case 2:
        return 1000 - (x & 0xff);
    case 3:
        return INT64_C(1700000000000000000) + (int64_t)i * 432000000;
    case 4:
        return (x & 0xffffff) - 5;
    default:
        return i % 5 ? x : i % 2 ? INT64_MIN : INT64_MAX;
    }
}

static void put_all(struct packed *k, size_t n, struct arena *a)
{
    struct packed_cells cells;
    packed_open(k, COLUMNS, n, a);
    for (size_t from = 0; from < n; from += PACKED_ROWS) {
        memset(&cells, 0x55, sizeof cells); /* rows behind the last one are nobody's */
        for (size_t c = 0; c < COLUMNS; c++)
            for (size_t i = 0; i < MIN_OF(n - from, (size_t)PACKED_ROWS); i++)
                cells.v[c][i] = cell_of(c, from + i);
        packed_put(k, from, &cells, a);
    }
}

TEST(what_is_kept_comes_back_piece_by_piece_and_cell_by_cell)
{
    static const size_t sizes[] = {0, 1, 2, PACKED_ROWS - 1, PACKED_ROWS, PACKED_ROWS + 1, MOST};
    for (size_t s = 0; s < COUNT_OF(sizes); s++) {
        struct arena a = {0};
        struct packed_cells got;
        struct packed k;
        size_t seen = 0;
        put_all(&k, sizes[s], &a);
        for (size_t n; seen < k.n; seen += n) {
            n = packed_get(&k, seen, &got);
            for (size_t c = 0; c < COLUMNS; c++)
                for (size_t i = 0; i < n; i++) {
                    CHECK_INT(got.v[c][i], cell_of(c, seen + i));
                    CHECK_INT(packed_cell(&k, c, seen + i), cell_of(c, seen + i));
                }
        }
        CHECK_INT(seen, sizes[s]);
        arena_free(&a);
    }
}

TEST(a_column_takes_as_many_bytes_as_its_numbers_are_apart)
{
    static const uint8_t widths[COLUMNS] = {0, 1, 1, 5, 3, 8};
    struct arena a = {0};
    struct packed k;
    put_all(&k, PACKED_ROWS, &a);
    for (size_t c = 0; c < COLUMNS; c++)
        CHECK_INT(k.parts[0].columns[c].width, widths[c]);
    arena_free(&a);
}
