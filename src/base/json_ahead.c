/* SPDX-License-Identifier: Apache-2.0 */
/* json_ahead.c - many items at once, for objects that look like those before.
 *
 * This is json_next for what is usual, with its state in registers. Whatever is not usual ends it
 * before the item, and json_next looks at that item from its beginning: nothing is mended, counted
 * or asked for here. */
#include "base/json_pass.h"

enum { IN_OBJECT = JSON_KEYS_MOST + 1 }; /* json_scan.last at the start of an object */

typedef const struct json_guess guess_pair[JSON_GUESSES];

struct ahead {
    struct json_scan *s;
    guess_pair *guesses;
    const uint8_t *p, *end;
    unsigned last, around; /* key of the item before; of the object that was entered here */
    bool inside;           /* of that object */
};

/* `wide`, here and below: the machine has AVX2. A constant wherever it is used. */
INLINE bool guess_right(const struct json_guess *g, const uint8_t *p, bool wide)
{
#ifdef __x86_64__
    if (wide)
        return (same_32(p, g->bytes) | g->beyond) == UINT32_MAX && json_guess_rest(g, p);
#endif
    (void)wide;
    return json_guess_right(g, p);
}

INLINE const struct json_guess *guess_of(const struct ahead *a, bool wide)
{
    const struct json_guess *g = a->guesses[a->last];
    if (__builtin_expect(guess_right(g, a->p, wide), 1))
        return g;
    return guess_right(g + 1, a->p, wide) ? g + 1 : NULL;
}

/* A text without anything special is gone through 32 bytes at a time, which is most of them in one
 * go; json_string_end takes over where there is something. */
INLINE const uint8_t *string_end(const uint8_t *p, unsigned *flags, bool wide)
{
#ifdef __x86_64__
    while (wide) {
        uint32_t high;
        const uint32_t stops = string_stops_32(p, &high);
        if (!stops) {
            *flags |= high ? STRING_HIGH : 0u;
            p += 32;
            continue;
        }
        const unsigned i = (unsigned)__builtin_ctz(stops);
        if (__builtin_expect(p[i] != '"', 0))
            break;
        *flags |= high & ((1u << i) - 1) ? STRING_HIGH : 0u;
        return p + i;
    }
#endif
    (void)wide;
    return json_string_end(p, flags);
}

/* Each of these: where the value that stands at v ends; NULL: json_next has to look at it. */

INLINE const uint8_t *ahead_string(const struct ahead *a, const uint8_t *v, struct json_item *it,
                                   bool wide)
{
    unsigned flags = 0;
    const uint8_t *q = string_end(v + 1, &flags, wide);
    if (__builtin_expect(q >= a->end || flags & STRING_CONTROL, 0))
        return NULL;
    it->kind = JS_STRING;
    it->text = text_of(v + 1, q, flags);
    q = json_space(q + 1);
    return q < a->end && (*q == ',' || *q == '}') ? q : NULL;
}

INLINE const uint8_t *ahead_number(const struct ahead *a, const uint8_t *v, struct json_item *it)
{
    const uint8_t *q = scan_small_number(v, &it->number);
    if (!q) {
        q = scan_number(v, &it->number);
        if (__builtin_expect(!q || !ends_value(*q), 0))
            return NULL;
    }
    if (__builtin_expect(q + 1 >= a->end, 0))
        return NULL;
    it->kind = JS_NUMBER;
    it->text = text_of(v, q, 0);
    return q;
}

INLINE const uint8_t *ahead_array(const struct ahead *a, const uint8_t *v, struct json_item *it)
{
    struct pass k = {.depth = 1};
    for (const uint8_t *p = v + 1; p < a->end; p += 64) {
        const unsigned n = a->end - p < 64 ? (unsigned)(a->end - p) : 64;
        const unsigned at = pass_block(&k, p, n);
        if (at < 64) {
            it->kind = JS_ARRAY;
            it->text = text_of(v, p + at + 1, STRING_ESCAPED | STRING_HIGH);
            return p + at + 1;
        }
        if (k.broken)
            return NULL;
    }
    return NULL;
}

INLINE const uint8_t *ahead_value(const struct ahead *a, const uint8_t *v, struct json_item *it,
                                  bool wide)
{
    if (*v == '"')
        return ahead_string(a, v, it, wide);
    if ((*v >= '0' && *v <= '9') || *v == '-')
        return ahead_number(a, v, it);
    return *v == '[' ? ahead_array(a, v, it) : NULL;
}

INLINE bool enter(struct ahead *a, const uint8_t *v, struct json_item *it)
{
    if (a->inside || v >= a->end)
        return false;
    json_push(a->s, true);
    a->s->entered = (uint16_t)it->id;
    a->inside = true;
    a->around = it->id;
    a->last = IN_OBJECT;
    a->p = v + 1;
    it->kind = JS_OBJECT;
    it->text = (struct json_text){0};
    return true;
}

INLINE bool leave(struct ahead *a, struct json_item *it)
{
    const uint8_t *p = json_space(a->p);
    if (*p != '}' || p >= a->end)
        return false;
    json_pop(a->s);
    a->s->entered = 0;
    a->last = a->inside ? a->around : 0;
    a->p = p + 1;
    it->kind = JS_END;
    return true;
}

/* One item; how many of it are told; -1: it is json_next's. */
INLINE int ahead_one(struct ahead *a, uint32_t enter_id, struct json_item *it, bool wide)
{
    const struct json_guess *g = guess_of(a, wide);
    if (!g)
        return leave(a, it) ? 1 : -1;
    const uint8_t *v = a->p + g->len;
    it->id = g->id;
    it->key = (struct json_text){0};
    if (*v == '{' && g->id == enter_id)
        return enter(a, v, it) ? 1 : -1;
    const uint8_t *next = ahead_value(a, v, it, wide);
    if (__builtin_expect(!next, 0))
        return -1;
    a->p = next;
    a->last = g->id;
    return g->told;
}

INLINE size_t ahead_body(struct json_scan *s, uint32_t enter_id, struct json_item *out, size_t most,
                         bool wide)
{
    struct ahead a = {
        .s = s, .guesses = s->keys->guesses, .p = s->p, .end = s->end, .last = s->last};
    struct json_item *it = out, *const end = out + most;
    while (it < end) {
        const int told = ahead_one(&a, enter_id, it, wide);
        if (__builtin_expect(told < 0, 0))
            break;
        const bool left = it->kind == JS_END;
        it = told ? it + 1 : it;
        if (__builtin_expect(left, 0)) {
            if (!a.inside)
                break;
            a.inside = false;
        }
    }
    s->p = a.p;
    s->last = (uint16_t)a.last;
    s->some = a.last != IN_OBJECT;
    return (size_t)(it - out);
}

static size_t ahead_plain(struct json_scan *s, uint32_t enter_id, struct json_item *out,
                          size_t most)
{
    return ahead_body(s, enter_id, out, most, false);
}

#ifdef __x86_64__
__attribute__((target("avx2,popcnt,bmi,bmi2"))) static size_t
ahead_wide(struct json_scan *s, uint32_t enter_id, struct json_item *out, size_t most)
{
    return ahead_body(s, enter_id, out, most, true);
}
#else
#define ahead_wide ahead_plain
#endif

size_t json_ahead(struct json_scan *s, uint32_t enter_id, struct json_item *out, size_t most)
{
    if (s->strict || !s->keys || !s->in_object || s->depth + 1 >= JSON_DEPTH_MOST)
        return 0;
    return s->wide ? ahead_wide(s, enter_id, out, most) : ahead_plain(s, enter_id, out, most);
}
