/* SPDX-License-Identifier: Apache-2.0 */
/* json_elements.h - the elements of an array read as an importer of traces does, with json_members
 * or without it, as a number that says what was read. */
#ifndef TESTS_JSON_JSON_ELEMENTS_H
#define TESTS_JSON_JSON_ELEMENTS_H

#include "base/mem.h"
#include "json/json_members.h"

enum { ELEMENT_ARGS = 5 }; /* 1 + the index of "args" in element_names */

static const char *const element_names[] = {"a", "b", "ph", "name", "args", "ts"};

/* What json_members gives, as a list; `n` goes on counting when it is full. */
struct members_list {
    struct json_item *items;
    size_t n, most;
};

JSON_INLINE void members_put(void *ctx, const struct json_item *it)
{
    struct members_list *l = ctx;
    if (l->n < l->most)
        l->items[l->n] = *it;
    l->n++;
}

/* How many items there are, the end of the object included. */
static inline size_t list_members(struct json_scan *s, uint32_t enter, struct json_item *out,
                                  size_t most)
{
    struct members_list l = {out, 0, most};
    if (json_members(s, enter, members_put, &l) != JS_END)
        return l.n;
    members_put(&l, &(struct json_item){.kind = JS_END});
    return l.n;
}

struct elements {
    struct json_scan s;
    struct json_keys keys;
    bool many;
    bool in_args;
    uint64_t h;          /* of the element at hand */
    uint64_t sum;        /* of all that were read whole */
    uint64_t by_members; /* items that json_members gave */
};

static inline void elements_open(struct elements *x, struct bytes_in *in,
                                 const struct json_options *o, bool many)
{
    struct json_options with = *o;
    *x = (struct elements){.many = many};
    json_keys_init(&x->keys, element_names, COUNT_OF(element_names));
    with.keys = &x->keys;
    json_open(&x->s, in, &with);
}

static inline uint64_t element_mix(uint64_t h, uint64_t v)
{
    return (h ^ v) * 1099511628211u;
}

static inline uint64_t element_text(uint64_t h, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = element_mix(h, (uint8_t)p[i]);
    return element_mix(h, n);
}

/* JS_NULL: go on; JS_END: the element is over. */
static inline enum json_kind element_take(struct elements *x, const struct json_item *it,
                                          enum json_kind kind, const char *text, size_t len)
{
    int64_t v;
    x->h = element_mix(x->h, (uint64_t)kind);
    if (kind == JS_END) {
        const bool over = !x->in_args;
        x->in_args = false;
        return over ? JS_END : JS_NULL;
    }
    const struct json_text key = json_item_key(&x->keys, it);
    x->h = element_mix(element_text(x->h, key.p, key.len), it->id);
    x->h = element_text(x->h, text, len);
    if (kind == JS_NUMBER && json_int(it, &v))
        x->h = element_mix(x->h, (uint64_t)v);
    if (kind == JS_NUMBER && json_us_to_ns(it, &v))
        x->h = element_mix(x->h, (uint64_t)v);
    x->in_args = x->in_args || kind == JS_OBJECT;
    return JS_NULL;
}

static inline enum json_kind element_next(struct elements *x)
{
    struct json_item it;
    struct json_text raw;
    const enum json_kind kind = json_next(&x->s, &it);
    if (kind >= JS_LOST)
        return kind;
    if (kind == JS_ARRAY || (kind == JS_OBJECT && (x->in_args || it.id != ELEMENT_ARGS))) {
        const enum json_kind end = json_skip(&x->s, &raw);
        if (end != JS_END)
            return end;
        return element_take(x, &it, JS_ARRAY, raw.p - 1, raw.len + 1ul);
    }
    return element_take(x, &it, kind, it.text.p, it.text.len);
}

JSON_INLINE void element_member(void *ctx, const struct json_item *it)
{
    struct elements *x = ctx;
    const bool bare = it->kind == JS_END || it->kind == JS_OBJECT;
    x->by_members++;
    element_take(x, it, it->kind, it->text.p, bare ? 0 : it->text.len);
}

static inline enum json_kind element_members(struct elements *x)
{
    const uint32_t enter = x->in_args ? 0 : ELEMENT_ARGS;
    if (!x->many || json_members(&x->s, enter, element_member, x) != JS_END)
        return JS_NULL;
    x->by_members++;
    return element_take(x, NULL, JS_END, NULL, 0);
}

static inline enum json_kind element_read(struct elements *x)
{
    enum json_kind kind = JS_NULL;
    x->in_args = false;
    while (kind == JS_NULL) {
        kind = element_members(x);
        if (kind == JS_NULL)
            kind = element_next(x);
    }
    return kind;
}

/* The whole input; what ended it. */
static inline enum json_kind elements_read(struct elements *x)
{
    struct json_item it;
    enum json_kind kind = json_next(&x->s, &it);
    while (kind == JS_ARRAY || kind == JS_END || kind == JS_AGAIN || kind < JS_LOST) {
        x->h = 1;
        json_hold(&x->s);
        kind = json_next(&x->s, &it);
        if (kind == JS_OBJECT)
            kind = element_read(x);
        else if (kind == JS_ARRAY && x->s.depth > 1)
            kind = json_skip(&x->s, NULL);
        if (kind < JS_LOST)
            x->sum += x->h;
        if (kind == JS_BAD || kind == JS_LOST) {
            kind = kind == JS_BAD ? json_recover(&x->s) : JS_END;
            while (kind == JS_END && x->s.depth > 1)
                kind = json_skip(&x->s, NULL);
        }
    }
    json_release(&x->s);
    return kind;
}

#endif
