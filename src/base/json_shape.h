/* SPDX-License-Identifier: Apache-2.0 */
/* json_shape.h - objects that are alike but for their numbers, passed over as a whole.
 *
 * For objects of which the caller wants nothing but to know that they were there: one is read, and
 * those that follow are compared with it, keys, texts and white space, many bytes at a time. A
 * number may be another one, of digits and perhaps a point. What is not the same is for json_next,
 * from its beginning. */
#ifndef BASE_JSON_SHAPE_H
#define BASE_JSON_SHAPE_H

#include "base/json_scan_own.h"

enum { SHAPE_PARTS_MOST = 12, SHAPE_PART_LEN = 32 };

struct json_shape_part {
    uint8_t bytes[SHAPE_PART_LEN];
    uint32_t beyond; /* one bit for each that is not of it */
    uint8_t len;
    bool number; /* one follows */
};

struct json_shape {
    uint32_t n; /* of its parts */
    struct json_shape_part parts[SHAPE_PARTS_MOST];
};

/* The object in a window from behind its opening bracket to behind the closing one. False, and the
 * shape is left as it is, when the object is not plain: members that are texts without escapes, or
 * numbers, and not too many. */
bool json_shape_learn(struct json_shape *shape, const uint8_t *from, const uint8_t *to);

/* Where the number that stands at p ends; NULL: not a plain one. */
const uint8_t *json_shape_number_plain(const uint8_t *p);

INLINE const uint8_t *shape_number(const uint8_t *p, bool wide)
{
#ifdef __x86_64__
    if (wide) {
        unsigned whole, end;
        const bool point = number_span_32(p, &whole, &end);
        if (whole == 0 || (whole > 1 && *p == '0') || end == 31 || (point && end == whole + 1))
            return NULL;
        return p + end;
    }
#endif
    (void)wide;
    return json_shape_number_plain(p);
}

INLINE bool shape_part_is(const struct json_shape_part *part, const uint8_t *p, bool wide)
{
#ifdef __x86_64__
    if (wide)
        return (same_32(p, part->bytes) | part->beyond) == UINT32_MAX;
#endif
    (void)wide;
    return memcmp(p, part->bytes, part->len) == 0;
}

/* Passes over the object that was just entered when it has that shape, which was learnt. Bytes of
 * the pad may look like a part, so the end is compared after each. */
INLINE bool json_shape_pass(struct json_scan *s, const struct json_shape *shape, bool wide)
{
    const uint8_t *p = s->p;
    for (uint32_t i = 0; i < shape->n; i++) {
        const struct json_shape_part *part = &shape->parts[i];
        if (!shape_part_is(part, p, wide))
            return false;
        p += part->len;
        if (part->number)
            p = shape_number(p, wide);
        if (!p || p > s->end)
            return false;
    }
    s->p = p;
    s->last = 0;
    json_pop(s);
    return true;
}

#endif
