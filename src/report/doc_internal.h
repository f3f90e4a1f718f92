/* SPDX-License-Identifier: Apache-2.0 */
/* doc_internal.h - the forms of documents, for doc.c alone. See doc_forms.c. */
#ifndef REPORT_DOC_INTERNAL_H
#define REPORT_DOC_INTERNAL_H

#include <stddef.h>

#include "report/doc.h"

/* Names can be as long as a program likes; report.json has all of it. */
enum { HEAD_MOST = 200, CELL_MOST = 600, TEXT_MOST = 4000 };

void doc_html_open(struct doc *d, const struct page_head *head);
void doc_html_end(struct doc *d);

/* Breaks at blanks; all lines but the first begin with `indent` blanks. `at`: where the first
 * begins. */
void doc_plain_wrap(struct doc *d, const char *text, size_t at, size_t indent);
/* A heading with a line below it. */
void doc_plain_heading(struct doc *d, const char *title, char line);
void doc_plain_fact(struct doc *d, const char *name, const char *text);
/* A text on one line in which nothing is markup: not HTML, not Markdown, not the end of a cell. */
void doc_markdown_text(struct doc *d, const char *text);

/* Both write d->table. */
void doc_plain_table(struct doc *d);
void doc_markdown_table(struct doc *d);

/* ---- pages ---- */

/* The style sheet and the script of pages, made a part of the program by the
 * build. For doc_forms.c and the charts of the Python package. */

extern const unsigned char page_css[], page_js[];
extern const size_t page_css_len, page_js_len;
/* SHA-256 of exactly these bytes, in base64. */
extern const char page_css_hash[], page_js_hash[];

#endif
