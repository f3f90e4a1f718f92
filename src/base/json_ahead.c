/* SPDX-License-Identifier: Apache-2.0 */
/* json_ahead.c - many items at once, for objects that look like those before.
 *
 * This is json_next for what is usual, with its state in registers. Whatever is not usual ends it
 * before the item, and json_next looks at that item from its beginning: nothing is mended, counted
 * or asked for here. */
#include "base/json_pass.h"

#define NOINLINE __attribute__((noinline))
#define WIDE     __attribute__((target("avx2,popcnt,bmi,bmi2")))

enum { IN_OBJECT = JSON_KEYS_MOST + 1 }; /* json_scan.last at the start of an object */

typedef const struct json_guess guess_pair[JSON_GUESSES];

struct ahead {
    struct json_scan *s;
    const uint8_t *p, *end;
    uint32_t enter_id;
    unsigned last;   /* key of the item before */
    unsigned around; /* of the object that was entered here; 0: none */
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

INLINE const struct json_guess *guess_of(guess_pair g, const uint8_t *p, bool wide)
{
    if (__builtin_expect(guess_right(g, p, wide), 1))
        return g;
    return guess_right(g + 1, p, wide) ? g + 1 : NULL;
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

INLINE const uint8_t *ahead_string(const uint8_t *v, const uint8_t *end, struct json_item *it,
                                   bool wide)
{
    unsigned flags = 0;
    const uint8_t *q = string_end(v + 1, &flags, wide);
    if (__builtin_expect(q >= end || flags & STRING_CONTROL, 0))
        return NULL;
    it->kind = JS_STRING;
    it->text = text_of(v + 1, q, flags);
    q = json_space(q + 1);
    return q < end && (*q == ',' || *q == '}') ? q : NULL;
}

INLINE const uint8_t *array_body(const uint8_t *v, const uint8_t *end, struct json_item *it)
{
    struct pass k = {.depth = 1};
    for (const uint8_t *p = v + 1; p < end; p += 64) {
        const unsigned n = end - p < 64 ? (unsigned)(end - p) : 64;
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

/* Out of line, as of the next: what is rare or long would push the state of the loop out of the
 * registers. */
static NOINLINE const uint8_t *array_plain(const uint8_t *v, const uint8_t *end,
                                           struct json_item *it)
{
    return array_body(v, end, it);
}

#ifdef __x86_64__
WIDE static NOINLINE const uint8_t *array_wide(const uint8_t *v, const uint8_t *end,
                                               struct json_item *it)
{
    return array_body(v, end, it);
}
#else
#define array_wide array_plain
#endif

static NOINLINE const uint8_t *number_plain(const uint8_t *v, struct json_number *out)
{
    const uint8_t *q = scan_number(v, out);
    return q && ends_value(*q) ? q : NULL;
}

#ifdef __x86_64__
WIDE static NOINLINE const uint8_t *number_wide(const uint8_t *v, struct json_number *out)
{
    const uint8_t *q = scan_number_wide(v, out);
    return q ? q : number_plain(v, out);
}
#else
#define number_wide number_plain
#endif

INLINE const uint8_t *ahead_number(const uint8_t *v, const uint8_t *end, struct json_item *it,
                                   bool wide)
{
    const uint8_t *q = scan_small_number(v, &it->number);
    if (!q)
        q = wide ? number_wide(v, &it->number) : number_plain(v, &it->number);
    if (__builtin_expect(!q || q + 1 >= end, 0))
        return NULL;
    it->kind = JS_NUMBER;
    it->text = text_of(v, q, 0);
    return q;
}

INLINE const uint8_t *ahead_value(const uint8_t *v, const uint8_t *end, struct json_item *it,
                                  bool wide)
{
    if (*v == '"')
        return ahead_string(v, end, it, wide);
    if ((*v >= '0' && *v <= '9') || *v == '-')
        return ahead_number(v, end, it, wide);
    if (*v == '[')
        return wide ? array_wide(v, end, it) : array_plain(v, end, it);
    return NULL;
}

INLINE int enter(struct ahead *a, const uint8_t *v, unsigned id, struct json_item *it)
{
    json_push(a->s, true);
    a->s->entered = (uint16_t)id;
    a->around = id;
    a->last = IN_OBJECT;
    a->p = v + 1;
    it->kind = JS_OBJECT;
    it->text = (struct json_text){0};
    return 1;
}

INLINE bool leave(struct ahead *a, struct json_item *it)
{
    const uint8_t *p = json_space(a->p);
    if (*p != '}' || p >= a->end)
        return false;
    json_pop(a->s);
    a->s->entered = 0;
    a->last = a->around;
    a->p = p + 1;
    it->kind = JS_END;
    return true;
}

/* The next object of the array, behind the one that was left last. The hold goes with it. */
INLINE bool next_object(struct ahead *a, struct json_item *it)
{
    const uint8_t *p = json_space(a->p);
    if (*p != ',' || a->s->in_object || !a->s->depth || !a->s->hold)
        return false;
    p = json_space(p + 1);
    if (*p != '{')
        return false;
    a->s->p = a->p;
    hold_here(a->s);
    json_push(a->s, true);
    a->p = p + 1;
    a->last = IN_OBJECT;
    *it = (struct json_item){.kind = JS_OBJECT};
    return true;
}

/* The member that the guess is of; how many items of it are told; -1: it is json_next's. */
INLINE int member(struct ahead *a, const struct json_guess *g, struct json_item *it, bool wide)
{
    const uint8_t *v = a->p + g->len;
    it->id = g->id;
    it->key = (struct json_text){0};
    if (*v == '{' && g->id == a->enter_id && !a->around)
        return enter(a, v, g->id, it);
    const uint8_t *next = ahead_value(v, a->end, it, wide);
    if (__builtin_expect(!next, 0))
        return -1;
    a->p = next;
    a->last = g->id;
    return g->told;
}

/* Behind the last member of an object. False: that was all. */
INLINE bool object_end(struct ahead *a, struct json_item **it, const struct json_item *full)
{
    if (!leave(a, *it))
        return false;
    ++*it;
    if (a->around) {
        a->around = 0;
        return true;
    }
    return *it < full && next_object(a, *it) && ++*it;
}

INLINE size_t ahead_body(struct json_scan *s, uint32_t enter_id, struct json_item *out, size_t most,
                         bool wide)
{
    guess_pair *const guesses = s->keys->guesses;
    struct ahead a = {s, s->p, s->end, enter_id, s->last, 0};
    struct json_item *it = out, *const full = out + most;
    while (it < full) {
        const struct json_guess *g = guess_of(guesses[a.last], a.p, wide);
        if (__builtin_expect(g != NULL, 1)) {
            const int told = member(&a, g, it, wide);
            if (__builtin_expect(told < 0, 0))
                break;
            it += told;
        } else if (!object_end(&a, &it, full)) {
            break;
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
WIDE static size_t ahead_wide(struct json_scan *s, uint32_t enter_id, struct json_item *out,
                              size_t most)
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
