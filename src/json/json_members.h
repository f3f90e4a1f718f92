/* SPDX-License-Identifier: Apache-2.0 */
/* json_members.h - json_next for the members of an object that follow each other as they did
 * before, as a loop that is compiled into the caller.
 *
 * Whatever is not as expected ends the loop before the item, and json_next reads that item from its
 * beginning: nothing is repaired, counted or read from the source here. So what `take` is given is
 * exactly what json_next would have returned.
 *
 * The loop waits for memory and for its own comparisons most of the time; what `take` does is done
 * meanwhile. Called out of line, with the items in an array, an import takes 8 to 12 % longer. */
#ifndef JSON_JSON_MEMBERS_H
#define JSON_JSON_MEMBERS_H

#include "json/json_internal.h"

/* What is done with an item, which is good for that call. To be inlined. Keys are given by number
 * only. An array is one item, JS_ARRAY, with all of it as its text. */
typedef void json_take(void *ctx, const struct json_item *it);

JSON_INLINE const uint8_t *members_string(const uint8_t *v, const uint8_t *end,
                                          struct json_item *it)
{
    unsigned flags = 0;
    const uint8_t *q = json_string_end(v + 1, &flags);
    it->kind = JS_STRING;
    it->text = json_text_of(v + 1, q, flags);
    q = json_space(q + 1); /* beyond the end of the window when the string is */
    if (__builtin_expect(q >= end || flags & STRING_CONTROL, 0))
        return NULL;
    return *q == ',' || *q == '}' ? q : NULL;
}

/* `q` is where the number ends, or NULL. */
JSON_INLINE const uint8_t *members_number(const uint8_t *v, const uint8_t *q, const uint8_t *end,
                                          struct json_item *it)
{
    if (__builtin_expect(!q || q + 1 >= end, 0)) /* there may be more digits beyond the window */
        return NULL;
    it->kind = JS_NUMBER;
    it->text = json_text_of(v, q, 0);
    return q;
}

JSON_INLINE const uint8_t *members_array(const uint8_t *v, const uint8_t *end, struct json_item *it)
{
    const uint8_t *q = json_pass_array(v, end);
    if (__builtin_expect(!q, 0))
        return NULL;
    it->kind = JS_ARRAY;
    it->text = json_text_of(v, q, STRING_ESCAPED | STRING_HIGH);
    return q;
}

/* A number of more than seven digits, with a point or a sign. What is called has a number of its
 * own to write to: the loop's would leave the registers if it had an address. */
JSON_INLINE const uint8_t *members_long(const uint8_t *v, struct json_number *out)
{
    struct json_number other;
    const uint8_t *q = json_long_number(v, &other);
    *out = other;
    return q;
}

/* Where the loop is, and the key of the item before that. */
struct json_members_at {
    const uint8_t *p;
    unsigned last;
};

/* What json_members does with an item that ends at `after`; NULL: it is for json_next. */
JSON_INLINE bool members_taken(struct json_members_at *at, const struct json_gap *g,
                               const uint8_t *after, const struct json_item *it, json_take *take,
                               void *ctx)
{
    if (__builtin_expect(!after, 0))
        return false;
    at->p = after;
    at->last = g->id;
    if (!g->ignored)
        take(ctx, it);
    return true;
}

/* A plain string, number or array, after the gap `g`. False: it is for json_next. `take` is called
 * in each branch, so that it is compiled for each kind of value. */
JSON_INLINE bool members_value(struct json_members_at *at, const struct json_gap *g,
                               const uint8_t *end, json_take *take, void *ctx)
{
    const uint8_t *const v = at->p + g->len;
    struct json_item it; /* the number is set for numbers only */
    it.id = g->id;
    it.key = (struct json_text){0};
    if (*v == '"') {
        const uint8_t *after = members_string(v, end, &it);
        return members_taken(at, g, after, &it, take, ctx);
    }
    if ((*v >= '0' && *v <= '9') || *v == '-') {
        const uint8_t *small = json_scan_small(v, &it.number);
        if (__builtin_expect(small != NULL, 1))
            return members_taken(at, g, members_number(v, small, end, &it), &it, take, ctx);
        const uint8_t *other = members_long(v, &it.number);
        return members_taken(at, g, members_number(v, other, end, &it), &it, take, ctx);
    }
    if (*v != '[')
        return false;
    const uint8_t *after = members_array(v, end, &it);
    return members_taken(at, g, after, &it, take, ctx);
}

/* No gap is known here. True: because the object ends, and it was left. */
JSON_INLINE bool members_leave(struct json_scan *s, struct json_members_at *at)
{
    const uint8_t *q = json_space(at->p);
    if (*q != '}' || q >= s->end)
        return false;
    json_pop(s);
    *at = (struct json_members_at){q + 1, s->last};
    return true;
}

JSON_INLINE void members_enter(struct json_scan *s, const struct json_gap *g,
                               struct json_members_at *at)
{
    json_push(s, true);
    s->entered = g->id;
    *at = (struct json_members_at){at->p + g->len + 1, JSON_OBJECT_START};
}

/* The members that follow in the object: those with a key of json_keys in a gap that was seen
 * before. An object under the key `enter` is entered and left on the way. JS_END: the object in
 * which it was called was left. JS_NULL: what follows is for json_next. */
JSON_INLINE enum json_kind json_members(struct json_scan *s, uint32_t enter, json_take *take,
                                        void *ctx)
{
    struct json_members_at at = {s->p, s->last};
    const struct json_keys *const keys = s->keys; /* these two: `take` writes where s may be */
    const uint8_t *const end = s->end;
    const uint32_t depth = s->depth;
    bool inside = false; /* of the object under `enter` */
    bool more = keys && s->in_object && depth + 1 < JSON_DEPTH_MOST;
    while (more) {
        const struct json_gap *g = json_gap_at(keys, at.last, at.p);
        if (__builtin_expect(!g, 0)) {
            if (!members_leave(s, &at) || !inside)
                break;
            inside = false;
            take(ctx, &(struct json_item){.kind = JS_END});
        } else if (at.p[g->len] == '{' && g->id == enter && !inside) {
            inside = true;
            members_enter(s, g, &at);
            take(ctx, &(struct json_item){.kind = JS_OBJECT, .id = enter});
        } else {
            more = members_value(&at, g, end, take, ctx);
        }
    }
    assert(at.p >= s->p && at.p <= end && s->depth + 1 >= depth);
    if (at.p != s->p)
        s->some = at.last != JSON_OBJECT_START;
    s->p = at.p;
    s->last = (uint16_t)at.last;
    return s->depth < depth ? JS_END : JS_NULL;
}

#endif
