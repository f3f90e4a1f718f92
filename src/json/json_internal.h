/* SPDX-License-Identifier: Apache-2.0 */
/* json_internal.h - between the files of the scanner: numbers, predicted gaps, changes of state. */
#ifndef JSON_JSON_INTERNAL_H
#define JSON_JSON_INTERNAL_H

#include <assert.h>

#include "json/json.h"
#include "json/json_simd.h"

#define JSON_INLINE static inline __attribute__((always_inline))

/* ---- parts of items ---- */

static inline struct json_text json_text_of(const uint8_t *from, const uint8_t *to, unsigned flags)
{
    return (struct json_text){(const char *)from, (uint32_t)(to - from),
                              (flags & STRING_ESCAPED) != 0, (flags & STRING_HIGH) != 0};
}

extern const uint64_t json_powers[9]; /* of ten */

/* All digits at p are added to the mantissa; returns how many there are. */
static inline unsigned json_take_digits(const uint8_t *p, uint64_t *mantissa)
{
    unsigned n = 0, k;
    uint64_t v;
    do {
        k = json_digits_8(p + n, &v);
        *mantissa = *mantissa * json_powers[k] + v;
        n += k;
    } while (k == 8);
    return n;
}

/* Where the number ends; NULL: it is none. */
JSON_INLINE const uint8_t *json_scan_number(const uint8_t *p, struct json_number *out)
{
    uint64_t mantissa = 0;
    unsigned fraction = 0;
    out->minus = *p == '-';
    p += out->minus;
    const uint8_t *const first = p;
    const unsigned whole = json_take_digits(p, &mantissa);
    p += whole;
    if (whole == 0 || (whole > 1 && *first == '0'))
        return NULL;
    if (*p == '.') {
        fraction = json_take_digits(p + 1, &mantissa);
        p += 1 + fraction;
        if (fraction == 0)
            return NULL;
    }
    out->plain = whole + fraction <= 18;
    out->mantissa = mantissa;
    out->fraction = (uint8_t)fraction;
    if ((*p | 0x20) == 'e') {
        out->plain = false;
        p++;
        p += *p == '+' || *p == '-';
        const unsigned n = json_take_digits(p, &mantissa);
        p += n;
        if (n == 0)
            return NULL;
    }
    return p;
}

static inline bool json_ends_value(uint8_t c)
{
    return __builtin_expect(c == ',', 1) || (c | 0x20) == '}' || c <= ' '; /* ] differs by 0x20 */
}

/* The usual number: one to seven digits and nothing else. Where it ends; NULL: it is another. */
JSON_INLINE const uint8_t *json_scan_small(const uint8_t *p, struct json_number *out)
{
    uint64_t bytes;
    const unsigned n = json_count_digits_8(p, &bytes);
    if (n - 1 >= 7 || (*p == '0' && n > 1) || !json_ends_value(p[n]))
        return NULL;
    *out = (struct json_number){.mantissa = json_value_of_8(bytes, n), .plain = true};
    return p + n;
}

/* ---- between the files ---- */

/* Reads more into the window. JS_SHORT: there is more, try again; else what to answer. */
enum json_kind json_more(struct json_scan *s);
/* json_scan_number out of line; NULL also where what follows cannot follow a value. */
const uint8_t *json_long_number(const uint8_t *p, struct json_number *out);
/* The end of the array that begins at v; NULL: it is not before `end`, or has a broken string. */
const uint8_t *json_pass_array(const uint8_t *v, const uint8_t *end);
/* Back to the hold, where an item begins anew. */
void json_back_to_hold(struct json_scan *s);
/* The next byte, or -1 at the end of the input. Nothing stays in the window. */
int json_next_byte(struct json_scan *s);
/* The input has no more bytes, or failed: what to answer. */
enum json_kind json_out_of_bytes(struct json_scan *s);
/* Passes over the item that begins at s->p, however long it is, and answers JS_LOST. */
enum json_kind json_pass_over(struct json_scan *s);
enum json_kind json_bad(struct json_scan *s, const uint8_t *at, const char *what);
/* Counts a fault; taken back when its item has to be begun again. */
void json_fault(struct json_scan *s, uint64_t *which);

/* ---- predicted gaps ---- */

/* At most JSON_GAP_LEN bytes. */
static inline void json_gap_set(struct json_gap *g, const uint8_t *p, size_t len)
{
    assert(len > 0 && len <= JSON_GAP_LEN);
    assert(p[len - 1] != '"'); /* else the pad could match */
    memcpy(g->bytes, p, len);
    g->len = (uint8_t)len;
    g->beyond = len < 32 ? UINT32_MAX << len : 0;
}

/* Whether the gap is at p. Bytes of the pad never match: a gap ends with a colon or white space. */
static inline bool json_gap_is(const struct json_gap *g, const uint8_t *p)
{
    if ((json_same_32(p, g->bytes) | g->beyond) != UINT32_MAX)
        return false;
    if (__builtin_expect(g->len - 1u < 32, 1))
        return true;
    return g->len && memcmp(p + 32, g->bytes + 32, g->len - 32u) == 0;
}

/* The gap after a member with the key `last` that is at p; NULL: another. */
static inline const struct json_gap *json_gap_at(const struct json_keys *k, unsigned last,
                                                 const uint8_t *p)
{
    const struct json_gap *g = k->gaps[last];
    if (__builtin_expect(json_gap_is(g, p), 1))
        return g;
    return json_gap_is(g + 1, p) ? g + 1 : NULL;
}

/* ---- state ---- */

static inline void json_push(struct json_scan *s, bool object)
{
    assert(s->depth < JSON_DEPTH_MOST);
    const uint64_t bit = 1ull << (s->depth % 64);
    uint64_t *word = &s->kinds[s->depth / 64];
    *word = object ? *word | bit : *word & ~bit;
    s->depth++;
    s->in_object = object;
    s->some = false;
}

static inline void json_pop(struct json_scan *s)
{
    assert(s->depth > 0);
    s->depth--;
    s->some = true;
    s->in_object = s->depth && (s->kinds[(s->depth - 1) / 64] >> ((s->depth - 1) % 64) & 1);
    s->last = s->in_object ? s->entered : 0;
    s->entered = 0;
}

#endif
