/* SPDX-License-Identifier: Apache-2.0 */
/* json_skip.c - past what is not wanted, does not fit or cannot be read.
 *
 * Skipping goes 64 bytes at a time. Which bytes are inside strings follows from the quotes: a
 * prefix xor turns the bits of the quotes into runs of ones.
 *
 *     bytes    ] , " a ] " : [ 1 ] }
 *     quotes   0 0 1 0 0 1 0 0 0 0 0
 *     inside   0 0 1 1 1 0 0 0 0 0 0
 *     brackets 1 0 0 0 - 0 0 1 0 1 1
 *
 * Brackets outside strings are then counted, not visited. Only a block with a backslash is read
 * byte by byte. What is skipped is not checked, but a string with a newline in it is no string:
 * a quote was lost before, and continuing would lose everything after it. */
#include "json/json_internal.h"

struct json_pass {
    uint32_t depth;       /* brackets open since the start, the first one included */
    bool string, escaped; /* the last byte so far was inside of a string; was a backslash there */
    bool broken;
};

static uint64_t pass_runs_between(uint64_t quotes)
{
    for (unsigned shift = 1; shift < 64; shift *= 2)
        quotes ^= quotes << shift;
    return quotes;
}

/* Number of the bit where the depth falls to zero, or 64. */
static unsigned pass_brackets(struct json_pass *k, uint64_t open, uint64_t close)
{
    for (uint64_t left = open | close; left; left &= left - 1) {
        assert(k->depth > 0);
        k->depth += open & left & (0 - left) ? 1u : UINT32_MAX;
        if (k->depth == 0)
            return (unsigned)__builtin_ctzll(left);
    }
    return 64;
}

/* n bytes one by one. Returns where the end is, or 64. */
static unsigned pass_bytes(struct json_pass *k, const uint8_t *p, unsigned n)
{
    for (unsigned i = 0; i < n && !k->broken; i++) {
        if (k->escaped) {
            k->escaped = false;
        } else if (k->string) {
            k->broken = p[i] == '\n';
            k->escaped = p[i] == '\\';
            k->string = p[i] != '"';
        } else if (p[i] == '"') {
            k->string = true;
        } else if ((p[i] | 0x20) == '{') {
            k->depth++;
        } else if ((p[i] | 0x20) == '}' && --k->depth == 0) {
            return i;
        }
    }
    return 64;
}

/* The same for up to 64 bytes. */
static unsigned pass_block(struct json_pass *k, const uint8_t *p, unsigned n)
{
    struct json_bits b;
    assert(n > 0 && n <= 64);
    json_bits_64(p, &b);
    const uint64_t mask = n == 64 ? ~0ull : (1ull << n) - 1;
    if (__builtin_expect((b.backslash & mask) || k->escaped, 0))
        return pass_bytes(k, p, n);
    const uint64_t inside = pass_runs_between(b.quote & mask) ^ (k->string ? ~0ull : 0);
    const unsigned at = pass_brackets(k, b.open & ~inside & mask, b.close & ~inside & mask);
    const uint64_t before = at < 64 ? (1ull << at) - 1 : mask;
    k->broken = (b.newline & inside & before) != 0;
    k->string = inside >> (n - 1) & 1;
    return k->broken ? 64 : at;
}

/* As far as the window goes. JS_SHORT: further. */
static enum json_kind pass_window(struct json_scan *s, struct json_pass *k, const uint8_t **at)
{
    const uint8_t *p = *at;
    while (p < s->end) {
        const unsigned n = s->end - p < 64 ? (unsigned)(s->end - p) : 64;
        const unsigned end = pass_block(k, p, n);
        if (end < 64) {
            *at = p + end + 1;
            return JS_END;
        }
        if (k->broken)
            return json_bad(s, p, "string without an end on its line");
        p += n;
    }
    *at = p;
    return JS_SHORT;
}

const uint8_t *json_pass_array(const uint8_t *v, const uint8_t *end)
{
    struct json_pass k = {.depth = 1};
    assert(*v == '[' && v < end);
    for (const uint8_t *p = v + 1; p < end && !k.broken; p += 64) {
        const unsigned n = end - p < 64 ? (unsigned)(end - p) : 64;
        const unsigned at = pass_block(&k, p, n);
        if (at < 64)
            return p + at + 1;
    }
    return NULL;
}

