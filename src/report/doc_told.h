/* SPDX-License-Identifier: Apache-2.0 */
/* doc_told.h - what text and Markdown share: tables are gathered in base/table.h before they are
 * written, charts become tables. */
#ifndef REPORT_DOC_TOLD_H
#define REPORT_DOC_TOLD_H

#include "report/doc.h"

void told_table(struct doc *d, const char *caption, const struct page_column *columns);
void told_cell(struct doc *d, double v, const char *text);
void told_bar(struct doc *d, double share, double v, const char *text);
void told_badge(struct doc *d, enum tone tone, const char *text);
void told_link(struct doc *d, const char *id, const char *text);
void told_rest(struct doc *d, const char *text);
void told_figure(struct doc *d, const struct figure *f);

#endif
