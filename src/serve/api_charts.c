/* SPDX-License-Identifier: Apache-2.0 */
/* api_charts.c - readings as charts need them: aligned columns, a heatmap of bytes. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "query/counters.h"
#include "query/grid.h"
#include "serve/api_internal.h"

/* ---- aligned columns ---- */

const struct route_param api_grid_params[] = {
    {PARAM_ROW_NODE},
    {"metric", PARAM_TEXT, .repeat = true,
     .help = "METRIC or METRIC:ENTITY. The entity '*mean*' is the mean of all entities (the whole "
             "machine if that was recorded); without an entity, all are returned."},
    {PARAM_ROW_FROM},
    {PARAM_ROW_TO},
    {"points", PARAM_INT, .lo = 1, .hi = 4000,
     .help = "Columns (default: 1000); up to a third fewer if there are many readings."},
    {0},
};

enum { POINTS = 1000, METRICS_MOST = 64, NUMBER_BYTES = 2 };

static const char mean_entity[] = "*mean*";

/* One value of the parameter `metric`. */
struct grid_request {
    const char *metric, *entity; /* entity NULL: all */
    bool mean;
};

static struct grid_request grid_request_of(const char *text, struct arena *a)
{
    const char *colon = strchr(text, ':');
    if (!colon)
        return (struct grid_request){.metric = text};
    const bool mean = strcmp(colon + 1, mean_entity) == 0;
    return (struct grid_request){arena_strndup(a, text, (size_t)(colon - text)),
                                 mean ? NULL : colon + 1, mean};
}

static size_t grid_requests_of(const struct route_request *q, struct grid_request *out)
{
    size_t n = 0;
    for (size_t i = 0; i < q->n_values && n < METRICS_MOST; i++)
        if (strcmp(q->values[i].param->name, "metric") == 0)
            out[n++] = grid_request_of(q->values[i].text, q->arena);
    return n;
}

static void grid_numbers_json(struct jw *j, const char *key, const float *v, size_t n)
{
    struct buf *b = j->out;
    jw_array(j, key);
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_u8(b, ',');
        json_put_rounded(b, (double)v[i]);
    }
    jw_end(j);
}

static void grid_row_keys_json(struct jw *j, const struct grid_row *row, const char *entity,
                               size_t columns)
{
    jw_str(j, "node", row->key.node);
    jw_str(j, "metric", row->key.metric);
    jw_str(j, "entity", entity);
    jw_str(j, "unit", row->key.unit);
    jw_num(j, "mean", grid_row_mean(row));
    jw_int(j, "count", (int64_t)row->count);
    grid_numbers_json(j, "v", row->mean, columns);
    grid_numbers_json(j, "min", row->min, columns);
    grid_numbers_json(j, "max", row->max, columns);
}

static void grid_row_json(struct jw *j, const struct grid_row *row, const char *entity,
                          size_t columns)
{
    jw_object(j, NULL);
    grid_row_keys_json(j, row, entity, columns);
    jw_end(j);
}

static void grid_axis_json(struct jw *j, const struct grid *g)
{
    jw_int(j, "from_ns", g->from.ns);
    jw_int(j, "to_ns", g->to.ns);
    jw_int(j, "step_ns", g->step_ns);
    jw_int(j, "n", (int64_t)g->columns);
}

/* All rows of one metric and node make one line. */
static void grid_means_json(struct jw *j, const struct grid *g, struct arena *a)
{
    for (size_t i = 0; i < g->n; i++) {
        const struct series_key *k = &g->rows[i].key, *before = i ? &g->rows[i - 1].key : NULL;
        if (before && strcmp(before->node, k->node) == 0 && strcmp(before->metric, k->metric) == 0)
            continue;
        const struct grid_row mean = grid_mean(g, i, a);
        grid_row_json(j, &mean, mean_entity, g->columns);
    }
}

/* Whether every node that has the metric has it of the whole machine too: then the mean is read
 * without its parts. */
