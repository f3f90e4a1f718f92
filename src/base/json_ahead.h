/* SPDX-License-Identifier: Apache-2.0 */
/* json_ahead.h - the members of objects that look like those before, straight into the caller's own
 * code: a loop that is compiled where it is used, with its state and the item in registers.
 *
 * This is json_next for what is usual. Whatever is not usual ends the loop before the item, and
 * json_next looks at that item from its beginning: nothing is mended, counted or asked for here.
 *
 *     JSON_WIDE static enum json_kind ahead_wide(struct thing *t)
 *     {
 *         return json_ahead(&t->scan, K_ARGS, take, t, true);
 *     }
 *
 * and the same without JSON_WIDE and with `false`; json_may_ahead and json_scan.wide say which of
 * them may be called. */
#ifndef BASE_JSON_AHEAD_H
#define BASE_JSON_AHEAD_H

#include "base/json_scan_own.h"

#ifdef __x86_64__
#define JSON_WIDE __attribute__((target("avx2,popcnt,bmi,bmi2")))
#else
#define JSON_WIDE
#endif

enum { IN_OBJECT = JSON_KEYS_MOST + 1 }; /* json_scan.last at the start of an object */

/* Where the loop goes on, and the key of the item before that. Who knows what stands there may move
 * it on, to behind another member of the same object. NULL: behind a bracket. */
struct json_at {
    const uint8_t *p;
    unsigned last;
};

/* What is done with an item; false: the loop ends behind it. To be inlined, too. The item is good
 * for that call. Keys are told by number only. Arrays are passed over: JS_ARRAY, and what it is
 * with both brackets as the text. */
typedef bool json_take(void *ctx, const struct json_item *it, struct json_at *at);

typedef const struct json_guess guess_pair[JSON_GUESSES];

struct ahead {
    struct json_scan *s;
    const uint8_t *p, *end;
    json_take *take;
    void *ctx;
    uint32_t enter_id;
    unsigned last;   /* key of the item before */
    unsigned around; /* of the object that was entered here; 0: none */
};

/* What is rare or long is out of line: it would push the state of the loop out of the registers.
 * Each: where the value that stands at v ends; NULL: json_next has to look at it. */
const uint8_t *json_array_plain(const uint8_t *v, const uint8_t *end);
const uint8_t *json_array_wide(const uint8_t *v, const uint8_t *end);
const uint8_t *json_number_plain(const uint8_t *v, struct json_number *out);
/* Behind the last member of an object that was entered, `behind` it: remembers how both end. */
void json_learn_ends(struct json_scan *s, const uint8_t *from, const uint8_t *behind);
/* Behind an object of an array: where the next one begins inside, which is remembered, or NULL. */
const uint8_t *json_learn_next(struct json_scan *s);

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
        if (__builtin_expect(high & ((1u << i) - 1), 0))
            *flags |= STRING_HIGH;
        return p + i;
    }
#endif
    (void)wide;
    return json_string_end(p, flags);
}

INLINE const uint8_t *ahead_string(const uint8_t *v, const uint8_t *end, struct json_item *it,
                                   bool wide)
{
    unsigned flags = 0;
    const uint8_t *q = string_end(v + 1, &flags, wide);
    it->kind = JS_STRING;
    it->text = text_of(v + 1, q, flags);
    q = json_space(q + 1); /* behind the end of the window when the text is */
    if (__builtin_expect(q >= end || flags & STRING_CONTROL, 0))
        return NULL;
    return *q == ',' || *q == '}' ? q : NULL;
}

INLINE const uint8_t *long_number(const uint8_t *v, struct json_number *out, bool wide)
{
    const uint8_t *q = NULL;
#ifdef __x86_64__
    if (wide)
        q = scan_number_wide(v, out);
#endif
    (void)wide;
    if (!q) {
        struct json_number other; /* so that the loop's own has no address */
        q = json_number_plain(v, &other);
        *out = other;
    }
    return q;
}

INLINE const uint8_t *ahead_number(const uint8_t *v, const uint8_t *q, const uint8_t *end,
                                   struct json_item *it)
{
    if (__builtin_expect(!q || q + 1 >= end, 0))
        return NULL;
    it->kind = JS_NUMBER;
    it->text = text_of(v, q, 0);
    return q;
}

INLINE const uint8_t *ahead_array(const uint8_t *v, const uint8_t *end, struct json_item *it,
                                  bool wide)
{
    const uint8_t *q = wide ? json_array_wide(v, end) : json_array_plain(v, end);
    if (__builtin_expect(!q, 0))
        return NULL;
    it->kind = JS_ARRAY;
    it->text = text_of(v, q, STRING_ESCAPED | STRING_HIGH);
    return q;
}

INLINE bool ahead_enter(struct ahead *a, const uint8_t *v, unsigned id)
{
    json_push(a->s, true);
    a->s->entered = (uint16_t)id;
    a->around = id;
    a->last = IN_OBJECT;
    a->p = v + 1;
    return a->take(a->ctx, &(struct json_item){.kind = JS_OBJECT, .id = id}, NULL);
}

