/* SPDX-License-Identifier: Apache-2.0 */
/* seriesview.c - see seriesview.h. Keys of the JSON may be added, never renamed. */
#include "tables/seriesview.h"

#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "query/series.h"
#include "tables/runview.h"

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

static bool metric_matches(const char *asked, const char *metric)
{
    const size_t n = strlen(asked);
    if (n > 0 && asked[n - 1] == '.')
        return strncmp(asked, metric, n) == 0;
    return strcmp(asked, metric) == 0;
}

/* Known, but this run has none: say why, as the summary does. */
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
        if (metric_matches(ask->metric, metrics[m].name))
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
static int query_no_part(const char *kind, const char *asked, const struct series_ask *ask,
                         const struct keys *all, struct err *e)
{
    enum { MOST = 8 };
    const bool node = strcmp(kind, "node") == 0;
    const char *seen[MOST];
    size_t n = 0;
    struct buf list = {0};
    for (size_t i = 0; i < all->n && n < MOST; i++) {
        const char *has = node ? all->v[i].node : all->v[i].entity;
        size_t k = 0;
        while (k < n && strcmp(seen[k], has) != 0)
            k++;
        if (k < n || !metric_matches(ask->metric, all->v[i].metric))
            continue;
        seen[n++] = has;
        buf_printf(&list, "%s%s", n > 1 ? ", " : "", has);
    }
    err_set(e, ERR_NOT_FOUND, "%s has no %s '%.100s'; available: %.*s%s", ask->metric, kind, asked,
            (int)list.len, (const char *)list.p, n == MOST ? ", ..." : "");
    buf_free(&list);
    return e->code;
}

static size_t query_count(const struct series_ask *ask, const struct keys *all)
{
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++)
        n += series_matches(ask, &all->v[i]);
    return n;
}

int query_check(struct run *r, const struct series_ask *ask, const struct keys *all, struct err *e)
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
