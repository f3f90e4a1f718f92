/* SPDX-License-Identifier: Apache-2.0 */
/* doc_internal.h - a form of documents as a record of functions. For the doc files alone. */
#ifndef REPORT_DOC_INTERNAL_H
#define REPORT_DOC_INTERNAL_H

#include "report/doc.h"

/* Texts come formatted. NULL: the form has no such thing, and says nothing. */
struct doc_form {
    void (*open)(struct doc *d, const struct page_head *head);
    void (*close)(struct doc *d, const char *foot);
    void (*contents)(struct doc *d, const struct page_link *links);
    void (*section)(struct doc *d, const char *id, const char *title);
    void (*section_end)(struct doc *d);
    void (*part)(struct doc *d, const char *id, const char *title);
    void (*text)(struct doc *d, const char *text);
    void (*note)(struct doc *d, enum tone tone, const char *text);
    void (*list)(struct doc *d);
    void (*item)(struct doc *d, const char *text);
    void (*list_end)(struct doc *d);
    void (*facts)(struct doc *d);
    void (*fact)(struct doc *d, const char *name, double v, const char *text);
    void (*facts_end)(struct doc *d);
    void (*tiles)(struct doc *d);
    void (*tile)(struct doc *d, const char *name, const char *text, const char *below);
    void (*tiles_end)(struct doc *d);
    void (*table)(struct doc *d, const char *caption, const struct page_column *columns);
    void (*cell)(struct doc *d, double v, const char *text);
    void (*bar)(struct doc *d, double share, double v, const char *text);
    void (*badge)(struct doc *d, enum tone tone, const char *text);
    void (*link)(struct doc *d, const char *id, const char *text);
    void (*rest)(struct doc *d, const char *text);
    void (*table_end)(struct doc *d);
    void (*columns)(struct doc *d);
    void (*columns_end)(struct doc *d);
    void (*figure)(struct doc *d, const struct figure *f);
};

extern const struct doc_form doc_html, doc_plain, doc_markdown;

#endif
