/* SPDX-License-Identifier: Apache-2.0 */
/* sm_rows_catch.h - a sink that keeps rows as readings by name. */
#ifndef TEST_SM_ROWS_CATCH_H
#define TEST_SM_ROWS_CATCH_H

#include "base/mem.h"
#include "import/importer.h"
#include "record/group.h"
#include "test.h"

struct reading {
    char metric[32], entity[ENTITY_LEN];
    double value;
    int64_t at;
};

struct rows_catch {
    struct sink sink; /* first: the sink is the catch */
    struct reading *v;
    size_t n, rows;
    int64_t period_ns;
};

static inline void catch_row(struct sink *s, struct group *g, mono_ns t)
{
    struct rows_catch *c = (struct rows_catch *)s;
    c->rows++;
    c->period_ns = g->period_ns;
    for (slot_id i = 0; i < g->n; i++) {
        if (g->cells[i] == CELL_MISSING)
            continue;
        c->v = xrealloc(c->v, c->n + 1, sizeof *c->v);
        struct reading *r = &c->v[c->n++];
        *r = (struct reading){.value = (double)g->cells[i] * g->slots[i].step, .at = t.ns};
        snprintf(r->metric, sizeof r->metric, "%s", metrics[g->slots[i].metric].name);
        snprintf(r->entity, sizeof r->entity, "%s", g->slots[i].entity);
    }
}

static inline void rows_catch_open(struct rows_catch *c)
{
    static const struct sink_ops ops = {.row = catch_row};
    *c = (struct rows_catch){.sink = {&ops}};
}

static inline void rows_catch_close(struct rows_catch *c)
{
    free(c->v);
}

/* The number `which` of the readings of a series; NULL when there are not as many. */
static inline const struct reading *rows_find(const struct rows_catch *c, const char *metric,
                                              const char *entity, size_t which)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->v[i].metric, metric) == 0 && strcmp(c->v[i].entity, entity) == 0 &&
            which-- == 0)
            return &c->v[i];
    return NULL;
}

static inline size_t rows_count(const struct rows_catch *c, const char *metric)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        n += strcmp(c->v[i].metric, metric) == 0;
    return n;
}

#endif
