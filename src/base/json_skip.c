/* SPDX-License-Identifier: Apache-2.0 */
/* json_skip.c - the rest of an object or array, passed over 64 bytes at a time.
 *
 * Which bytes lie in texts follows from the quotes: a prefix xor turns the bits of the quotes into
 * runs of ones. Brackets outside are then counted, not visited. Only a block with a backslash is
 * gone through byte by byte. What lies inside is not checked, but a text that holds a newline is no
 * text: quotes went wrong before, and going on would lose everything behind. */
#include "base/json_scan_own.h"

struct pass {
    uint32_t depth;     /* of brackets open since the start, the first one included */
    bool text, escaped; /* the last byte so far was inside of a text; was a backslash there */
    bool broken;
};

static inline uint64_t runs_between(uint64_t quotes)
{
    for (unsigned shift = 1; shift < 64; shift *= 2)
        quotes ^= quotes << shift;
    return quotes;
}

#define INLINE static inline __attribute__((always_inline))

/* Number of the bit where the depth falls to zero, or 64. */
INLINE unsigned where_closed(uint64_t open, uint64_t close, uint32_t depth)
{
    unsigned closed = 0;
    for (uint64_t left = close; left; left &= left - 1) {
        const unsigned at = (unsigned)__builtin_ctzll(left);
        const uint64_t before = (1ull << at) - 1;
        closed++;
        if (depth + (unsigned)__builtin_popcountll(open & before) == closed)
            return at;
    }
    return 64;
}

static __attribute__((noinline)) unsigned pass_bytes(struct pass *k, const uint8_t *p, unsigned n)
{
    for (unsigned i = 0; i < n && !k->broken; i++) {
        if (k->escaped) {
            k->escaped = false;
        } else if (k->text) {
            k->broken = p[i] == '\n';
            k->escaped = p[i] == '\\';
            k->text = p[i] != '"';
        } else if (p[i] == '"') {
            k->text = true;
        } else if ((p[i] | 0x20) == '{') {
            k->depth++;
        } else if ((p[i] | 0x20) == '}' && --k->depth == 0) {
            return i;
        }
    }
    return 64;
}

/* The same for up to 64 bytes. Returns where the end is, or 64. */
INLINE unsigned pass_block(struct pass *k, const uint8_t *p, unsigned n)
{
    struct json_bits b;
    bits_64(p, &b);
    const uint64_t mask = n == 64 ? ~0ull : (1ull << n) - 1;
    if (__builtin_expect((b.backslash & mask) || k->escaped, 0))
        return pass_bytes(k, p, n);
    const uint64_t inside = runs_between(b.quote & mask) ^ (k->text ? ~0ull : 0);
    const uint64_t open = b.open & ~inside & mask, close = b.close & ~inside & mask;
    const unsigned closes = (unsigned)__builtin_popcountll(close);
    const unsigned at = closes >= k->depth ? where_closed(open, close, k->depth) : 64;
    const uint64_t before = at < 64 ? (1ull << at) - 1 : mask;
    k->broken = (b.newline & inside & before) != 0;
    if (at < 64 || k->broken)
        return k->broken ? 64 : at;
    k->depth += (unsigned)__builtin_popcountll(open) - closes;
    k->text = inside >> (n - 1) & 1;
    return 64;
}

/* As far as the window goes. JS_SHORT: further. */
INLINE enum json_kind pass_body(struct json_scan *s, struct pass *k, const uint8_t **at)
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
            return json_bad(s, p, "a text that does not end on its line");
        p += n;
    }
    *at = p;
    return JS_SHORT;
}

static enum json_kind pass_plain(struct json_scan *s, struct pass *k, const uint8_t **at)
{
    return pass_body(s, k, at);
}

#ifdef __x86_64__
__attribute__((target("avx2,popcnt,bmi"))) static enum json_kind
pass_wide(struct json_scan *s, struct pass *k, const uint8_t **at)
{
    return pass_body(s, k, at);
}
#else
#define pass_wide pass_plain
#endif

/* Every item is looked at. */
static enum json_kind strict_skip(struct json_scan *s)
{
    struct json_item it;
    const uint32_t outside = s->depth - 1;
    for (;;) {
        const enum json_kind k = json_next(s, &it);
        if (k >= JS_LOST || (k == JS_END && s->depth == outside))
            return k;
    }
}

enum json_kind json_skip(struct json_scan *s, struct json_text *raw)
{
    struct pass k = {.depth = 1};
    if (__builtin_expect(s->strict, 0)) {
        const uint8_t *from = s->p;
        const enum json_kind kind = strict_skip(s);
        if (raw && kind == JS_END)
            *raw = (struct json_text){(const char *)from, (uint32_t)(s->p - from), true, true};
        return kind;
    }
    const uint8_t *from = s->p, *at = from;
    for (;;) {
        enum json_kind kind = s->wide ? pass_wide(s, &k, &at) : pass_plain(s, &k, &at);
        if (__builtin_expect(kind == JS_END, 1)) {
            s->p = at;
            json_pop(s);
            s->last = s->in_object ? s->entered : 0;
            s->entered = 0;
            if (raw)
                *raw = (struct json_text){(const char *)from, (uint32_t)(at - from), true, true};
            return JS_END;
        }
        if (kind != JS_SHORT)
            return kind;
        /* What is held stays, and this goes on behind it; without a hold nothing need stay. */
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
