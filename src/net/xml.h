/* SPDX-License-Identifier: Apache-2.0 */
/* xml.h - a pull parser for the small XML documents that S3 and STS answer with.
 *
 *     struct xml x = xml_of(p, n);
 *     while (xml_next(&x))
 *         if (xml_is(&x, "Key"))
 *             xml_text(&x, &key);
 *     if (x.bad) ...
 *
 * Elements come in the order of their begin tags. Names are without their namespace, attributes are
 * skipped. There is no DTD: a document with one is bad, so entities cannot grow. */
#ifndef NET_XML_H
#define NET_XML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum { XML_DEPTH_MOST = 32 };

struct xml {
    const char *p, *end;
    const char *name; /* of the element that was begun last; not ended by a NUL */
    size_t name_len;
    int depth;  /* of that element: 1 is the root */
    bool empty; /* it has no content: <a/> */
    bool bad;
    int open; /* elements whose end tag is still to come */
};

struct xml xml_of(const void *p, size_t n);
/* The next begin tag; false at the end, or when the document is bad. */
bool xml_next(struct xml *x);
bool xml_is(const struct xml *x, const char *name);
/* Replaces `out` by the text of the element that xml_next has just found, with a NUL after it that
 * does not count. Text after a child element is not part of it. */
void xml_text(struct xml *x, struct buf *out);
/* The text of the first element of this name, to be freed; NULL: there is none. */
char *xml_find(const void *p, size_t n, const char *name);

#endif
