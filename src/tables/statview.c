/* SPDX-License-Identifier: Apache-2.0 */
/* statview.c - see statview.h. */
#include "tables/statview.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "query/series.h"
#include "record/record.h"
#include "tables/runview.h"

/* ---- the summary ---- */

/* The rows, in the order in which people read them. */
static const struct summary_row rows[] = {
    {"cpu", "CPU", "cpu.util", ENTITY_TOTAL},
    {"gpu", "GPU", "gpu.util", NULL},
    {"cpu_memory", "CPU memory", "mem.util", NULL},
    {"gpu_memory", "GPU memory", "gpu.mem", NULL},
    {"io_wait", "I/O wait", "cpu.iowait", ENTITY_TOTAL},
    {"net_in", "network in", "net.rx", ENTITY_TOTAL},
    {"net_out", "network out", "net.tx", ENTITY_TOTAL},
    /* only where there are GPUs */
    {"gpu_sm", "GPU SMs active", "gpu.sm_active", NULL},
    {"gpu_tensor", "GPU tensor cores", "gpu.tensor_active", NULL},
    {"gpu_dram", "GPU memory bandwidth", "gpu.dram_active", NULL},
    {"gpu_power", "GPU power", "gpu.power", NULL},
};

enum { ROWS_OF_GPUS = 4 };

/* The same rows for all nodes of a run. */
static size_t summary_rows_of(const struct run_info *info)
{
    return FIND_ANY(i, info->n_nodes, info->nodes[i].n_gpus > 0) ? COUNT_OF(rows)
                                                                 : COUNT_OF(rows) - ROWS_OF_GPUS;
}

static const struct series_stats no_stats = {
    .min = NAN,
    .max = NAN,
    .mean = NAN,
    .p5 = NAN,
    .p25 = NAN,
    .p50 = NAN,
    .p75 = NAN,
    .p90 = NAN,
    .p95 = NAN,
    .p99 = NAN,
};

static const struct series_stats *summary_of_node(const struct series_stats *v, size_t n,
                                                  const char *node)
{
    return FIND_ITEM(x, v, n, x->count > 0 && strcmp(x->key.node, node) == 0);
}

static void summary_fill_line(struct summary_line *out, const struct series_stats *found,
                              const struct loss_list *lost)
{
    out->unit = unit_name(metrics[metric_find(out->row->metric)].unit);
    out->stats = found ? *found : no_stats;
    if (!found)
        out->why = loss_list_why(lost, out->node, out->row->metric, &out->what);
}

struct summary_reader {
    struct run *run;
    const struct series_ask *window;
    const struct loss_list *lost;
    struct arena *arena;
    size_t n_rows;
};

/* Row k of every node; the rows of a node are adjacent. */
static int summary_read_row(const struct summary_reader *rd, size_t k, struct summary_line *lines,
                            size_t n_nodes, struct err *e)
{
    struct series_ask ask = *rd->window;
    struct series_stats *found;
    size_t n_found;
    ask.metric = rows[k].metric;
    ask.entity = rows[k].entity;
    TRY(series_stats_pooled(rd->run, &ask, rd->arena, &found, &n_found, e));
    for (size_t i = 0; i < n_nodes; i++) {
        struct summary_line *line = &lines[i * rd->n_rows + k];
        line->row = &rows[k];
        summary_fill_line(line, summary_of_node(found, n_found, line->node), rd->lost);
    }
    return 0;
}

static size_t summary_start_lines(const struct run_info *info, const char *only, struct arena *a,
                                  struct summary_line **out)
{
    const size_t n_rows = summary_rows_of(info);
    struct node_view *nodes;
    const size_t all = runview_nodes(info, a, &nodes);
    size_t n = 0;
    *out = arena_array(a, struct summary_line, all * n_rows + 1);
    for (size_t i = 0; i < all; i++) {
        if (only && strcmp(only, nodes[i].last->id) != 0)
            continue;
        for (size_t k = 0; k < n_rows; k++)
            (*out)[n * n_rows + k].node = nodes[i].last->id;
        n++;
    }
    return n;
}