enum json_kind json_skip(struct json_scan *s, struct json_text *raw)
{
    struct json_pass k = {.depth = 1};
    const uint8_t *from = s->p, *at = from;
    for (;;) {
        enum json_kind kind = pass_window(s, &k, &at);
        if (__builtin_expect(kind == JS_END, 1)) {
            s->p = at;
            json_pop(s);
            if (raw)
                *raw = (struct json_text){(const char *)from, (uint32_t)(at - from), true, true};
            return JS_END;
        }
        if (kind != JS_SHORT)
            return kind;
        /* What is after the hold stays, and this continues after it; without one nothing has to. */
        if (!s->hold)
            s->p = s->end;
        const size_t done = (size_t)(at - s->p);
        kind = json_more(s);
        if (kind != JS_SHORT)
            return kind;
        from = s->p;
        at = s->p + done;
    }
}

enum json_kind json_each(struct json_scan *s,
                         enum json_kind (*take)(void *ctx, const struct json_item *it), void *ctx)
{
    for (;;) {
        struct json_item it;
        enum json_kind kind = json_next(s, &it);
        if (kind == JS_END || kind >= JS_LOST)
            return kind;
        kind = take(ctx, &it);
        if (kind == JS_NULL && it.kind <= JS_ARRAY)
            kind = json_skip(s, NULL);
        if (kind >= JS_LOST)
            return kind;
    }
}

/* ---- byte by byte, for what is rare ---- */

/* The line that begins here, or after white space; JS_DONE or JS_CUT at the end of the input. */
static enum json_kind pass_line(struct json_scan *s, enum json_kind then)
{
    int c = json_next_byte(s);
    for (bool any = false; c >= 0 && !(any && c == '\n'); c = json_next_byte(s))
        any = any || c > ' ';
    return c < 0 ? json_out_of_bytes(s) : then;
}

/* A comma before the item belongs to it; the one after it, or the bracket, stays. */
enum json_kind json_pass_over(struct json_scan *s)
{
    unsigned depth = 0;
    bool text = false, any = false;
    s->hold = NULL;
    s->last = s->entered = 0;
    if (s->many && s->depth == 0)
        return pass_line(s, JS_LOST);
    for (int c = json_next_byte(s); c >= 0; c = json_next_byte(s)) {
        if (text) {
            if (c == '\\')
                json_next_byte(s);
            text = c != '"' && c != '\n';
        } else if (depth == 0 && any && (c == ',' || c == '}' || c == ']')) {
            s->p--;
            s->some = true;
            return JS_LOST;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            depth -= depth > 0;
        } else {
            text = c == '"';
        }
        any = any || (c > ' ' && c != ',');
    }
    return json_out_of_bytes(s);
}

enum json_kind json_recover(struct json_scan *s)
{
    /* "}" "," "{", white space between them */
    enum { NOWHERE, CLOSED, COMMA } state = NOWHERE;
    if (s->hold)
        json_back_to_hold(s);
    s->hold = NULL;
    s->last = s->entered = 0;
    s->faults.unread++;
    if (s->many && s->depth == 0)
        return pass_line(s, JS_END);
    for (int c = json_next_byte(s); c >= 0; c = json_next_byte(s)) {
        if (c == '{' && state == COMMA) {
            s->p--;
            s->some = false;
            return JS_END;
        }
        if (c == '}')
            state = CLOSED;
        else if (c == ',' && state == CLOSED)
            state = COMMA;
        else if (c > ' ')
            state = NOWHERE;
    }
    return json_out_of_bytes(s);
}

/* ---- the objects of an array ---- */

/* Leaves what was read wrongly: back to the array. */
static enum json_kind elements_leave(struct json_scan *s, uint32_t depth)
{
    enum json_kind kind = JS_END;
    s->faults.unread++;
    while (kind == JS_END && s->depth > depth)
        kind = json_skip(s, NULL);
    return kind;
}

/* The result for one element: JS_END continues. */
static enum json_kind elements_settle(struct json_elements *x, enum json_kind kind, bool object,
                                      uint32_t depth)
{
    if (kind == JS_BAD)
        return json_recover(x->scan);
    if (kind == JS_LOST)
        return elements_leave(x->scan, depth);
    if (kind == JS_AGAIN)
        return JS_END;
    if (json_is_over(kind))
        return kind;
    if (object)
        x->emit(x->ctx);
    else
        x->others++;
    return JS_END;
}

enum json_kind json_elements(struct json_elements *x)
{
    const uint32_t depth = x->scan->depth;
    struct json_item it;
    enum json_kind kind = JS_END;
    while (kind == JS_END) {
        json_hold(x->scan);
        kind = json_next(x->scan, &it);
        if (kind == JS_END)
            break;
        x->unclosed = kind == JS_CUT;
        const bool object = kind == JS_OBJECT;
        if (object)
            kind = x->read(x->ctx);
        else if (kind == JS_ARRAY)
            kind = json_skip(x->scan, NULL);
        kind = elements_settle(x, kind, object, depth);
    }
    json_release(x->scan);
    return kind;
}
