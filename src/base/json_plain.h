/* SPDX-License-Identifier: Apache-2.0 */
/* json_plain.h - pieces of JSON gone through byte by byte and without mercy, for what is looked at
 * once and then believed (json_shape.h, json_stretch.h). Each: where it ends, `to` at most; NULL,
 * or NULL to begin with: it does not stand there, or has something that would have to be looked at.
 */
#ifndef BASE_JSON_PLAIN_H
#define BASE_JSON_PLAIN_H

#include "base/json_scan_own.h"

static inline const uint8_t *plain_white(const uint8_t *p, const uint8_t *to)
{
    while (p && p < to && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r'))
        p++;
    return p;
}

/* That byte, and white space before it. */
static inline const uint8_t *plain_byte(const uint8_t *p, const uint8_t *to, uint8_t c)
{
    p = plain_white(p, to);
    return p && p < to && *p == c ? p + 1 : NULL;
}

/* A text without escapes, of ASCII. */
static inline const uint8_t *plain_text(const uint8_t *p, const uint8_t *to, struct json_text *out)
{
    const uint8_t *const from = plain_byte(p, to, '"');
    for (p = from; p && p < to; p++) {
        if (*p == '"') {
            *out = text_of(from, p, 0);
            return p + 1;
        }
        if (*p < ' ' || *p >= 0x80 || *p == '\\')
            break;
    }
    return NULL;
}

/* The key of a member, up to its value. */
static inline const uint8_t *plain_key(const uint8_t *p, const uint8_t *to, struct json_text *out)
{
    return plain_white(plain_byte(plain_text(p, to, out), to, ':'), to);
}

#endif
