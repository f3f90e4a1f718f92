/* SPDX-License-Identifier: Apache-2.0 */
/* grid_columns.c - how many columns a grid gets that may have fewer than were asked for. */
#include "query/grid_own.h"
#include "query/run_open.h"
#include "query/slices.h"

/* Fewer by a third at most. */
enum { LEAST_NUM = 2, LEAST_DEN = 3 };

/* The first block of a series that lies in the window; NULL: there is none. */
static const struct rows_block *block_in(const struct merged *m, const struct grid_ask *ask)
{
    for (size_t i = 0; i < m->n_parts; i++) {
        const struct store *store = m->parts[i].store;
        const struct store_series *s = m->parts[i].series;
        for (uint32_t k = 0; k < s->n_refs; k++) {
            const struct rows_block *b = &store->blocks[s->refs[k].block];
            if (store_wall(store, b->t_last_us).ns >= ask->from.ns &&
                store_wall(store, b->t_first_us).ns < ask->to.ns)
                return b;
        }
    }
    return NULL;
}

/* Samples in the window, with the period of the block. */
static uint64_t samples_in(const struct rows_block *b, int64_t span, size_t series)
{
    return b->period_ns > 0 ? (uint64_t)(span / b->period_ns) * series : 0;
}

size_t grid_columns_for(const struct grid_ask *ask, const struct merged *m, size_t n)
{
    const struct rows_block *b = ask->fewer_from ? block_in(m, ask) : NULL;
    const int64_t span = ask->to.ns - ask->from.ns;
    if (!b || samples_in(b, span, n) < ask->fewer_from)
        return ask->columns;
    for (enum level level = LEVEL_TWO; level > LEVEL_VALUES; level--) {
        const size_t columns = (size_t)(span / level_step_least(b, level, block_is_regular(b)));
        if (columns >= ask->columns)
            return ask->columns;
        if (columns > 0 && LEAST_DEN * columns >= LEAST_NUM * ask->columns)
            return columns;
    }
    return ask->columns;
}
