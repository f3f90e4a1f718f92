/* SPDX-License-Identifier: Apache-2.0 */
/* statview.c - see statview.h. */
#include "tables/statview.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/mem.h"

static const struct {
    const char *name;
    size_t offset;
} numbers[] = {
    {"min", offsetof(struct series_stats, min)}, {"p50", offsetof(struct series_stats, p50)},
    {"p90", offsetof(struct series_stats, p90)}, {"p95", offsetof(struct series_stats, p95)},
    {"p99", offsetof(struct series_stats, p99)}, {"max", offsetof(struct series_stats, max)},
};

static_assert(COUNT_OF(numbers) == STAT_NUMBERS, "as the header says");

const char *stat_number_name(size_t i)
{
    return numbers[i].name;
}

double stat_number(const struct series_stats *s, size_t i)
{
    double v;
    memcpy(&v, (const char *)s + numbers[i].offset, sizeof v);
    return v;
}

void statview_of(struct statview *out, const struct summary_line *s, size_t n, struct arena *a)
{
    *out = (struct statview){.v = arena_array(a, struct stat_line, n + 1), .n = n, .window = "job"};
    for (size_t i = 0; i < n; i++)
        out->v[i] = (struct stat_line){s[i].node, s[i].row->name, s[i].row->title, NULL,
                                       s[i].unit, &s[i].stats,    s[i].why,        s[i].what};
}

static int read_summary(struct run *r, const struct series_ask *ask, struct arena *a,
                        struct statview *out, struct err *e)
{
    struct loss_list lost;
    struct summary_line *s;
    size_t n;
    int rc = loss_list_read(&lost, r, a, e);
    if (rc == 0)
        rc = summary_read(r, ask, &lost, a, &s, &n, e);
    if (rc == 0)
        statview_of(out, s, n, a);
    return rc;
}

static int statview_read_all(struct run *r, const struct series_ask *ask, struct arena *a,
                             struct statview *out, struct err *e)
{
    struct series_stats *s;
    const int rc = series_stats_read(r, ask, a, &s, &out->n, e);
    if (rc != 0)
        return rc;
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

static int check_node(const struct run_info *info, const char *node, struct err *e)
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
    int rc = check_node(run_get_info(r), ask->node, e);
    *out = (struct statview){.all = all};
    if (rc == 0)
        rc = all ? statview_read_all(r, ask, a, out, e) : read_summary(r, ask, a, out, e);
    out->window = ask->from.ns || ask->to.ns ? "given" : "job";
    return rc;
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
