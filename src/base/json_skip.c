/* SPDX-License-Identifier: Apache-2.0 */
/* json_skip.c - the rest of an object or array, passed over. */
#include "base/json_pass.h"

unsigned json_pass_bytes(struct pass *k, const uint8_t *p, unsigned n)
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

/* As far as the window goes. JS_SHORT: further. */
INLINE enum json_kind pass_body(struct json_scan *s, struct pass *k, const uint8_t **at, bool wide)
{
    const uint8_t *p = *at;
    while (p < s->end) {
        const unsigned n = s->end - p < 64 ? (unsigned)(s->end - p) : 64;
        const unsigned end = pass_block(k, p, n, wide);
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

static enum json_kind pass_plain(struct json_scan *s, struct pass *k, const uint8_t **at)
{
    return pass_body(s, k, at, false);
}

#ifdef __x86_64__
__attribute__((target("avx2,popcnt,bmi"))) static enum json_kind
pass_wide(struct json_scan *s, struct pass *k, const uint8_t **at)
{
    return pass_body(s, k, at, true);
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
