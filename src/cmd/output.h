/* SPDX-License-Identifier: Apache-2.0 */
/* output.h - how results reach stdout, and the rows that only a command prints (cmd_rows.def). */
#ifndef CMD_OUTPUT_H
#define CMD_OUTPUT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/row_table.h"
#include "base/table.h"
#include "query/series.h"
#include "rules/rule.h"
#include "run/run_info.h"

/* Writes the buffer to stdout and empties it. */
void output_buf(struct buf *b);

/* JSON, indented: what is written between the two. */
struct output_json {
    struct buf b;
    struct jw j;
};

struct jw *output_begin(struct output_json *o);
void output_end(struct output_json *o);
/* One row as a JSON object. */
void output_row(const struct row_table *t, const void *x, struct arena *a);
/* n rows as a JSON array. */
void output_json(const struct row_table *t, const void *rows, size_t n);
/* n rows as CSV, with a line of names; `first` as in row_columns_of. */
void output_csv(const struct row_table *t, const char *first, const void *rows, size_t n,
                struct arena *a);

/* Cells with a number for people: as human_value and human_count write it; a number that may be
 * unknown (negative); a share of 1, as percents. What is not known is "-". */
void cell_value(struct table *t, double v, const char *unit);
void cell_values(struct table *t, const char *unit, const double *v, size_t n);
void cell_texts(struct table *t, const char *const *v, size_t n);
/* A cell for each number, all of one unit; a cell for each text. */
#define CELL_VALUES(t, unit, ...)                                                                  \
    cell_values(t, unit, (const double[]){__VA_ARGS__}, COUNT_OF(((const double[]){__VA_ARGS__})))
#define CELL_TEXTS(t, ...)                                                                         \
    cell_texts(t, (const char *const[]){__VA_ARGS__},                                              \
               COUNT_OF(((const char *const[]){__VA_ARGS__})))
void cell_count(struct table *t, uint64_t n);
void cell_int(struct table *t, int64_t v);
void cell_share(struct table *t, double share);
/* To stdout, as wide as the terminal. */
void output_table(const struct table *t);
/* A line between parts, bold where colour is allowed. */
void output_title(const char *title);

/* ---- charts: a series as a line of block characters ----
 *
 * A column is as high as the largest value in its span of time, or the smallest, never the mean: so
 * neither a spike nor a dip is averaged away. A span without a reading stays empty, because missing
 * is not zero. */

struct chart {
    wall_ns from, to; /* the time that the columns cover */
    size_t columns;
};

/* The value of a full column: the metric's bound (100 %), else the largest value of all its series,
 * so that those can be compared. */
double chart_top(const struct series *s, size_t n, const char *metric);
/* The character for a value. One that was measured is at least the lowest block, so that zero
 * differs from absent (NAN). */
const char *chart_block(double v, double top);

enum chart_of { CHART_MAX, CHART_MIN };

/* Appends `columns` characters. */
void chart_line(const struct chart *c, const struct series *s, enum chart_of of, double top,
                struct buf *out);

/* ---- rows ---- */

/* A run of `ls`. One that cannot be read is listed too, with the reason. */
struct run_line {
    struct run_info info;
    const char *folder; /* its name: names of runs repeat, folders do not */
    const char *broken; /* NULL: it is readable */
};

struct finding_line {
    const struct verdict *v;
    const struct finding *f; /* NULL: the rule has none */
};

/* RunLine: struct run_line; FindingLine: struct finding_line; EventSum: struct event_sum;
 * KnownMetric: struct metric. */
extern const struct row_table row_RunLine, row_FindingLine, row_EventSum, row_KnownMetric;

/* By enum metric_per and enum metric_kind. */
extern const char *const metric_per_names[];
extern const char *const metric_kind_names[];

#endif
