/* SPDX-License-Identifier: Apache-2.0 */
/* sagemaker_system.c - samples as SageMaker's agent writes them: JSON lines, one file per node and
 * minute, in order of time. sm_metrics.def says which metrics it knows; the rest have no place. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/mem.h"
#include "export/sagemaker.h"
#include "query/samples.h"
#include "record/group.h"

enum entity_is { NAME, DIMENSION, TOTAL };

struct sagemaker_system_reading {
    const char *type, *name, *dimension;
    enum metric_id metric;
    enum entity_is entity;
};

#define SM(type, name, dimension, ours, step, entity, ...)                                         \
    {type, name, dimension, M_##ours, entity},
static const struct sagemaker_system_reading readings[] = {
#include "record/sm_metrics.def"
};
#undef SM

/* Metrics of ours that are one of theirs only when summed up. */
static const struct {
    enum metric_id part, whole;
} sums[] = {{M_DISK_READ_OPS, M_DISK_OPS}, {M_DISK_WRITE_OPS, M_DISK_OPS}};

/* What one column becomes; type NULL: nothing. */
struct target {
    const char *type, *name, *dimension;
    size_t with; /* the first column that is summed up with it; itself when it is that one */
    double step;
};

struct sagemaker_system_line {
    int64_t at;
    size_t begin, end; /* in the buffer */
};

struct minute {
    unsigned algo;
    struct arena arena;
    struct target *targets;
    double *sums;
    bool *has;
    size_t n_targets;
    struct buf text;
    struct sagemaker_system_line *lines;
    size_t n, cap;
};

/* ---- columns ---- */

static enum metric_id sagemaker_system_metric_of(const char *name)
{
    const enum metric_id m = metric_find(name);
    for (size_t i = 0; i < COUNT_OF(sums); i++)
        if (sums[i].part == m)
            return sums[i].whole;
    return m;
}

static bool is_scope(const char *entity)
{
    return strcmp(entity, "Algorithm") == 0 || strcmp(entity, "Platform") == 0;
}

static bool is_total(const char *entity)
{
    return strcmp(entity, ENTITY_TOTAL) == 0;
}

/* What the container's network did is the best word for what the node's did. */
static struct target target_of(const struct sagemaker_system_reading *r, const char *entity)
{
    switch (r->entity) {
    case NAME:
        return is_total(entity) ? (struct target){0}
                                : (struct target){r->type, entity, r->dimension};
    case DIMENSION:
        if (is_scope(entity))
            return (struct target){r->type, r->name, entity};
        return is_total(entity) ? (struct target){r->type, r->name, "Algorithm"}
                                : (struct target){0};
    default:
        return is_total(entity) ? (struct target){r->type, r->name, ""} : (struct target){0};
    }
}

static struct target find_target(struct arena *a, const struct row_column *c)
{
    const enum metric_id m = sagemaker_system_metric_of(c->metric);
    for (size_t i = 0; m < METRIC_N && i < COUNT_OF(readings); i++)
        if (readings[i].metric == m)
            return target_of(&readings[i], arena_strdup(a, c->entity));
    return (struct target){0};
}

static bool same_target(const struct target *a, const struct target *b)
{
    return a->type && b->type && strcmp(a->name, b->name) == 0 &&
           strcmp(a->dimension, b->dimension) == 0;
}

static int sagemaker_system_begin_group(void *to, const struct row_group *g, struct err *e)
{
    struct minute *m = to;
    (void)e;
    m->n_targets = g->n;
    m->targets = arena_array(&m->arena, struct target, g->n);
    m->sums = arena_array(&m->arena, double, g->n);
    m->has = arena_array(&m->arena, bool, g->n);
    for (size_t i = 0; i < g->n; i++) {
        struct target *t = &m->targets[i];
        *t = find_target(&m->arena, &g->columns[i]);
        t->step = g->columns[i].step;
        for (t->with = 0; t->with < i && !same_target(&m->targets[t->with], t);)
            t->with++;
    }
    return 0;
}

/* ---- lines ---- */

