/* SPDX-License-Identifier: Apache-2.0 */
/* doc_internal.h - the forms of documents other than HTML, for doc.c and doc_text.c alone. */
#ifndef REPORT_DOC_INTERNAL_H
#define REPORT_DOC_INTERNAL_H

#include "report/doc.h"

struct doc_form {
    void (*open)(struct doc *d, const struct page_head *head);
    void (*close)(struct doc *d, const char *foot);
    void (*section)(struct doc *d, const char *title);
    void (*part)(struct doc *d, const char *title);
    void (*text)(struct doc *d, const char *text);
    void (*note)(struct doc *d, enum tone tone, const char *text);
    void (*fact)(struct doc *d, const char *name, const char *text);
    void (*table_end)(struct doc *d); /* writes d->table */
};

extern const struct doc_form doc_plain, doc_markdown;

#endif