int summary_read(struct run *r, const struct series_ask *window, const struct loss_list *lost,
                 struct arena *a, struct summary_line **out, size_t *n, struct err *e)
{
    const struct summary_reader rd = {r, window, lost, a, summary_rows_of(run_get_info(r))};
    const size_t n_nodes = summary_start_lines(run_get_info(r), window->node, a, out);
    for (size_t k = 0; k < rd.n_rows; k++)
        TRY(summary_read_row(&rd, k, *out, n_nodes, e));
    *n = n_nodes * rd.n_rows;
    return 0;
}

/* ---- statistics ---- */

void statview_of(struct statview *out, const struct summary_line *s, size_t n, struct arena *a)
{
    *out = (struct statview){.v = arena_array(a, struct stat_line, n + 1), .n = n, .window = "job"};
    for (size_t i = 0; i < n; i++)
        out->v[i] = (struct stat_line){s[i].node, s[i].row->name, s[i].row->title, NULL,
                                       s[i].unit, &s[i].stats,    s[i].why,        s[i].what};
}

static int statview_read_summary(struct run *r, const struct series_ask *ask, struct arena *a,
                                 struct statview *out, struct err *e)
{
    struct loss_list lost;
    struct summary_line *s;
    size_t n;
    TRY(loss_list_read(&lost, r, a, e));
    TRY(summary_read(r, ask, &lost, a, &s, &n, e));
    statview_of(out, s, n, a);
    return 0;
}

static int statview_read_all(struct run *r, const struct series_ask *ask, struct arena *a,
                             struct statview *out, struct err *e)
{
    struct series_stats *s;
    TRY(series_stats_read(r, ask, a, &s, &out->n, e));
    out->v = arena_array(a, struct stat_line, out->n + 1);
    for (size_t i = 0; i < out->n; i++) {
        const struct series_key *k = &s[i].key;
        out->v[i] = (struct stat_line){k->node,
                                       k->metric,
                                       k->metric,
                                       k->entity,
                                       k->unit,
                                       &s[i],
                                       s[i].count ? NULL : "no readings in this window",
                                       k->metric};
    }
    return 0;
}

static int statview_check_node(const struct run_info *info, const char *node, struct err *e)
{
    for (size_t i = 0; i < info->n_nodes; i++)
        if (!node || strcmp(info->nodes[i].id, node) == 0)
            return 0;
    return node ? err_set(e, ERR_NOT_FOUND, "run '%s' has no node '%s'", info->name, node) : 0;
}

#define ROWS_FILE "tables/stat_rows.def"
#include "base/row_expand.h"
#include "query/run.h"

int statview_read(struct statview *out, struct run *r, const struct series_ask *ask, bool all,
                  struct arena *a, struct err *e)
{
    *out = (struct statview){.all = all};
    TRY(statview_check_node(run_get_info(r), ask->node, e));
    TRY((all ? statview_read_all : statview_read_summary)(r, ask, a, out, e));
    out->window = ask->from.ns || ask->to.ns ? "given" : "job";
    return 0;
}

void statview_lines_json(struct jw *j, const struct statview *v)
{
    for (size_t i = 0; i < v->n; i++)
        row_json(j, NULL, &row_Stat, &(struct stat_row){&v->v[i], v->window}, NULL);
}

void statview_json(struct jw *j, const struct statview *v)
{
    jw_array(j, NULL);
    statview_lines_json(j, v);
    jw_end(j);
}

/* ---- series ---- */

/* Keys of the JSON may be added, never renamed. */

enum { FULL_BYTES = 65536 };

static void seriesview_numbers_json(struct jw *j, const char *key, const double *v, size_t n,
                                    void (*full)(struct buf *b))
{
    jw_array(j, key);
    for (size_t i = 0; i < n; i++) {
        jw_num(j, NULL, v[i]);
        if (full && j->out->len > FULL_BYTES)
            full(j->out);
    }
    jw_end(j);
}