static bool grid_has_totals(const struct route_request *q, const char *metric,
                            const struct series_key *v, size_t n)
{
    const struct series_ask ask = {.node = route_text(q, "node"), .metric = metric};
    size_t nodes = 0, totals = 0;
    const char *node = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!series_matches(&ask, &v[i]))
            continue;
        nodes += !node || strcmp(node, v[i].node) != 0;
        node = v[i].node;
        totals += strcmp(v[i].entity, ENTITY_TOTAL) == 0;
    }
    return totals == nodes;
}

static int grid_request_json(struct jw *j, const struct route_request *q,
                             const struct grid_ask *window, const struct grid_request *w,
                             struct err *e)
{
    struct grid g;
    struct series_ask which = {
        .node = route_text(q, "node"), .metric = w->metric, .entity = w->entity};
    struct grid_ask ask = *window;
    struct series_key *keys;
    size_t n_keys;
    ask.which = &which;
    ask.n_which = 1;
    TRY(series_list(q->run, q->arena, &keys, &n_keys, e));
    if (w->mean && grid_has_totals(q, w->metric, keys, n_keys))
        which.entity = ENTITY_TOTAL;
    TRY(grid_read(q->run, &ask, q->arena, &g, e));
    if (!w->mean && j->out->len + 3 * NUMBER_BYTES * g.n * g.columns > ANSWER_MOST)
        return answer_too_large("grid", e);
    if (w->mean)
        grid_means_json(j, &g, q->arena);
    else
        for (size_t i = 0; i < g.n; i++)
            grid_row_json(j, &g.rows[i], g.rows[i].key.entity, g.columns);
    return answer_fits(j->out, "grid", e);
}

int api_grid(const struct route_request *q, struct route_answer *out, struct err *e)
{
    struct grid_request *requests = arena_array(q->arena, struct grid_request, METRICS_MOST);
    struct grid_ask ask = {.columns = (size_t)route_number(q, "points", POINTS)};
    struct grid axis;
    struct jw j = {.out = &out->body};
    const size_t n = grid_requests_of(q, requests);
    TRY(route_window(q, &ask.from, &ask.to, e));
    TRY(grid_read(q->run, &ask, q->arena, &axis, e));
    jw_object(&j, NULL);
    grid_axis_json(&j, &axis);
    jw_array(&j, "series");
    for (size_t i = 0; i < n; i++)
        TRY(grid_request_json(&j, q, &ask, &requests[i], e));
    jw_end(&j);
    jw_end(&j);
    return 0;
}

/* ---- counters ---- */

const struct route_param api_counters_params[] = {
    {PARAM_ROW_NODE},
    {"name", PARAM_TEXT, .help = "Only counters of this name."},
    {PARAM_ROW_FROM},
    {PARAM_ROW_TO},
    {"points", PARAM_INT, .lo = 1, .hi = 4000, .help = "Columns (default: 1000)."},
    {"exact", PARAM_FLAG, .help = "1: every value of counters with at most as many as columns."},
    {0},
};

static void counter_exact_json(struct jw *j, const struct counter_row *c)
{
    jw_array(j, "t_ns");
    for (uint64_t i = 0; i < c->row.count; i++)
        jw_int(j, NULL, c->at_ns[i]);
    jw_end(j);
    jw_array(j, "values");
    for (uint64_t i = 0; i < c->row.count; i++)
        jw_num(j, NULL, c->exact[i]);
    jw_end(j);
}

static void counters_json(struct jw *j, const struct counters *c)
{
    jw_object(j, NULL);
    grid_axis_json(j, &c->axis);
    jw_array(j, "series");
    for (size_t i = 0; i < c->n; i++) {
        jw_object(j, NULL);
        grid_row_keys_json(j, &c->v[i].row, c->v[i].row.key.entity, c->axis.columns);
        jw_num(j, "last", c->v[i].last);
        jw_bool(j, "own", c->v[i].own);
        if (c->v[i].at_ns)
            counter_exact_json(j, &c->v[i]);
        jw_end(j);
    }
    jw_end(j);
    jw_bool(j, "cut", c->cut);
    jw_end(j);
}

