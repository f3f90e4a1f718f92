/* SPDX-License-Identifier: Apache-2.0 */
/* json_shape.c - see json_shape.h. */
#include "base/json_shape.h"

#include "base/json_plain.h"

const uint8_t *json_shape_number_plain(const uint8_t *p)
{
    struct json_number ignored;
    const uint8_t *q = *p == '-' ? NULL : scan_number(p, &ignored);
    return q && ignored.plain ? q : NULL;
}

/* Adds bytes to the last part, or as parts of their own. */
static bool add_bytes(struct json_shape *s, const uint8_t *from, const uint8_t *to)
{
    while (from < to) {
        struct json_shape_part *part = s->n ? &s->parts[s->n - 1] : NULL;
        if (!part || part->number || part->len == SHAPE_PART_LEN) {
            if (s->n == SHAPE_PARTS_MOST)
                return false;
            part = &s->parts[s->n++];
            *part = (struct json_shape_part){.beyond = UINT32_MAX};
        }
        part->bytes[part->len] = *from++;
        part->beyond &= ~(1u << part->len++);
    }
    return true;
}

/* One member and the comma or bracket behind it; NULL: it is not plain. */
static const uint8_t *learn_member(struct json_shape *s, const uint8_t *p, const uint8_t *to)
{
    struct json_text ignored;
    const uint8_t *v = plain_key(p, to, &ignored);
    if (!v || v >= to)
        return NULL;
    const bool text = *v == '"';
    const uint8_t *end = text ? plain_text(v, to, &ignored) : json_shape_number_plain(v);
    const uint8_t *next = end && end < to ? plain_white(end, to) : to;
    if (next >= to || (*next != ',' && *next != '}'))
        return NULL;
    if (!add_bytes(s, p, text ? end : v))
        return NULL;
    s->parts[s->n - 1].number = !text;
    return add_bytes(s, end, next + 1) ? next + 1 : NULL;
}

bool json_shape_learn(struct json_shape *shape, const uint8_t *from, const uint8_t *to)
{
    struct json_shape s = {0};
    const uint8_t *p = from;
    do
        p = learn_member(&s, p, to);
    while (p && p[-1] == ',');
    if (p != to)
        return false;
    *shape = s;
    return true;
}
