/* SPDX-License-Identifier: Apache-2.0 */
/* doc.h - a document that is written as HTML, as text or as Markdown from the same calls. Only HTML
 * has charts: elsewhere charts with few numbers become tables, and the others are left out.
 *
 * An HTML document is one file: its style sheet and its script are in it, and its content security
 * policy allows nothing else, by their hashes. All texts are escaped here; only svg.h writes its
 * own markup. What is opened is closed by its own function, innermost first.
 *
 *     struct doc d;
 *     doc_open(&d, DOC_HTML, &buf, &arena, &(struct page_head){.title = "...", .lead = "..."});
 *     doc_section(&d, "rules", "Rules summary");
 *     doc_text(&d, "17 rules were evaluated.");
 *     doc_table(&d, "Rules", "Rule|>Time lost");
 *     doc_cell(&d, "LowGPUUtilization");
 *     doc_number(&d, 12.5, "12.5 s");          a full row begins the next one
 *     doc_table_end(&d);
 *     doc_section_end(&d);
 *     doc_close(&d, "made by ...");
 */
#ifndef REPORT_DOC_H
#define REPORT_DOC_H

#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/table.h"
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

enum doc_kind { DOC_HTML, DOC_TEXT, DOC_MARKDOWN };

/* The tone of a text; each tone has a separate sign, so colour is not needed. */
enum tone { TONE_NONE, TONE_GOOD, TONE_INFO, TONE_WARNING, TONE_BAD, TONE_N };

struct doc {
    enum doc_kind kind;
    struct buf *out;
    struct arena *arena;
    struct table table; /* the open one; HTML has its columns alone */
    size_t column;      /* HTML: of the next cell */
    const char *caption;
};

struct page_head {
    const char *title;   /* of the window and the heading */
    const char *product; /* above the heading; NULL: "Footplate" */
    const char *lead;    /* a line below it; NULL: none */
};

/* Links to the sections; the list ends with a NULL id. */
struct page_link {
    const char *id, *title;
};

void doc_open(struct doc *d, enum doc_kind kind, struct buf *out, struct arena *a,
              const struct page_head *head);
/* `foot`: a line at the end; NULL: none. */
void doc_close(struct doc *d, const char *foot);
void doc_contents(struct doc *d, const struct page_link *links); /* HTML alone */
/* id: a word of letters, digits and '-', once in a document. */
void doc_section(struct doc *d, const char *id, const char *title);
void doc_section_end(struct doc *d);
/* A heading below that of the section. id may be NULL. */
void doc_part(struct doc *d, const char *id, const char *title);
void doc_text(struct doc *d, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* A sentence in a box, with the sign of its tone. */
void doc_note(struct doc *d, enum tone tone, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Names with their values. `v` is the number of the text, as JSON has it; NAN: none. */
void doc_facts(struct doc *d);
void doc_fact(struct doc *d, const char *name, double v, const char *text);
/* Large numbers. */
void doc_tiles(struct doc *d);
void doc_tile(struct doc *d, const char *name, const char *text, const char *below);
void doc_facts_end(struct doc *d); /* of tiles too */

/* Columns as table_init has them. The first cell of each row is its heading. Where the script runs,
 * a click on a column's title sorts by it. */
void doc_table(struct doc *d, const char *caption, const char *columns);
/* The same with titles that may be any text. */
void doc_table_of(struct doc *d, const char *caption, struct table_column *columns, size_t n);
void doc_cell(struct doc *d, const char *text);
/* `v` is what the text was made of: what it is sorted by. NAN: not known. */
void doc_number(struct doc *d, double v, const char *text);
/* The same with the text of human_value and human_count. */
void doc_value(struct doc *d, double v, const char *unit);
void doc_values(struct doc *d, const char *unit, const double *v, size_t n);
void doc_cells(struct doc *d, const char *const *v, size_t n);
/* A cell for each number, all of one unit; a cell for each text. */
#define DOC_VALUES(d, unit, ...)                                                                   \
    doc_values(d, unit, (const double[]){__VA_ARGS__}, COUNT_OF(((const double[]){__VA_ARGS__})))
#define DOC_CELLS(d, ...)                                                                          \
    doc_cells(d, (const char *const[]){__VA_ARGS__}, COUNT_OF(((const char *const[]){__VA_ARGS__})))
void doc_count(struct doc *d, uint64_t n);
/* A bar of `share` (0..1) before the text. */
void doc_bar(struct doc *d, double share, const char *text);
void doc_badge(struct doc *d, enum tone tone, const char *text);
/* A cell with a link to a section. */
void doc_link(struct doc *d, const char *id, const char *text);
/* One text over all columns that are left in this row. */
void doc_rest(struct doc *d, const char *text);
void doc_table_end(struct doc *d);

/* Side by side where there is room; HTML alone. */
void doc_columns(struct doc *d);
void doc_columns_end(struct doc *d);
void doc_figure(struct doc *d, const struct figure *f);

/* A text for between tags and within quotes: escaped, control characters and broken UTF-8 as
 * U+FFFD, and no more than `most` bytes of it (0: all) with an ellipsis. */
void html_text(struct buf *b, const char *s, size_t most);

#endif
