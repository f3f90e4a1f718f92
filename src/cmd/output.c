/* SPDX-License-Identifier: Apache-2.0 */
/* output.c - see output.h. A write that fails is noticed once, by main at the end. */
#include "cmd/output.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/vec.h"
#include "query/eventsum.h"
#include "record/record.h"
#include "tables/runview.h"

enum { OUTPUT_CHUNK = 1 << 16 };

void output_buf(struct buf *b)
{
    fwrite(b->p, 1, b->len, stdout);
    b->len = 0;
}

struct jw *output_begin(struct output_json *o)
{
    *o = (struct output_json){.j = {.out = &o->b, .indent = 2}};
    return &o->j;
}

void output_end(struct output_json *o)
{
    output_buf(&o->b);
    buf_free(&o->b);
}

void output_json(const struct row_table *t, const void *rows, size_t n)
{
    struct output_json o;
    rows_json(output_begin(&o), NULL, t, rows, n, NULL);
    output_end(&o);
}

void output_row(const struct row_table *t, const void *x, struct arena *a)
{
    struct output_json o;
    row_json(output_begin(&o), NULL, t, x, a);
    output_end(&o);
}

void output_csv(const struct row_table *t, const char *first, const void *rows, size_t n,
                struct arena *a)
{
    struct row_columns columns;
    struct buf b = {0};
    row_columns_of(&columns, t, first, a);
    row_csv_head(&columns, &b);
    for (size_t i = 0; i < n; i++) {
        row_csv(&columns, (const char *)rows + i * t->size, &b, a);
        if (b.len > OUTPUT_CHUNK)
            output_buf(&b);
    }
    output_buf(&b);
    buf_free(&b);
}

void cell_value(struct table *t, double v, const char *unit)
{
    table_cell(t, "%s", value_text(t->arena, v, unit));
}

void cell_values(struct table *t, const char *unit, const double *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        cell_value(t, v[i], unit);
}

void cell_texts(struct table *t, const char *const *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        table_cell(t, "%s", v[i]);
}

void cell_count(struct table *t, uint64_t n)
{
    table_cell(t, "%s", count_text(t->arena, n));
}

void cell_int(struct table *t, int64_t v)
{
    table_cell(t, "%s", v < 0 ? "-" : arena_printf(t->arena, "%" PRId64, v));
}

void cell_share(struct table *t, double share)
{
    table_cell(t, "%s", isnan(share) ? "-" : arena_printf(t->arena, "%.1f %%", 100 * share));
}

void output_table(const struct table *t)
{
    table_print(t, stdout, term_width(stdout), term_color(stdout));
}

void output_title(const char *title)
{
    printf(term_color(stdout) ? "\n\033[1m%s\033[0m\n" : "\n%s\n", title);
}

/* ---- rows ---- */

const char *const metric_per_names[] = {
    [PER_NODE] = "node",       [PER_CORE] = "core",
    [PER_DISK] = "disk",       [PER_NIC] = "interface",
    [PER_PROCESS] = "process", [PER_PROGRAM] = "program",
    [PER_JOB] = "job",         [PER_CGROUP] = "control group",
    [PER_GPU] = "GPU",         [PER_SELF] = "Footplate",
};

const char *const metric_kind_names[] = {[KIND_GAUGE] = "gauge", [KIND_RATE] = "rate"};

/* ---- charts ---- */

enum { HEIGHTS = 8 };

static const char *const blocks[HEIGHTS + 1] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

double chart_top(const struct series *s, size_t n, const char *metric)
{
    const enum metric_id m = metric_find(metric);
    if (m < METRIC_N && metrics[m].hi > 0)
        return metrics[m].hi;
    double top = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; strcmp(s[i].key.metric, metric) == 0 && k < s[i].n; k++)
            top = fmax(top, s[i].max[k]);
    return top > 0 ? top : 1;
}

const char *chart_block(double v, double top)
{
    if (isnan(v))
        return blocks[0];
    const double h = ceil(v / top * HEIGHTS);
    if (h <= 1)
        return blocks[1];
    return blocks[(size_t)fmin(h, HEIGHTS)];
}

static size_t column_of(const struct chart *c, wall_ns t)
{
    const double share = (double)(t.ns - c->from.ns) / (double)(c->to.ns - c->from.ns);
    const double column = floor(share * (double)c->columns);
    return (size_t)fmin(fmax(column, 0), (double)(c->columns - 1));
}

/* The usual distance between two points: the median is out of reach of gaps. */
COMPARE_NUMBERS(compare_ns, int64_t)

static int64_t usual_gap_ns(const struct series *s)
{
    if (s->n < 2)
        return 0;
    int64_t *gaps = xcalloc(s->n - 1, sizeof *gaps);
    for (size_t i = 1; i < s->n; i++)
        gaps[i - 1] = s->t[i].ns - s->t[i - 1].ns;
    SORT(gaps, s->n - 1, compare_ns);
    const int64_t median = gaps[(s->n - 1) / 2];
    free(gaps);
    return median;
}

static void chart_take(double *column, double v, enum chart_of of)
{
    if (isnan(*column) || (of == CHART_MAX ? v > *column : v < *column))
        *column = v;
}

/* A point is drawn until the next one is due. */
static int64_t until_ns(const struct series *s, size_t i, int64_t usual_ns)
{
    const int64_t at = s->t[i].ns;
    int64_t until = at + usual_ns - 1;
    if (i + 1 < s->n && s->t[i + 1].ns <= at + 2 * usual_ns)
        until = s->t[i + 1].ns - 1;
    return MAX_OF(until, at);
}

void chart_line(const struct chart *c, const struct series *s, enum chart_of of, double top,
                struct buf *out)
{
    const double *v = of == CHART_MAX ? s->max : s->min;
    const int64_t usual_ns = usual_gap_ns(s);
    double *columns = xcalloc(c->columns, sizeof *columns);
    for (size_t i = 0; i < c->columns; i++)
        columns[i] = NAN;
    for (size_t i = 0; i < s->n; i++) {
        const size_t last = column_of(c, (wall_ns){until_ns(s, i, usual_ns)});
        for (size_t k = column_of(c, s->t[i]); k <= last; k++)
            chart_take(&columns[k], v[i], of);
    }
    for (size_t i = 0; i < c->columns; i++)
        buf_printf(out, "%s", chart_block(columns[i], top));
    free(columns);
}

#define ROWS_FILE "cmd/cmd_rows.def"
#include "base/row_expand.h"
