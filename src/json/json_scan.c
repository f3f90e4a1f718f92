/* SPDX-License-Identifier: Apache-2.0 */
/* json_scan.c - one item after the other out of what is in the window.
 *
 * scan_item changes nothing in the scanner unless it has a whole item, so that it can be tried
 * again when the window has more. The way of a well-formed item is straight; everything else is
 * moved out of it into functions marked cold. */
#include <assert.h>

#include "base/mem.h"
#include "json/json_internal.h"

#define COLD __attribute__((noinline, cold))

const uint64_t json_powers[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

static const struct json_text no_text;

/* ---- keys by number ---- */

/* Three bytes and the length differ between most keys; all bytes are compared in the end. */
static uint32_t keys_hash(const char *p, size_t len)
{
    const uint8_t *b = (const uint8_t *)p;
    return len ? (uint32_t)len + b[0] * 3u + b[len / 2] * 61u + b[len - 1] * 17u : 0;
}

static uint32_t keys_slot(const struct json_keys *k, const char *p, size_t len)
{
    uint32_t i = keys_hash(p, len) % COUNT_OF(k->slots);
    for (; k->slots[i]; i = (i + 1) % COUNT_OF(k->slots)) {
        const uint32_t at = k->slots[i] - 1u;
        if (k->lens[at] == len && memcmp(k->names[at], p, len) == 0)
            break;
    }
    return i;
}

void json_keys_init(struct json_keys *k, const char *const *names, size_t n)
{
    assert(n <= JSON_KEYS_MOST);
    *k = (struct json_keys){.names = names, .n = (uint32_t)n};
    for (size_t i = 0; i < n; i++) {
        k->lens[i] = (uint32_t)strlen(names[i]);
        k->slots[keys_slot(k, names[i], k->lens[i])] = (uint8_t)(i + 1);
    }
}

uint32_t json_key_number(const struct json_keys *k, const struct json_text *t)
{
    return t->len ? k->slots[keys_slot(k, t->p, t->len)] : 0;
}

void json_keys_ignore(struct json_keys *k, uint32_t number)
{
    k->ignored[number] = 1;
}

/* ---- strings ---- */

/* A quote that ought to have had a backslash, or a backslash too many before the closing one: the
 * text continues to the first quote that something sensible follows, on the same line; a key also
 * within the same object. NULL: there is none. The window's end: perhaps beyond it. */
static COLD const uint8_t *scan_mend_string(const struct json_scan *s, const uint8_t *from,
                                            bool key)
{
    for (const uint8_t *q = from; *q != '\n'; q++) {
        if (q >= s->end)
            return s->end;
        if (key && (*q == '{' || *q == '}'))
            return NULL;
        if (*q != '"')
            continue;
        const uint8_t *next = json_space(q + 1);
        if (next >= s->end)
            return s->end;
        if (key ? *next == ':' : *next == ',' || *next == '}' || *next == ']')
            return q;
    }
    return NULL;
}

/* What follows the text is not what may follow it. */
static COLD enum json_kind scan_odd_string(struct json_scan *s, const uint8_t *from, bool key,
                                           struct json_text *out, const uint8_t **next)
{
    const char *const what = key ? "key without a colon" : "string without an end";
    const uint8_t *q = scan_mend_string(s, from, key);
    if (q == s->end && !s->ended)
        return JS_SHORT;
    if (!q || q == s->end)
        return json_bad(s, from, what);
    json_fault(s, &s->faults.quotes);
    *out = json_text_of(from, q, STRING_ESCAPED | STRING_HIGH);
    *next = json_space(q + 1);
    return JS_STRING;
}

/* Control characters in a text that ends at `end`. */
static COLD enum json_kind scan_control_character(struct json_scan *s, const uint8_t *from,
                                                  const uint8_t *end)
{
    /* The newline that was added at the end of the input does not count. */
    const uint8_t *const last = end < s->end ? end : s->end - s->ended;
    if (from < last && memchr(from, '\n', (size_t)(last - from)))
        return json_bad(s, from, "string without an end on its line");
    if (end >= s->end)
        return JS_SHORT;
    json_fault(s, &s->faults.controls);
    return JS_STRING;
}

/* `from` is after the opening quote. The text, and the first byte after it that is no white
 * space. */
JSON_INLINE enum json_kind scan_string(struct json_scan *s, const uint8_t *from, bool key,
                                       struct json_text *out, const uint8_t **next)
{
    unsigned flags = 0;
    const uint8_t *q = json_string_end(from, &flags);
    if (__builtin_expect(flags & STRING_CONTROL, 0)) {
        const enum json_kind k = scan_control_character(s, from, q);
        if (k != JS_STRING)
            return k;
    }
    if (q >= s->end)
        return JS_SHORT;
    *out = json_text_of(from, q, flags);
    const uint8_t *r = json_space(q + 1);
    *next = r;
    if (r >= s->end && (s->depth || !s->ended))
        return JS_SHORT;
    const bool fine = key ? *r == ':' : *r == ',' || *r == '}' || *r == ']';
    if (__builtin_expect(!fine && (key || s->depth), 0))
        return scan_odd_string(s, from, key, out, next);
    return JS_STRING;
}

/* ---- numbers and words ---- */

const uint8_t *json_long_number(const uint8_t *p, struct json_number *out)
{
    const uint8_t *q = json_scan_number(p, out);
    return q && json_ends_value(*q) ? q : NULL;
}

static const struct {
    const char *text;
    size_t len;
    enum json_kind kind;
} literals[] = {{"true", 4, JS_TRUE}, {"false", 5, JS_FALSE}, {"null", 4, JS_NULL}};

static COLD enum json_kind scan_odd_word(struct json_scan *s, const uint8_t *p,
                                         struct json_item *out, const uint8_t **next)
{
    const uint8_t *q = p;
    while (q < s->end && !json_ends_value(*q) && *q != '"' && *q != ':')
        q++;
    if (q >= s->end)
        return JS_SHORT;
    if (q == p || !json_ends_value(*q))
        return json_bad(s, p, "missing value");
    const bool number = (*p >= '0' && *p <= '9') || *p == '.' || *p == '+';
    json_fault(s, number ? &s->faults.numbers : &s->faults.words);
    out->text = json_text_of(p, q, STRING_HIGH);
    *next = q;
    return JS_WORD;
}

/* true, false, null; else whatever there is. */
JSON_INLINE enum json_kind scan_word(struct json_scan *s, const uint8_t *p, struct json_item *out,
                                     const uint8_t **next)
{
    for (size_t i = 0; i < sizeof literals / sizeof *literals; i++) {
        const uint8_t *q = p + literals[i].len;
        if (memcmp(p, literals[i].text, literals[i].len) != 0 || q >= s->end)
            continue;
        if (!json_ends_value(*q))
            break;
        *next = q;
        return literals[i].kind;
    }
    return scan_odd_word(s, p, out, next);
}

/* A number at the very end of the input may have had more digits, unless it is all there is. */
static COLD bool scan_is_cut_off(const struct json_scan *s, const uint8_t *end)
{
    return end >= s->end || (s->ended && s->depth);
}

JSON_INLINE enum json_kind scan_numeric(struct json_scan *s, const uint8_t *p,
                                        struct json_item *out, const uint8_t **next)
{
    const uint8_t *q = json_scan_number(p, &out->number);
    if (__builtin_expect(!q, 0))
        return scan_odd_word(s, p, out, next);
    if (__builtin_expect(q + 1 >= s->end, 0) && scan_is_cut_off(s, q))
        return JS_SHORT;
    if (__builtin_expect(!json_ends_value(*q), 0))
        return scan_odd_word(s, p, out, next);
    out->text = json_text_of(p, q, 0);
    *next = q;
    return JS_NUMBER;
}

/* ---- items ---- */

JSON_INLINE enum json_kind scan_enter(struct json_scan *s, const uint8_t *p, uint8_t id,
                                      bool object)
{
    json_push(s, object);
    s->p = p + 1;
    s->entered = id;
    s->last = object && s->keys ? JSON_OBJECT_START : 0;
    return object ? JS_OBJECT : JS_ARRAY;
}

JSON_INLINE enum json_kind scan_value(struct json_scan *s, const uint8_t *p, struct json_item *out)
{
    const uint8_t *next = p;
    enum json_kind k;
    out->text = no_text;
    if (__builtin_expect(s->depth >= JSON_DEPTH_MOST, 0) && p < s->end) {
        s->faults.deep++;
        return json_pass_over(s);
    }
    if (*p == '"')
        k = scan_string(s, p + 1, false, &out->text, &next);
    else if ((*p >= '0' && *p <= '9') || *p == '-')
        k = scan_numeric(s, p, out, &next);
    else if (*p == '{' || *p == '[')
        return scan_enter(s, p, (uint8_t)out->id, *p == '{');
    else
        k = scan_word(s, p, out, &next);
    if (k > JS_WORD)
        return k;
    s->p = next;
    s->some = true;
    s->last = (uint16_t)out->id;
    return k;
}

/* Caches the gap between the item before and the value, in place of the older one of two. */
static void scan_learn_gap(struct json_scan *s, const struct json_item *it, const uint8_t *from,
                           const uint8_t *value)
{
    struct json_gap *g = s->keys->gaps[s->last];
    const size_t len = (size_t)(value - from);
    if (!s->last || !it->id || len > JSON_GAP_LEN || value >= s->end)
        return;
    g[1] = g[0];
    json_gap_set(g, from, len);
    g->key_at = (uint8_t)((const uint8_t *)it->key.p - from);
    g->key_len = (uint8_t)it->key.len;
    g->id = (uint8_t)it->id;
    g->ignored = s->keys->ignored[it->id];
}

JSON_INLINE enum json_kind scan_member(struct json_scan *s, const uint8_t *p, bool comma,
                                       struct json_item *out)
{
    const uint8_t *colon;
    if (*p != '"')
        return json_bad(s, p, "missing key");
    const enum json_kind k = scan_string(s, p + 1, true, &out->key, &colon);
    if (k != JS_STRING)
        return k;
    const uint8_t *value = json_space(colon + 1);
    out->id = 0;
    if (s->keys) {
        out->id = json_key_number(s->keys, &out->key);
        if (comma == s->some) /* what was repaired is not learned */
            scan_learn_gap(s, out, s->p, value);
    }
    return scan_value(s, value, out);
}

static COLD void scan_odd_close(struct json_scan *s, bool comma, bool mismatch)
{
    if (comma)
        json_fault(s, &s->faults.commas);
    if (mismatch)
        json_fault(s, &s->faults.brackets);
}

JSON_INLINE enum json_kind scan_leave(struct json_scan *s, const uint8_t *p, bool comma)
{
    const bool mismatch = (*p == '}') != s->in_object;
    if (__builtin_expect(comma || mismatch, 0))
        scan_odd_close(s, comma, mismatch);
    s->p = p + 1;
    json_pop(s);
    return JS_END;
}

static enum json_kind scan_top(struct json_scan *s, const uint8_t *p, struct json_item *out)
{
    out->key = no_text;
    out->id = 0;
    if (s->some && !s->many) { /* after the end of the one value there is */
        s->faults.trailing += p < s->end;
        return p < s->end ? JS_DONE : JS_SHORT;
    }
    if (!s->some && memcmp(p, "\xef\xbb\xbf", 3) == 0) /* a byte order mark */
        p = json_space(p + 3);
    return p >= s->end ? JS_SHORT : scan_value(s, p, out);
}

JSON_INLINE enum json_kind scan_item(struct json_scan *s, struct json_item *out)
{
    if (s->last) {
        const struct json_gap *g = json_gap_at(s->keys, s->last, s->p);
        if (g) {
            out->id = g->id;
            out->key = (struct json_text){(const char *)s->p + g->key_at, g->key_len, false, false};
            return scan_value(s, json_space(s->p + g->len), out);
        }
    }
    const uint8_t *p = json_space(s->p);
    bool comma = false;
    if (__builtin_expect(s->depth == 0, 0))
        return scan_top(s, p, out);
    if (s->some) {
        comma = *p == ',';
        if (comma) {
            p = json_space(p + 1);
        } else if (__builtin_expect(*p != '}' && *p != ']', 0)) {
            if (p >= s->end)
                return JS_SHORT;
            json_fault(s, &s->faults.commas); /* and on as if there were one */
        }
    }
    if (*p == '}' || *p == ']')
        return scan_leave(s, p, comma);
    if (s->in_object)
        return scan_member(s, p, comma, out);
    out->key = no_text;
    out->id = 0;
    return p >= s->end ? JS_SHORT : scan_value(s, p, out);
}

enum json_kind json_next(struct json_scan *s, struct json_item *out)
{
    for (;;) {
        enum json_kind k = scan_item(s, out);
        if (__builtin_expect(k == JS_SHORT, 0)) {
            k = json_more(s);
            if (k == JS_SHORT)
                continue;
        }
        if (__builtin_expect(s->noted, 0) && !s->hold)
            s->noted = false; /* what was repaired stays counted */
        return out->kind = k;
    }
}