/* Behind the value: it is told, and what follows is next. */
INLINE bool ahead_told(struct ahead *a, const struct json_guess *g, const struct json_item *it,
                       const uint8_t *behind)
{
    if (__builtin_expect(!behind, 0))
        return false;
    struct json_at at = {behind, g->id};
    const bool more = !g->told || a->take(a->ctx, it, &at);
    a->p = at.p;
    a->last = at.last;
    return more;
}

/* The member that the guess is of. False: it is json_next's, or that was all for now. Each kind
 * tells of itself, so that the caller's code is compiled for that kind. */
INLINE bool ahead_member(struct ahead *a, const struct json_guess *g, bool wide)
{
    const uint8_t *v = a->p + g->len;
    struct json_item it; /* the number is told of numbers only */
    it.id = g->id;
    it.key = (struct json_text){0};
    if (*v == '"') {
        const uint8_t *behind = ahead_string(v, a->end, &it, wide);
        return ahead_told(a, g, &it, behind);
    }
    if ((*v >= '0' && *v <= '9') || *v == '-') {
        const uint8_t *small = scan_small_number(v, g->told, &it.number);
        if (__builtin_expect(small != NULL, 1))
            return ahead_told(a, g, &it, ahead_number(v, small, a->end, &it));
        const uint8_t *other = long_number(v, &it.number, wide);
        return ahead_told(a, g, &it, ahead_number(v, other, a->end, &it));
    }
    if (*v == '[') {
        const uint8_t *behind = ahead_array(v, a->end, &it, wide);
        return ahead_told(a, g, &it, behind);
    }
    return *v == '{' && g->id == a->enter_id && !a->around && ahead_enter(a, v, g->id);
}

INLINE bool ahead_left(struct ahead *a, const uint8_t *behind)
{
    json_pop(a->s);
    a->s->entered = 0;
    a->last = a->around;
    a->around = 0;
    a->p = behind;
    return a->take(a->ctx, &(struct json_item){.kind = JS_END}, NULL);
}

/* Behind the last member of an object. JS_END: the one in which it was called is left. The one that
 * was entered and the one around it mostly end in a row. */
INLINE enum json_kind ahead_leave(struct ahead *a, bool *more, bool wide)
{
    const uint8_t *const from = a->p;
    const struct json_guess *const ends = &a->s->ends;
    if (a->around && guess_right(ends, from, wide)) {
        *more = ahead_left(a, from + ends->key_at);
        return *more && ahead_left(a, from + ends->len) ? JS_END : JS_NULL;
    }
    const uint8_t *p = json_space(from);
    *more = *p == '}' && p < a->end;
    if (!*more)
        return JS_NULL;
    if (!a->around)
        return ahead_left(a, p + 1), JS_END;
    json_learn_ends(a->s, from, p + 1);
    *more = ahead_left(a, p + 1);
    return JS_NULL;
}

/* The items that follow in an object: those that need no mending, whose key is known and follows
 * its neighbour as it did before. Objects are entered under the key `enter_id` only. JS_END: the
 * object in which it was called was left, and `take` was told. JS_NULL: it is json_next's turn, or
 * `take` said so. `wide`: the machine has AVX2; a constant. */
INLINE enum json_kind json_ahead(struct json_scan *s, uint32_t enter_id, json_take *take, void *ctx,
                                 bool wide)
{
    guess_pair *const guesses = s->keys->guesses;
    struct ahead a = {s, s->p, s->end, take, ctx, enter_id, s->last, 0};
    enum json_kind kind = JS_NULL;
    bool more = true;
    while (more && kind == JS_NULL) {
        const struct json_guess *g = guess_of(guesses[a.last], a.p, wide);
        if (__builtin_expect(g != NULL, 1))
            more = ahead_member(&a, g, wide);
        else
            kind = ahead_leave(&a, &more, wide);
    }
    s->p = a.p;
    s->last = (uint16_t)a.last;
    s->some = a.last != IN_OBJECT;
    return kind;
}

static inline bool json_may_ahead(const struct json_scan *s)
{
    return !s->strict && s->keys && s->in_object && s->depth + 1 < JSON_DEPTH_MOST;
}

/* Enters the next object of the array, behind the one that was left last, and moves the hold there.
 * False: nothing is held, or what comes is json_next's. */
INLINE bool json_ahead_object(struct json_scan *s, bool wide)
{
    if (s->in_object || !s->depth || !s->hold || s->strict || !s->keys ||
        s->depth + 1 >= JSON_DEPTH_MOST)
        return false;
    const uint8_t *inside = s->p + s->next.len;
    if (!guess_right(&s->next, s->p, wide)) {
        inside = json_learn_next(s);
        if (!inside)
            return false;
    }
    hold_here(s);
    json_push(s, true);
    s->p = inside;
    s->last = IN_OBJECT;
    return true;
}

#endif