static void sagemaker_system_put_line(struct minute *m, const struct target *t, wall_ns at,
                                      double value)
{
    const size_t begin = m->text.len;
    struct jw j = {.out = &m->text};
    jw_object(&j, NULL);
    jw_str(&j, "Type", t->type);
    jw_str(&j, "Name", t->name);
    jw_str(&j, "Dimension", t->dimension);
    jw_num(&j, "Value", value);
    buf_printf(&m->text, ",\"NodeId\":\"algo-%u\",\"Timestamp\":%lld.%06lld", m->algo,
               (long long)(at.ns / NS_PER_S), (long long)(at.ns % NS_PER_S / NS_PER_US));
    jw_end(&j);
    buf_u8(&m->text, '\n');
    if (m->n == m->cap) {
        m->cap = m->cap ? m->cap * 2 : 1024;
        m->lines = xrealloc(m->lines, m->cap, sizeof *m->lines);
    }
    m->lines[m->n++] = (struct sagemaker_system_line){at.ns, begin, m->text.len};
}

static int sagemaker_system_put_row(void *to, wall_ns t, const int64_t *cells, struct err *e)
{
    struct minute *m = to;
    (void)e;
    for (size_t i = 0; i < m->n_targets; i++) {
        const struct target *x = &m->targets[i];
        m->sums[i] = 0;
        m->has[i] = false;
        if (!x->type || cells[i] == CELL_MISSING)
            continue;
        m->sums[x->with] += row_value(x->step, cells[i]);
        m->has[x->with] = true;
    }
    for (size_t i = 0; i < m->n_targets; i++)
        if (m->has[i])
            sagemaker_system_put_line(m, &m->targets[i], t, m->sums[i]);
    return 0;
}

static int sagemaker_system_by_time(const void *a, const void *b)
{
    const struct sagemaker_system_line *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static int write_minute(const struct export_job *job, struct minute *m, int64_t at, struct err *e)
{
    char path[128], hour[16];
    struct buf out = {0};
    if (m->n == 0)
        return 0;
    qsort(m->lines, m->n, sizeof *m->lines, sagemaker_system_by_time);
    for (size_t i = 0; i < m->n; i++)
        buf_put(&out, m->text.p + m->lines[i].begin, m->lines[i].end - m->lines[i].begin);
    sagemaker_hour(hour, at);
    snprintf(path, sizeof path, "system/incremental/%s/%lld.algo-%u.json", hour,
             (long long)(at / NS_PER_S), m->algo);
    const int rc = sagemaker_file(job, path, &out, e);
    buf_free(&out);
    return rc;
}

static int put_minute(const struct export_job *job, const char *node, int64_t at, struct err *e)
{
    static const struct row_sink sink = {sagemaker_system_begin_group, sagemaker_system_put_row};
    struct minute m = {.algo = sagemaker_algo(run_get_info(job->run), node)};
    struct series_ask ask = job->ask;
    ask.node = node;
    ask.from.ns = MAX_OF(at, job->ask.from.ns);
    ask.to.ns = job->ask.to.ns ? MIN_OF(at + MINUTE_NS, job->ask.to.ns) : at + MINUTE_NS;
    int rc = rows_read(job->run, &ask, &sink, &m, e);
    if (rc == 0)
        rc = write_minute(job, &m, at, e);
    buf_free(&m.text);
    free(m.lines);
    arena_free(&m.arena);
    return rc;
}

int sagemaker_system(const struct export_job *job, struct err *e)
{
    const struct run_info *info = run_get_info(job->run);
    const int64_t from = MAX_OF(info->start.ns, job->ask.from.ns);
    const int64_t to = job->ask.to.ns ? MIN_OF(info->end.ns, job->ask.to.ns) : info->end.ns;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < info->n_nodes; i++) {
        const char *node = info->nodes[i].id;
        if ((i > 0 && strcmp(info->nodes[i - 1].id, node) == 0) ||
            (job->ask.node && strcmp(job->ask.node, node) != 0))
            continue;
        for (int64_t at = from / MINUTE_NS * MINUTE_NS; rc == 0 && at <= to; at += MINUTE_NS) {
            export_progress(job, (size_t)((at - from) / MINUTE_NS),
                            (size_t)((to - from) / MINUTE_NS));
            rc = put_minute(job, node, at, e);
        }
    }
    return rc;
}
