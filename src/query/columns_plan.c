/* SPDX-License-Identifier: Apache-2.0 */
/* columns_plan.c - which columns of which blocks an ask is made of. */
#include <stdlib.h>
#include <string.h>

#include "query/columns_own.h"
#include "record/record.h"

static bool is_total(const struct store_series *s)
{
    return strcmp(s->entity, ENTITY_TOTAL) == 0;
}

static bool has_total(const struct store *s, const char *metric)
{
    for (uint32_t i = 0; i < s->n_series; i++)
        if (strcmp(s->series[i].metric, metric) == 0 && is_total(&s->series[i]))
            return true;
    return false;
}

static enum fold fold_of(const struct store *s, const struct column_ask *ask)
{
    if (ask->which == COLUMN_PEAK)
        return FOLD_MAX;
    if (ask->which != COLUMN_TOTAL || has_total(s, ask->metric))
        return FOLD_NONE;
    const enum metric_id m = metric_find(ask->metric);
    return m < METRIC_N && metrics[m].unit == UNIT_PERCENT ? FOLD_MEAN : FOLD_SUM;
}

static bool is_wanted(const struct column_ask *ask, enum fold fold, const struct store_series *s)
{
    if (strcmp(ask->metric, s->metric) != 0)
        return false;
    switch (ask->which) {
    case COLUMN_ENTITY:
        return strcmp(ask->entity, s->entity) == 0;
    case COLUMN_TOTAL:
        return is_total(s) == (fold == FOLD_NONE);
    case COLUMN_PEAK:
        return !is_total(s);
    default:
        return true;
    }
}

/* The next series that the ask wants, from number `i` on; NULL: there is none. */
static const struct store_series *next_wanted(const struct store *s, const struct column_ask *ask,
                                              enum fold fold, uint32_t *i)
{
    while (*i < s->n_series) {
        const struct store_series *x = &s->series[(*i)++];
        if (!is_wanted(ask, fold, x))
            continue;
        if (ask->which == COLUMN_ONLY)
            *i = s->n_series;
        return x;
    }
    return NULL;
}

bool columns_are_in(const struct store *s, const struct column_ask *ask)
{
    uint32_t i = 0;
    return next_wanted(s, ask, fold_of(s, ask), &i) != NULL;
}

static int by_block(const void *a, const void *b)
{
    const struct input *x = a, *y = b;
    if (x->block != y->block)
        return x->block < y->block ? -1 : 1;
    if (x->ask != y->ask)
        return x->ask < y->ask ? -1 : 1;
    return (x->column > y->column) - (x->column < y->column);
}

/* With `out` NULL they are only counted. */
static size_t list_ask(const struct store *s, const struct column_ask *asks, uint32_t ask,
                       struct input *out)
{
    const enum fold fold = fold_of(s, &asks[ask]);
    size_t n = 0;
    uint32_t i = 0;
    for (const struct store_series *x; (x = next_wanted(s, &asks[ask], fold, &i));) {
        for (uint32_t k = 0; out && k < x->n_refs; k++) {
            const struct store_ref r = x->refs[k];
            out[n + k] = (struct input){r.block, ask, &s->blocks[r.block].columns[r.column], fold};
        }
        n += x->n_refs;
    }
    return n;
}

size_t columns_plan(const struct store *s, const struct column_ask *asks, size_t n_asks,
                    struct arena *a, struct input **out)
{
    size_t most = 0, n = 0;
    for (uint32_t i = 0; i < n_asks; i++)
        most += list_ask(s, asks, i, NULL);
    *out = arena_array(a, struct input, most + 1);
    for (uint32_t i = 0; i < n_asks; i++)
        n += list_ask(s, asks, i, *out + n);
    if (n)
        qsort(*out, n, sizeof **out, by_block);
    return n;
}
