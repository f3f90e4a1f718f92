/* SPDX-License-Identifier: Apache-2.0 */
/* series.c - see series.h. */
#include "query/series.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/crew.h"
#include "query/layout.h"
#include "query/reduce.h"
#include "query/series_own.h"
#include "query/tally.h"

static bool metric_matches(const char *want, const char *metric)
{
    const size_t n = strlen(want);
    if (n && want[n - 1] == '.')
        return strncmp(want, metric, n) == 0;
    return strcmp(want, metric) == 0;
}

bool series_matches(const struct series_ask *ask, const struct series_key *k)
{
    return (!ask->node || strcmp(ask->node, k->node) == 0) &&
           (!ask->metric || metric_matches(ask->metric, k->metric)) &&
           (!ask->entity || strcmp(ask->entity, k->entity) == 0);
}

struct series_key series_key_of(const struct merged *m, struct arena *a)
{
    return (struct series_key){
        .node = arena_strdup(a, m->node),
        .metric = arena_strdup(a, m->metric),
        .entity = arena_strdup(a, m->entity),
        .unit = arena_strdup(a, m->unit),
    };
}

static bool is_asked_for(const struct merged *m, const struct series_ask *asks, size_t n)
{
    const struct series_key k = {m->node, m->metric, m->entity, m->unit};
    for (size_t i = 0; i < n; i++)
        if (series_matches(&asks[i], &k))
            return true;
    return false;
}

size_t series_select(const struct run *r, const struct series_ask *asks, size_t n_asks,
                     struct arena *a, const struct merged ***out)
{
    size_t n = 0;
    *out = arena_array(a, const struct merged *, r->n_series + 1);
    for (size_t i = 0; i < r->n_series; i++)
        if (is_asked_for(&r->series[i], asks, n_asks))
            (*out)[n++] = &r->series[i];
    return n;
}

int series_list(struct run *r, struct arena *a, struct series_key **out, size_t *n, struct err *e)
{
    (void)e;
    *out = arena_array(a, struct series_key, r->n_series);
    *n = r->n_series;
    for (size_t i = 0; i < r->n_series; i++)
        (*out)[i] = series_key_of(&r->series[i], a);
    return 0;
}

/* ---- points ---- */

enum { SERIES_EACH = 16 };

/* Shared by the threads of one query. */
struct batch {
    const struct series_ask *ask;
    const struct merged **list;
    const struct layout **layout; /* by series; NULL: it needs one of its own */
    struct series *out;
};

/* Takes room for n points; returns what follows it. */
static double *set_room(struct series *s, double *room, size_t n)
{
    s->v = room;
    s->min = room + n;
    s->max = room + 2 * n;
    return room + 3 * n;
}

/* Without what is damaged the other points lie elsewhere, but there are no more of them. */
static void read_one(const struct batch *b, size_t i, struct scan *scan, struct arena *a)
{
    const struct merged *m = b->list[i];
    struct series *out = &b->out[i];
    struct arena own = {0};
    const struct layout *l = b->layout[i];
    if (!l) {
        l = layout_make(scan, m, b->ask, &own, a);
        set_room(out, arena_alloc_raw(a, 3 * l->n, sizeof(double)), l->n);
    }
    out->key = series_key_of(m, a);
    for (size_t bad; (bad = reduce_series(scan, l, m, out)) < l->n_slices;)
        l = layout_without(scan, l, bad, &own, a);
    arena_free(&own);
}

static void work(struct crew *c, struct arena *results)
{
    struct scan scan;
    scan_open(&scan);
    scan.once = c->n == 1;
    for (size_t i; crew_next(c, &i);)
        read_one(c->ctx, i, &scan, results);
    scan_close(&scan);
}

/* Series of one group, which often have the same layout, are not always neighbours in the list. */
enum { LAYOUTS_TRIED = 8 };

/* The series i has its values where its neighbour has them. */
static bool is_like_next(const struct batch *b, size_t i, size_t n)
{
    return i + 1 < n && layout_same_blocks(b->list[i], b->list[i + 1]) &&
           slices_plain(b->list[i], b->ask->from, b->ask->to);
}

/* Those that are good for several series; the others are made where they are needed. */
static void share_layouts(struct batch *b, size_t n, struct arena *a, struct arena *times)
{
    const struct layout *made[LAYOUTS_TRIED] = {0};
    size_t next = 0;
    struct scan scan;
    scan_open(&scan);
    scan.once = true;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < LAYOUTS_TRIED && !b->layout[i]; k++)
            if (made[k] && layout_fits(made[k], b->list[i]))
                b->layout[i] = made[k];
        if (b->layout[i] || !is_like_next(b, i, n))
            continue;
        b->layout[i] = layout_make(&scan, b->list[i], b->ask, a, times);
        made[next++ % LAYOUTS_TRIED] = b->layout[i];
    }
    scan_close(&scan);
}

/* One piece of memory for all of them. */
static void room_of_shared(struct batch *b, size_t n, struct arena *a)
{
    size_t points = 0;
    for (size_t i = 0; i < n; i++)
        points += b->layout[i] ? b->layout[i]->n : 0;
    double *room = arena_alloc_raw(a, 3 * points, sizeof *room);
    for (size_t i = 0; i < n; i++)
        if (b->layout[i])
            room = set_room(&b->out[i], room, b->layout[i]->n);
}

int series_read(struct run *r, const struct series_ask *ask, struct arena *a, struct series **out,
                size_t *n, struct err *e)
{
    (void)e;
    struct arena scratch = {0};
    struct batch b = {.ask = ask};
    *n = series_select(r, ask, 1, &scratch, &b.list);
    b.layout = arena_array(&scratch, const struct layout *, *n);
    b.out = *out = arena_array(a, struct series, *n);
    if (*n > 1) {
        share_layouts(&b, *n, &scratch, a);
        room_of_shared(&b, *n, a);
    }
    struct crew crew = {.n = *n, .each = SERIES_EACH, .work = work, .ctx = &b};
    crew_run(&crew, a);
    arena_free(&scratch);
    return 0;
}

/* ---- statistics ---- */

/* With `pooled` neighbours of one node and metric are counted together. */
static void read_stats(struct run *r, const struct series_ask *ask, bool pooled, struct arena *a,
                       struct series_stats **out, size_t *n)
{
    struct scan scan;
    const struct merged **list;
    struct tally *t = xmalloc(sizeof *t);
    scan_open(&scan);
    const size_t n_list = series_select(r, ask, 1, &scan.arena, &list);
    *out = arena_array(a, struct series_stats, n_list);
    *n = 0;
    for (size_t i = 0; i < n_list;) {
        struct series_stats *one = &(*out)[(*n)++];
        const struct merged *first = list[i];
        one->key = series_key_of(first, a);
        tally_open(t);
        do
            tally_series(t, &scan, list[i++], ask->from, ask->to);
        while (pooled && i < n_list && strcmp(list[i]->node, first->node) == 0 &&
               strcmp(list[i]->metric, first->metric) == 0);
        if (pooled)
            one->key.entity = "";
        tally_finish(t, one);
        tally_free(t);
    }
    scan_close(&scan);
    free(t);
}

int series_stats_read(struct run *r, const struct series_ask *ask, struct arena *a,
                      struct series_stats **out, size_t *n, struct err *e)
{
    (void)e;
    read_stats(r, ask, false, a, out, n);
    return 0;
}

int series_stats_pooled(struct run *r, const struct series_ask *ask, struct arena *a,
                        struct series_stats **out, size_t *n, struct err *e)
{
    (void)e;
    read_stats(r, ask, true, a, out, n);
    return 0;
}
