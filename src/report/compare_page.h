/* SPDX-License-Identifier: Apache-2.0 */
/* compare_page.h - a comparison as a document: a self-contained page, text, or Markdown. */
#ifndef REPORT_COMPARE_PAGE_H
#define REPORT_COMPARE_PAGE_H

#include "compare/compare.h"
#include "report/doc.h"

/* The first line of text and Markdown is the verdict. */
void compare_document(const struct compared *c, enum doc_kind kind, struct arena *a,
                      struct buf *out);

#endif
