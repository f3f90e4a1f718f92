/* SPDX-License-Identifier: Apache-2.0 */
/* figure.h - a chart as data: what is drawn as SVG, or told as text where nothing can be drawn. */
#ifndef REPORT_FIGURE_H
#define REPORT_FIGURE_H

#include "base/arena.h"
#include "report/svg.h"
#include "rules/verdict.h"

enum figure_kind {
    FIGURE_PIE,       /* parts */
    FIGURE_BARS,      /* parts */
    FIGURE_BOXES,     /* boxes, lo, hi */
    FIGURE_HISTOGRAM, /* edges, counts */
    FIGURE_LINES,     /* lines */
    FIGURE_STACK,     /* stack */
    FIGURE_PROGRESS,  /* spans, from, to */
    FIGURE_N
};

struct figure {
    enum figure_kind kind;
    struct svg_words words;
    const char *caption; /* NULL: none */
    bool in_table;       /* a table beside it has its numbers: it is drawn, and not told */
    const struct svg_part *parts;
    const struct svg_box *boxes;
    const struct svg_counts *counts;
    const double *edges;
    size_t n_edges;
    const struct svg_span *spans;
    double from, to, lo, hi;
    struct svg_lines lines;
    struct svg_stack stack;
    size_t n; /* of parts, boxes, counts or spans */
};

void figure_svg(struct buf *b, const struct figure *f);
/* A plot of a verdict; false: it is a table, or there is nothing in it. */
bool figure_of_plot(const struct plot *p, struct arena *a, struct figure *out);

#endif
