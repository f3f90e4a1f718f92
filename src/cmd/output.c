/* SPDX-License-Identifier: Apache-2.0 */
/* output.c - see output.h. A write that fails is noticed once, by main at the end. */
#include "cmd/output.h"

#include <math.h>
#include <stdio.h>

#include "base/human.h"
#include "query/eventsum.h"
#include "record/record.h"
#include "tables/runview.h"

enum { OUTPUT_CHUNK = 1 << 16 };

void output_buf(struct buf *b)
{
    fwrite(b->p, 1, b->len, stdout);
    b->len = 0;
}

void output_json(const struct row_table *t, const void *rows, size_t n)
{
    struct buf b = {0};
    struct jw j = {.out = &b, .indent = 2};
    rows_json(&j, NULL, t, rows, n, NULL);
    output_buf(&b);
    buf_free(&b);
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
    char text[HUMAN_LEN];
    table_cell(t, "%s", human_value(v, unit, text, sizeof text));
}

/* ---- rows ---- */

const char *const metric_per_names[] = {
    [PER_NODE] = "node",
    [PER_CORE] = "core",
    [PER_DISK] = "disk",
    [PER_NIC] = "interface",
    [PER_PROCESS] = "process",
    [PER_JOB] = "job",
    [PER_CGROUP] = "control group",
    [PER_GPU] = "GPU",
    [PER_SELF] = "Footplate",
};

const char *const metric_kind_names[] = {[KIND_GAUGE] = "gauge", [KIND_RATE] = "rate"};

#define ROWS_FILE "cmd/cmd_rows.def"
#include "base/row_expand.h"
