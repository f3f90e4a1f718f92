/* SPDX-License-Identifier: Apache-2.0 */
/* json_ahead.c - see json_ahead.h. */
#include "base/json_ahead.h"

#include "base/json_pass.h"

INLINE const uint8_t *array_body(const uint8_t *v, const uint8_t *end, bool wide)
{
    struct pass k = {.depth = 1};
    for (const uint8_t *p = v + 1; p < end; p += 64) {
        const unsigned n = end - p < 64 ? (unsigned)(end - p) : 64;
        const unsigned at = pass_block(&k, p, n, wide);
        if (at < 64)
            return p + at + 1;
        if (k.broken)
            return NULL;
    }
    return NULL;
}

const uint8_t *json_array_plain(const uint8_t *v, const uint8_t *end)
{
    return array_body(v, end, false);
}

const uint8_t *json_number_plain(const uint8_t *v, struct json_number *out)
{
    const uint8_t *q = scan_number(v, out);
    return q && ends_value(*q) ? q : NULL;
}

#ifdef __x86_64__
JSON_WIDE const uint8_t *json_array_wide(const uint8_t *v, const uint8_t *end)
{
    return array_body(v, end, true);
}
#else
const uint8_t *json_array_wide(const uint8_t *v, const uint8_t *end)
{
    return json_array_plain(v, end);
}
#endif

void json_learn_ends(struct json_scan *s, const uint8_t *from, const uint8_t *behind)
{
    const uint8_t *p = json_space(behind);
    if (*p != '}' || p + 1 - from > JSON_GUESS_LEN)
        return;
    json_guess_set(&s->ends, from, (size_t)(p + 1 - from));
    s->ends.key_at = (uint8_t)(behind - from);
}

const uint8_t *json_learn_next(struct json_scan *s)
{
    const uint8_t *p = json_space(s->p);
    if (*p != ',')
        return NULL;
    p = json_space(p + 1);
    if (*p != '{')
        return NULL;
    if (p + 1 - s->p <= JSON_GUESS_LEN)
        json_guess_set(&s->next, s->p, (size_t)(p + 1 - s->p));
    return p + 1;
}