static int counters_put(const struct route_request *q, struct route_answer *out, struct err *e)
{
    struct counters_ask ask = {.columns = (size_t)route_number(q, "points", POINTS),
                               .node = route_text(q, "node"),
                               .name = route_text(q, "name"),
                               .exact = route_number(q, "exact", 0) != 0};
    struct counters c;
    struct jw j = {.out = &out->body};
    int rc = route_window(q, &ask.from, &ask.to, e);
    if (rc == 0)
        rc = counters_read(q->run, &ask, q->arena, &c, e);
    if (rc)
        return rc;
    counters_json(&j, &c);
    return answer_fits(&out->body, "counters", e);
}

int api_counters(const struct route_request *q, struct route_answer *out, struct err *e)
{
    return answer_async(q, counters_put, out, e);
}

/* ---- heatmap ---- */

const struct route_param api_heatmap_params[] = {
    {PARAM_ROW_NODE},
    {PARAM_ROW_FROM},
    {PARAM_ROW_TO},
    {"columns", PARAM_INT, .lo = 1, .hi = 4000,
     .help = "Columns (default: 1000); up to a third fewer if there are many readings."},
    {0},
};

/* Half percents; no sample is apart from all of them. */
enum { CELL_TOP = 200, CELL_NONE = 255, MANY_SAMPLES = 1 << 20 };

static uint8_t heat_cell_of(float percent)
{
    const float halves = 2 * percent + 0.5f, low = halves > 0 ? halves : 0; /* 0 of no number too */
    const int32_t cell = (int32_t)(low < CELL_TOP ? low : (float)CELL_TOP);
    return (uint8_t)(isnan(percent) ? CELL_NONE : cell);
}

static void heat_put_cells(const float *restrict percent, size_t n, uint8_t *restrict out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = heat_cell_of(percent[i]);
}

/* Cores and GPUs are rows, the machine as a whole is none. */
static bool heat_is_device(const struct grid_row *r)
{
    return strcmp(r->key.entity, ENTITY_TOTAL) != 0;
}

static void heat_rows(struct jw *j, const struct grid *g)
{
    jw_array(j, "rows");
    for (size_t i = 0; i < g->n; i++) {
        const struct grid_row *row = &g->rows[i];
        if (!heat_is_device(row))
            continue;
        jw_object(j, NULL);
        jw_str(j, "node", row->key.node);
        jw_str(j, "metric", row->key.metric);
        jw_str(j, "entity", row->key.entity);
        jw_end(j);
    }
    jw_end(j);
}

/* One row after the other. Their letters need no escapes, so they are put between the quotes. */
static void heat_cells(struct jw *j, const struct grid *g, struct arena *a)
{
    uint8_t *cells = arena_array(a, uint8_t, g->n * g->columns + 1), *p = cells;
    for (size_t i = 0; i < g->n; i++) {
        const size_t n = heat_is_device(&g->rows[i]) ? g->columns : 0;
        heat_put_cells(g->rows[i].mean, n, p);
        p += n;
    }
    jw_str(j, "cells", "");
    j->out->len--;
    buf_base64(j->out, cells, (size_t)(p - cells));
    buf_u8(j->out, '"');
}

int api_heatmap(const struct route_request *q, struct route_answer *out, struct err *e)
{
    const char *node = route_text(q, "node");
    const struct series_ask which[] = {{.node = node, .metric = metrics[M_CPU_UTIL].name},
                                       {.node = node, .metric = metrics[M_GPU_UTIL].name}};
    struct grid_ask ask = {.columns = (size_t)route_number(q, "columns", POINTS),
                           .which = which,
                           .n_which = COUNT_OF(which),
                           .means_only = true,
                           .fewer_from = MANY_SAMPLES};
    struct grid g;
    struct jw j = {.out = &out->body};
    TRY(route_window(q, &ask.from, &ask.to, e));
    TRY(grid_read(q->run, &ask, q->arena, &g, e));
    jw_object(&j, NULL);
    grid_axis_json(&j, &g);
    heat_rows(&j, &g);
    heat_cells(&j, &g, q->arena);
    jw_end(&j);
    out->noise = true;
    return answer_fits(&out->body, "heatmap", e);
}