void series_json(struct jw *j, const struct series *s, void (*full)(struct buf *b))
{
    jw_object(j, NULL);
    jw_str(j, "node", s->key.node);
    jw_str(j, "metric", s->key.metric);
    jw_str(j, "entity", s->key.entity);
    jw_str(j, "unit", s->key.unit);
    jw_array(j, "t_ns");
    for (size_t i = 0; i < s->n; i++)
        jw_int(j, NULL, s->t[i].ns);
    jw_end(j);
    seriesview_numbers_json(j, "v", s->v, s->n, full);
    seriesview_numbers_json(j, "min", s->min, s->n, full);
    seriesview_numbers_json(j, "max", s->max, s->n, full);
    jw_end(j);
}

/* ---- matching ---- */

#define METRIC(id, name, ...) name,
const char *const metric_names[] = {
#include "record/metrics.def"
    NULL,
};
#undef METRIC

/* Known, but this run has none: gives the reason, as the summary does. */
static int query_no_values(struct run *r, const struct series_ask *ask, struct arena *a,
                           struct err *e)
{
    const struct run_info *info = run_get_info(r);
    struct loss_list lost;
    const char *what;
    TRY(loss_list_read(&lost, r, a, e));
    const char *node = ask->node ? ask->node : info->n_nodes ? info->nodes[0].id : "";
    return err_set(e, ERR_NOT_FOUND, "%s was not measured: %s", ask->metric,
                   loss_list_why(&lost, node, ask->metric, &what));
}

static int query_no_metric(struct run *r, const struct series_ask *ask, const struct keys *all,
                           struct arena *a, struct err *e)
{
    struct nearest n = nearest_to(ask->metric);
    for (enum metric_id m = 0; m < METRIC_N; m++) {
        if (series_metric_matches(ask->metric, metrics[m].name))
            return query_no_values(r, ask, a, e);
        nearest_offer(&n, metrics[m].name);
    }
    for (size_t i = 0; i < all->n; i++)
        nearest_offer(&n, all->v[i].metric);
    if (n.best)
        return err_set(
            e, ERR_NOT_FOUND,
            "unknown metric '%.100s' (did you mean '%s'?); 'footplate metrics' lists all metrics",
            ask->metric, n.best);
    return err_set(e, ERR_NOT_FOUND,
                   "unknown metric '%.100s'; 'footplate metrics' lists all metrics", ask->metric);
}

/* The message lists the values that the run has: "cpu0, cpu1, ...". */
static int query_no_part(const char *kind, const char *name, const struct series_ask *ask,
                         const struct keys *all, struct err *e)
{
    enum { MOST = 8 };
    const bool node = strcmp(kind, "node") == 0;
    const char *seen[MOST];
    size_t n = 0;
    struct buf list = {0};
    for (size_t i = 0; i < all->n && n < MOST; i++) {
        const char *has = node ? all->v[i].node : all->v[i].entity;
        const size_t k = FIND_FIRST(at, n, strcmp(seen[at], has) == 0);
        if (k < n || !series_metric_matches(ask->metric, all->v[i].metric))
            continue;
        seen[n++] = has;
        buf_printf(&list, "%s%s", n > 1 ? ", " : "", has);
    }
    err_set(e, ERR_NOT_FOUND, "%s has no %s '%.100s'; available: %.*s%s", ask->metric, kind, name,
            (int)list.len, (const char *)list.p, n == MOST ? ", ..." : "");
    buf_free(&list);
    return e->code;
}

static size_t query_count(const struct series_ask *ask, const struct keys *all)
{
    return SUM_OF(i, all->n, series_matches(ask, &all->v[i]));
}

int series_ask_check(struct run *r, const struct series_ask *ask, const struct keys *all,
                     struct err *e)
{
    struct series_ask wider = *ask;
    if (query_count(&wider, all) > 0)
        return 0;
    wider.entity = NULL;
    if (query_count(&wider, all) > 0)
        return query_no_part("entity", ask->entity, ask, all, e);
    wider.node = NULL;
    if (ask->node && query_count(&wider, all) > 0)
        return query_no_part("node", ask->node, ask, all, e);
    struct arena a = {0};
    const int rc = query_no_metric(r, ask, all, &a, e);
    arena_free(&a);
    return rc;
}
