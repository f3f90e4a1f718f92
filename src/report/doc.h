/* SPDX-License-Identifier: Apache-2.0 */
/* doc.h - a document that comes out as HTML, as text or as Markdown. What is said is written once;
 * the forms differ in how it looks, and in that only HTML has charts: elsewhere those with few
 * numbers are told as lines, the others left out.
 *
 * Used as page.h is, whose words and rules these are. */
#ifndef REPORT_DOC_H
#define REPORT_DOC_H

#include "base/arena.h"
#include "base/table.h"
#include "report/figure.h"
#include "report/page.h"

struct doc_form;

struct doc {
    const struct doc_form *form;
    struct buf *out;
    struct arena *arena;
    struct page page;   /* HTML */
    struct table table; /* text and Markdown: the one that is open */
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

void doc_list(struct doc *d);
void doc_item(struct doc *d, const char *fmt, ...) PRINTF_LIKE(2, 3);
void doc_list_end(struct doc *d);

void doc_facts(struct doc *d);
void doc_fact(struct doc *d, const char *name, double v, const char *text); /* v: NAN for none */
void doc_facts_end(struct doc *d);
void doc_tiles(struct doc *d);
void doc_tile(struct doc *d, const char *name, const char *text, const char *below);
void doc_tiles_end(struct doc *d);

void doc_table(struct doc *d, const char *caption, const struct page_column *columns);
void doc_cell(struct doc *d, const char *text);
void doc_number(struct doc *d, double v, const char *text);
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
