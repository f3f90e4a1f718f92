/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_query.c - readings over time: JSON and CSV for programs, a table or a chart for people. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/row_table.h"
#include "base/table.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/window.h"
#include "query/run.h"
#include "query/series.h"
#include "tables/statview.h"

enum { TABLE_MOST = 50 };

/* ------------------------------------------------------------------------------------------------
 * For programs. Without --points a series may have millions of samples, so the series are read and
 * written one by one. */

typedef void each_series(const struct series *s, void *ctx);

static int query_each_series(struct run *r, const struct series_ask *ask, const struct keys *all,
                             each_series *call, void *ctx, struct err *e)
{
    for (size_t i = 0; i < all->n && !ferror(stdout); i++) {
        if (!series_matches(ask, &all->v[i]))
            continue;
        struct arena a = {0};
        struct series_ask one = *ask;
        struct series *s;
        size_t n;
        one.node = all->v[i].node;
        one.metric = all->v[i].metric;
        one.entity = all->v[i].entity;
        const int rc = series_read(r, &one, &a, &s, &n, e);
        for (size_t k = 0; rc == 0 && k < n; k++)
            call(&s[k], ctx);
        arena_free(&a);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static void query_print_put_series(const struct series *s, void *ctx)
{
    struct jw *j = ctx;
    series_json(j, s, output_buf);
    output_buf(j->out);
}

static int query_print_json(struct run *r, const struct series_ask *ask, const struct keys *all,
                            struct err *e)
{
    struct buf b = {0};
    struct jw j = {.out = &b};
    jw_array(&j, NULL);
    const int rc = query_each_series(r, ask, all, query_print_put_series, &j, e);
    jw_end(&j);
    buf_u8(&b, '\n');
    output_buf(&b);
    buf_free(&b);
    return rc;
}

static void query_put_csv(const struct series *s, void *ctx)
{
    struct buf *b = ctx;
    for (size_t i = 0; i < s->n; i++) {
        const char *const names[] = {s->key.node, s->key.metric, s->key.entity, s->key.unit};
        const double values[] = {s->v[i], s->min[i], s->max[i]};
        for (size_t k = 0; k < COUNT_OF(names); k++) {
            csv_put(b, names[k]);
            buf_u8(b, ',');
        }
        buf_int(b, s->t[i].ns);
        for (size_t k = 0; k < COUNT_OF(values); k++) {
            buf_u8(b, ',');
            if (isfinite(values[k]))
                json_put_number(b, values[k]);
        }
        buf_u8(b, '\n');
    }
    output_buf(b);
}

static int query_print_csv(struct run *r, const struct series_ask *ask, const struct keys *all,
                           struct err *e)
{
    struct buf b = {0};
    puts("node,metric,entity,unit,time_ns,value,min,max");
    const int rc = query_each_series(r, ask, all, query_put_csv, &b, e);
    buf_free(&b);
    return rc;
}

static void query_put_table(const struct series *s, void *ctx)
{
    bool *some = ctx;
    struct arena a = {0};
    struct table t;
    char time[64];
    table_init(&t, &a, "TIME|>VALUE|>MIN|>MAX");
    for (size_t i = 0; i < s->n; i++) {
        table_cell(&t, "%s",
                   i ? wall_text_beside(s->t[i], s->t[i - 1], time, sizeof time)
                     : wall_text(s->t[i], time, sizeof time));
        CELL_VALUES(&t, s->key.unit, s->v[i], s->min[i], s->max[i]);
    }
    printf("%s%s %s, node %s\n", *some ? "\n" : "", s->key.metric, text_safe(&a, s->key.entity),
           text_safe(&a, s->key.node));
    output_table(&t);
    *some = true;
    arena_free(&a);
}

/* ---- a chart: a line of blocks and a few numbers for each series ---- */

enum {
    BOTH_MOST = 8, /* series up to which the smallest values are drawn too */
    WIDTH_MOST = 100,
    WIDTH_LEAST = 10,
    NUMBER_WIDTH = 10, /* "1023 MiB/s" */
};

enum { OTHERS = sizeof "max" + 1 + 4 * 2 + 3 * NUMBER_WIDTH }; /* columns beside names and chart */

struct query_view {
    struct chart chart;
    struct series *s;
    struct series_stats *stats;
    size_t n, n_stats;
    bool nodes; /* there are several, so their names are shown */
    struct arena *arena;
};

static const struct series_stats *query_chart_stats_of(const struct query_view *v,
                                                       const struct series_key *k)
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

static void query_chart_put(struct table *t, const struct query_view *v, const struct series *s,
                            enum chart_of of, double top)
{
    struct buf line = {0};
    chart_line(&v->chart, s, of, top, &line);
    table_cell(t, "%s", of == CHART_MAX ? "max" : "min");
    table_cell(t, "%.*s", (int)line.len, (const char *)line.p);
    buf_free(&line);
}

static void query_chart_put_series(struct table *t, const struct query_view *v,
                                   const struct series *s)
{
    const struct series_stats *st = query_chart_stats_of(v, &s->key);
    const double top = chart_top(v->s, v->n, s->key.metric);
    table_cell(t, "%s", query_chart_label_of(&s->key, v->nodes, v->arena));
    query_chart_put(t, v, s, CHART_MAX, top);
    if (!st || st->count == 0) {
        table_rest(t, "no readings");
        return;
    }
    CELL_VALUES(t, s->key.unit, st->min, st->p50, st->max);
    if (v->n > BOTH_MOST)
        return;
    table_cell(t, "%s", "");
    query_chart_put(t, v, s, CHART_MIN, top);
    table_rest(t, "%s", "");
}

/* The value of a full column, once per metric; the series are sorted by node first. */
static void query_chart_print_tops(const struct query_view *v)
{
    for (size_t i = 0; i < v->n; i++) {
        const struct series_key *k = &v->s[i].key;
        const size_t before = FIND_FIRST(at, i, strcmp(v->s[at].key.metric, k->metric) == 0);
        if (before == i)
            printf("full height of %s: %s\n", k->metric,
                   value_text(v->arena, chart_top(v->s, v->n, k->metric), k->unit));
    }
}

static void query_chart_print(const struct query_view *v)
{
    struct table t;
    char from[64], took[HUMAN_LEN];
    const double seconds = (double)(v->chart.to.ns - v->chart.from.ns) / (double)NS_PER_S;
    table_init(&t, v->arena, "SERIES|OF|OVER TIME|>MIN|>P50|>MAX");
    for (size_t i = 0; i < v->n; i++)
        query_chart_put_series(&t, v, &v->s[i]);
    table_print(&t, stdout, 0, term_color(stdout));
    printf("start %s, duration %s\n", wall_text(v->chart.from, from, sizeof from),
           duration_text(seconds, took, sizeof took));
    query_chart_print_tops(v);
}

static bool query_chart_several_nodes(const struct keys *all)
{
    /* Sorted by node: if the first and the last are of one, all are. */
    return all->n > 1 && strcmp(all->v[0].node, all->v[all->n - 1].node) != 0;
}

/* Columns that are left for the chart beside the longest label. */
static size_t query_chart_width(const struct series_ask *ask, const struct keys *all,
                                struct arena *a)
{
    const size_t terminal = term_width(stdout);
    size_t label = 0;
    for (size_t i = 0; i < all->n; i++)
        if (series_matches(ask, &all->v[i])) {
            const size_t n =
                text_columns(query_chart_label_of(&all->v[i], query_chart_several_nodes(all), a));
            label = MAX_OF(label, n);
        }
    size_t room = WIDTH_MOST;
    if (terminal > 0)
        room = terminal > label + OTHERS + WIDTH_LEAST ? terminal - label - OTHERS : WIDTH_LEAST;
    room = MIN_OF(room, (size_t)WIDTH_MOST);
    return ask->points > 0 ? MIN_OF(room, ask->points) : room;
}

static int query_chart(struct run *r, const struct series_ask *ask, const struct keys *all,
                       struct arena *a, struct err *e)
{
    const struct run_info *info = run_get_info(r);
    struct series_ask coarse = *ask;
    struct query_view v = {.nodes = query_chart_several_nodes(all), .arena = a};
    coarse.points = query_chart_width(ask, all, a);
    TRY(series_read(r, &coarse, a, &v.s, &v.n, e));
    TRY(series_stats_read(r, ask, a, &v.stats, &v.n_stats, e));
    const wall_ns from = ask->from.ns ? ask->from : info->start;
    const wall_ns to = ask->to.ns ? ask->to : info->end;
    v.chart = (struct chart){from, {MAX_OF(to.ns, from.ns + 1)}, coarse.points};
    query_chart_print(&v);
    return 0;
}

/* ---- the command ---- */

enum { O_METRIC, O_ENTITY, O_NODE, O_FROM, O_TO, O_POINTS };

static const struct opt options[] = {
    [O_METRIC] = {"metric", 'm', "METRIC", OPT_STRING, .choices = metric_names,
                  .help = "The metric; a trailing dot, as in 'cpu.', selects a family. 'footplate "
                          "metrics' lists all metrics."},
    [O_ENTITY] = {"entity", 'e', "ENTITY", OPT_STRING,
                  .help = "Show only this entity: a core, a GPU, a disk, 'total'."},
    [O_NODE] = {"node", 0, "ID", OPT_STRING, .help = "Show only this node."},
    [O_FROM] = {OPT_ROW_FROM},
    [O_TO] = {OPT_ROW_TO},
    [O_POINTS] = {"points", 'n', "N", OPT_INT, .lo = 1, .hi = 1000000,
                  .help =
                      "Reduce each series to at most N points; each keeps the minimum and maximum "
                      "of its interval. Without this option, JSON and CSV contain every reading."},
    OPT_ROWS_OUTPUT,
};

static int cmd_query_run(const struct cmd_args *args, struct err *e)
{
    struct run *r;
    struct keys all;
    wall_ns window[2];
    bool some = false;
    if (!args->opt[O_METRIC].given)
        return err_set(e, ERR_USAGE,
                       "query: --metric is required; 'footplate metrics' lists all metrics");
    TRY(cmd_open_run(args, args->arg[0], &r, e));
    TRY(window_of(&args->opt[O_FROM], &args->opt[O_TO], run_get_info(r), window, e));
    const struct series_ask ask = {
        .node = args->opt[O_NODE].text,
        .metric = args->opt[O_METRIC].text,
        .entity = args->opt[O_ENTITY].text,
        .from = window[0],
        .to = window[1],
        .points = args->opt[O_POINTS].given ? (size_t)args->opt[O_POINTS].number : 0,
    };
    TRY(series_list(r, args->arena, &all.v, &all.n, e));
    TRY(series_ask_check(r, &ask, &all, e));
    if (args->output == OUTPUT_JSON)
        return query_print_json(r, &ask, &all, e);
    if (args->output == OUTPUT_CSV)
        return query_print_csv(r, &ask, &all, e);
    if (ask.points > 0 && ask.points <= TABLE_MOST)
        return query_each_series(r, &ask, &all, query_put_table, &some, e);
    return query_chart(r, &ask, &all, args->arena, e);
}

const struct cmd cmd_query = {
    .name = "query",
    .summary = "print or plot a metric over time",
    .args = cmd_arg_run,
    .options = options,
    .help = CMD_HELP("Up to 50 points are printed as a table, more as a chart. The height of a "
                     "column in the first line is the maximum of its interval, in the second line "
                     "the minimum, so neither spikes nor dips are averaged away. With more than 8 "
                     "series, only the first line is printed. An empty column means there was no "
                     "reading."),
    .examples = CMD_EXAMPLES(
        {"footplate query last --metric cpu.util --entity total", "Plot CPU utilization."},
        {"footplate query last -m gpu.util -n 20 --from -60s",
         "Print the last minute in 20 points."},
        {"footplate query last -m net. --points 200 --json", "Print all network series as JSON."}),
    .run = cmd_query_run,
};
