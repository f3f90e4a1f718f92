/* SPDX-License-Identifier: Apache-2.0 */
/* query_chart.c - see query_chart.h. */
#include "cmd/query_chart.h"

#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/table.h"
#include "cmd/chart.h"

enum {
    BOTH_MOST = 8, /* series up to which the smallest values are drawn too */
    WIDTH_MOST = 100,
    WIDTH_LEAST = 10,
    NUMBER_WIDTH = 10, /* "1023 MiB/s" */
};

static const struct table_column columns[] = {
    {"SERIES"},
    {"OF"},
    {"OVER TIME"},
    {"MIN", .right = true},
    {"P50", .right = true},
    {"MAX", .right = true},
    {0},
};
enum { OTHERS = sizeof "max" + 1 + 4 * 2 + 3 * NUMBER_WIDTH }; /* columns beside names and chart */

struct view {
    struct chart chart;
    struct series *s;
    struct series_stats *stats;
    size_t n, n_stats;
    bool nodes; /* there are several, so their names are shown */
    struct arena *arena;
};

/* ------------------------------------------------------------------------------------------------
 * One series */

static const struct series_stats *stats_of(const struct view *v, const struct series_key *k)
{
    for (size_t i = 0; i < v->n_stats; i++) {
        const struct series_key *x = &v->stats[i].key;
        if (strcmp(x->node, k->node) == 0 && strcmp(x->metric, k->metric) == 0 &&
            strcmp(x->entity, k->entity) == 0)
            return &v->stats[i];
    }
    return NULL;
}

static const char *query_chart_label_of(const struct series_key *k, bool nodes, struct arena *a)
{
    return arena_printf(a, "%s%s%s %s", nodes ? k->node : "", nodes ? " " : "", k->metric,
                        k->entity);
}

static void query_chart_put(struct table *t, const struct view *v, const struct series *s,
                            enum chart_of of, double top)
{
    struct buf line = {0};
    chart_line(&v->chart, s, of, top, &line);
    table_cell(t, "%s", of == CHART_MAX ? "max" : "min");
    table_cell(t, "%.*s", (int)line.len, (const char *)line.p);
    buf_free(&line);
}

static void query_chart_put_series(struct table *t, const struct view *v, const struct series *s)
{
    char text[HUMAN_LEN];
    const struct series_stats *st = stats_of(v, &s->key);
    const double top = chart_top(v->s, v->n, s->key.metric);
    table_cell(t, "%s", query_chart_label_of(&s->key, v->nodes, v->arena));
    query_chart_put(t, v, s, CHART_MAX, top);
    if (!st || st->count == 0) {
        table_rest(t, "no readings");
        return;
    }
    const double numbers[] = {st->min, st->p50, st->max};
    for (size_t k = 0; k < COUNT_OF(numbers); k++)
        table_cell(t, "%s", human_value(numbers[k], s->key.unit, text, sizeof text));
    if (v->n > BOTH_MOST)
        return;
    table_cell(t, "%s", "");
    query_chart_put(t, v, s, CHART_MIN, top);
    table_rest(t, "%s", "");
}

/* ------------------------------------------------------------------------------------------------
 * All of them */

/* What a full column stands for, once per metric; the series are sorted by node first. */
static void print_tops(const struct view *v)
{
    char text[HUMAN_LEN];
    for (size_t i = 0; i < v->n; i++) {
        const struct series_key *k = &v->s[i].key;
        size_t before = 0;
        while (before < i && strcmp(v->s[before].key.metric, k->metric) != 0)
            before++;
        if (before == i)
            printf("full height of %s: %s\n", k->metric,
                   human_value(chart_top(v->s, v->n, k->metric), k->unit, text, sizeof text));
    }
}

static void print_view(const struct view *v)
{
    struct table t;
    char from[64], took[HUMAN_LEN];
    const double seconds = (double)(v->chart.to.ns - v->chart.from.ns) / (double)NS_PER_S;
    table_init(&t, v->arena, columns);
    for (size_t i = 0; i < v->n; i++)
        query_chart_put_series(&t, v, &v->s[i]);
    table_print(&t, stdout, 0, term_color(stdout));
    printf("start %s, duration %s\n", wall_text(v->chart.from, from, sizeof from),
           duration_text(seconds, took, sizeof took));
    print_tops(v);
}

static bool several_nodes(const struct keys *all)
{
    /* Sorted by node: if the first and the last are of one, all are. */
    return all->n > 1 && strcmp(all->v[0].node, all->v[all->n - 1].node) != 0;
}

/* Columns that are left for the chart beside the longest label. */
static size_t chart_width(const struct series_ask *ask, const struct keys *all, struct arena *a)
{
    const size_t terminal = term_width(stdout);
    size_t label = 0;
    for (size_t i = 0; i < all->n; i++)
        if (query_matches(ask, &all->v[i])) {
            const size_t n = text_columns(query_chart_label_of(&all->v[i], several_nodes(all), a));
            label = MAX_OF(label, n);
        }
    size_t room = WIDTH_MOST;
    if (terminal > 0)
        room = terminal > label + OTHERS + WIDTH_LEAST ? terminal - label - OTHERS : WIDTH_LEAST;
    room = MIN_OF(room, (size_t)WIDTH_MOST);
    return ask->points > 0 ? MIN_OF(room, ask->points) : room;
}

int query_chart(struct run *r, const struct series_ask *ask, const struct keys *all, struct err *e)
{
    const struct run_info *info = run_get_info(r);
    struct arena a = {0};
    struct series_ask coarse = *ask;
    struct view v = {.nodes = several_nodes(all), .arena = &a};
    coarse.points = chart_width(ask, all, &a);
    int rc = series_read(r, &coarse, &a, &v.s, &v.n, e);
    if (rc == 0)
        rc = series_stats_read(r, ask, &a, &v.stats, &v.n_stats, e);
    if (rc == 0) {
        const wall_ns from = ask->from.ns ? ask->from : info->start;
        const wall_ns to = ask->to.ns ? ask->to : info->end;
        v.chart = (struct chart){from, {MAX_OF(to.ns, from.ns + 1)}, coarse.points};
        print_view(&v);
    }
    arena_free(&a);
    return rc;
}
