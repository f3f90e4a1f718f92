/* SPDX-License-Identifier: Apache-2.0 */
/* json_write.h - JSON into a buf, commas and escapes taken care of.
 * `struct jw j = {.out = &buf}`; then jw_object(&j, NULL) ... jw_end(&j). The key is NULL
 * inside arrays and at the top. Text that is not UTF-8 comes out with U+FFFD; NaN and infinities
 * come out as null. */
#ifndef BASE_JSON_WRITE_H
#define BASE_JSON_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum { JW_DEPTH = 32 };

struct jw {
    struct buf *out;
    int indent; /* spaces a level; 0 = one line */
    int depth;
    bool keyed;           /* jw_key was called */
    bool some[JW_DEPTH];  /* something was written at this level */
    bool array[JW_DEPTH]; /* this level closes with ] */
};

void jw_object(struct jw *j, const char *key);
void jw_array(struct jw *j, const char *key);
void jw_end(struct jw *j); /* closes the innermost object or array */
void jw_str(struct jw *j, const char *key, const char *v); /* NULL writes null */
void jw_int(struct jw *j, const char *key, int64_t v);
/* The shortest decimal that reads back as the same double. */
void jw_num(struct jw *j, const char *key, double v);
/* An array of n texts. */
void jw_texts(struct jw *j, const char *key, const char *const *v, size_t n);
void jw_bool(struct jw *j, const char *key, bool v);
void jw_null(struct jw *j, const char *key);
/* The key of what the next call writes with a NULL key; for functions that write a whole value. */
void jw_key(struct jw *j, const char *key);

/* What jw_str and jw_num write, for callers that write the rest by hand: a text with its quotes,
 * and a number, which is finite. */
void json_put_text(struct buf *b, const char *text);
void json_put_number(struct buf *b, double v);
/* Four significant digits, for charts; null when it is not finite. */
void json_put_rounded(struct buf *b, double v);

#endif
