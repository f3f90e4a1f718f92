/* SPDX-License-Identifier: Apache-2.0 */
/* page_internal.h - the style sheet and the script of pages, made a part of the program by the
 * build. For doc_html.c and the charts of the Python package. */
#ifndef REPORT_PAGE_INTERNAL_H
#define REPORT_PAGE_INTERNAL_H

#include <stddef.h>

extern const unsigned char page_css[], page_js[];
extern const size_t page_css_len, page_js_len;
/* SHA-256 of exactly these bytes, in base64. */
extern const char page_css_hash[], page_js_hash[];

#endif
