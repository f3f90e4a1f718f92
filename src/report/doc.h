/* SPDX-License-Identifier: Apache-2.0 */
/* doc.h - a document that is written as HTML, as text or as Markdown from the same calls. Only HTML
 * has charts: elsewhere charts with few numbers become tables, and the others are left out.
 *
 * The calls, and their legal order, are those of page.h. */
#ifndef REPORT_DOC_H
#define REPORT_DOC_H

#include "base/arena.h"
#include "base/table.h"
#include "report/page.h"
#include "report/svg.h"
#include "rules/verdict.h"

/* ---- figures: charts as data. HTML draws them as SVG, text and Markdown print them as tables ----
 */

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
    bool in_table;       /* a table next to it has its numbers: only HTML shows it */
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

/* A plot of a verdict; false: it is a table, or there is nothing in it. */
bool figure_of_plot(const struct plot *p, struct arena *a, struct figure *out);

/* ---- documents ---- */

struct doc_form;

struct doc {
    const struct doc_form *form; /* NULL: HTML */
    struct buf *out;
    struct arena *arena;
    struct page page;   /* HTML */
    struct table table; /* text and Markdown: the open one */
    struct table_column *columns;
    const char *caption;
};

enum doc_kind { DOC_HTML, DOC_TEXT, DOC_MARKDOWN };

void doc_open(struct doc *d, enum doc_kind kind, struct buf *out, struct arena *a,
              const struct page_head *head);
void doc_close(struct doc *d, const char *foot);
void doc_contents(struct doc *d, const struct page_link *links); /* HTML alone */

void doc_section(struct doc *d, const char *id, const char *title);
void doc_section_end(struct doc *d);
void doc_part(struct doc *d, const char *id, const char *title);
void doc_text(struct doc *d, const char *fmt, ...) PRINTF_LIKE(2, 3);
void doc_note(struct doc *d, enum tone tone, const char *fmt, ...) PRINTF_LIKE(3, 4);

void doc_facts(struct doc *d);
void doc_fact(struct doc *d, const char *name, double v, const char *text); /* v: NAN for none */
void doc_facts_end(struct doc *d);
void doc_tiles(struct doc *d);
void doc_tile(struct doc *d, const char *name, const char *text, const char *below);
void doc_tiles_end(struct doc *d);

void doc_table(struct doc *d, const char *caption, const struct page_column *columns);
void doc_cell(struct doc *d, const char *text);
void doc_number(struct doc *d, double v, const char *text);
/* The same with the text of human_value and human_count. */
void doc_value(struct doc *d, double v, const char *unit);
void doc_count(struct doc *d, uint64_t n);
void doc_bar(struct doc *d, double share, double v, const char *text);
void doc_badge(struct doc *d, enum tone tone, const char *text);
void doc_link(struct doc *d, const char *id, const char *text);
void doc_rest(struct doc *d, const char *text);
void doc_table_end(struct doc *d);

/* Side by side where there is room; HTML alone. */
void doc_columns(struct doc *d);
void doc_columns_end(struct doc *d);
void doc_figure(struct doc *d, const struct figure *f);

#endif
