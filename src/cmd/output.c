/* SPDX-License-Identifier: Apache-2.0 */
/* output.c - see output.h. A write that fails is noticed once, by main at the end. */
#include "cmd/output.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/human.h"
#include "base/progress.h"
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

#define ROWS_FILE "cmd/cmd_rows.def"
#include "base/row_expand.h"
