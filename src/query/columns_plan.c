/* SPDX-License-Identifier: Apache-2.0 */
/* columns_plan.c - which columns of which blocks an ask is made of. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
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

/* ---- the list ---- */

struct plan {
    const struct store *store;
    const struct column_ask *asks;
    uint32_t *ends; /* by block: behind its last input so far */
    struct input *v;
};

typedef void see_ref(struct plan *p, struct store_ref r, uint32_t ask, enum fold fold);

/* The place of a block is behind all inputs of the blocks before it. */
static void count_ref(struct plan *p, struct store_ref r, uint32_t ask, enum fold fold)
{
    (void)ask;
    (void)fold;
    p->ends[r.block + 1]++;
}

/* Asks come in order; series of one ask stand in the order in which they were first recorded. */
static void put_ref(struct plan *p, struct store_ref r, uint32_t ask, enum fold fold)
{
    const struct input one = {r.block, ask, r.column, fold};
    uint32_t at = p->ends[r.block]++;
    for (; at > 0 && p->v[at - 1].block == r.block && p->v[at - 1].ask == ask &&
           p->v[at - 1].column > r.column;
         at--)
        p->v[at] = p->v[at - 1];
    p->v[at] = one;
}

static void see_ask(struct plan *p, uint32_t ask, see_ref *see)
{
    const enum fold fold = fold_of(p->store, &p->asks[ask]);
    uint32_t i = 0;
    for (const struct store_series *x; (x = next_wanted(p->store, &p->asks[ask], fold, &i));)
        for (uint32_t k = 0; k < x->n_refs; k++)
            see(p, x->refs[k], ask, fold);
}

size_t columns_plan(const struct store *s, const struct column_ask *asks, size_t n_asks,
                    struct arena *a, struct input **out)
{
    struct plan p = {.store = s, .asks = asks, .ends = xcalloc(s->n_blocks + 1, sizeof *p.ends)};
    for (uint32_t i = 0; i < n_asks; i++)
        see_ask(&p, i, count_ref);
    for (uint32_t b = 0; b < s->n_blocks; b++)
        p.ends[b + 1] += p.ends[b];
    const size_t n = p.ends[s->n_blocks];
    *out = p.v = arena_array(a, struct input, n + 1);
    for (uint32_t i = 0; i < n_asks; i++)
        see_ask(&p, i, put_ref);
    free(p.ends);
    return n;
}
