/* SPDX-License-Identifier: Apache-2.0 */
/* page.h - a self-contained HTML page: its style sheet and its script are in it, and its content
 * security policy allows nothing else, by their hashes.
 *
 * page_open, sections with what is in them, page_close. Everything that is opened is closed by its
 * own function, innermost first. All texts are escaped here; only svg.h writes markup by itself.
 * Ids are made here and are unique.
 *
 *     struct page p;
 *     page_open(&p, &buf, &(struct page_head){.title = "...", .lead = "..."});
 *     page_section(&p, "rules", "Rules summary");
 *     page_text(&p, "17 rules were evaluated.");
 *     page_table(&p, "Rules", columns);
 *     page_cell(&p, "LowGPUUtilization");
 *     page_number(&p, 12.5, "12.5 s");          a full row begins the next by itself
 *     page_table_end(&p);
 *     page_figure(&p, "Time spent in phases");
 *     svg_pie(p.out, ...);
 *     page_figure_end(&p, NULL);
 *     page_section_end(&p);
 *     page_close(&p, "made by ...");
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

/* What a text says beside its words; each tone has a sign of its own, so colour is not needed. */
enum tone { TONE_NONE, TONE_GOOD, TONE_INFO, TONE_WARNING, TONE_BAD, TONE_N };

struct page_column {
    const char *title; /* NULL ends the list */
    bool right;        /* numbers are aligned right */
    bool wide;         /* prose: takes the room that is left */
};

struct page {
    struct buf *out;
    const struct page_column *columns; /* of the table that is open */
    size_t n_columns, column;
    bool first_is_head; /* the first cell of a row names it */
    unsigned ids;       /* given out so far */
};

struct page_head {
    const char *title;   /* of the window and the heading */
    const char *product; /* above the heading; NULL: "Footplate" */
    const char *lead;    /* a line below it; NULL: none */
};

void page_open(struct page *p, struct buf *out, const struct page_head *head);
/* `foot`: a line at the end; NULL: none. */
void page_close(struct page *p, const char *foot);

/* Links to the sections, as "id" and title; the list ends with a NULL id. */
struct page_link {
    const char *id, *title;
};
void page_contents(struct page *p, const struct page_link *links);

/* id: a word of letters, digits and '-', once in a page. */
void page_section(struct page *p, const char *id, const char *title);
void page_section_end(struct page *p);
/* A heading below that of the section. id may be NULL. */
void page_part(struct page *p, const char *id, const char *title);

void page_text(struct page *p, const char *text);
/* A sentence in a box, with the sign of its tone. */
void page_note(struct page *p, enum tone tone, const char *text);

/* A name with its value, and the number of the text, as JSON has it; NAN: none. */
void page_fact_number(struct page *p, const char *name, double v, const char *text);

/* A large number. */
void page_tile(struct page *p, const char *name, const char *text, const char *below);

/* The first cell of each row is its heading. Where the script runs, a click on a column's title
 * sorts by it. */
void page_table(struct page *p, const char *caption, const struct page_column *columns);
void page_cell(struct page *p, const char *text);
/* `v` is what the text was made of: what it is sorted by. NAN: not known. */
void page_number(struct page *p, double v, const char *text);
/* A bar of `share` (0..1) before the text. */
void page_bar(struct page *p, double share, double v, const char *text);
void page_badge(struct page *p, enum tone tone, const char *text);
/* A cell with a link to a section of this page. */
void page_link_cell(struct page *p, const char *id, const char *text);
/* One text over all columns that are left in this row. */
void page_rest(struct page *p, const char *text);
void page_table_end(struct page *p);

/* Around a chart of svg.h. */
void page_figure(struct page *p, const char *title);
void page_figure_end(struct page *p, const char *caption); /* NULL: none */

/* A text for between tags and within quotes: escaped, control characters and broken UTF-8 as
 * U+FFFD, and no more than `most` bytes of it (0: all) with an ellipsis. */
void html_text(struct buf *b, const char *s, size_t most);

#endif
