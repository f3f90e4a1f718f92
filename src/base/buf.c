/* SPDX-License-Identifier: Apache-2.0 */
/* buf.c - see buf.h. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "stored numbers are little-endian");

void buf_grow(struct buf *b, size_t more)
{
    size_t cap = b->cap ? b->cap : 256;
    while (cap - b->len < more)
        cap *= 2;
    b->p = xrealloc(b->p, cap, 1);
    b->cap = cap;
}

void buf_free(struct buf *b)
{
    free(b->p);
    *b = (struct buf){0};
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n > 0) {
        buf_reserve(b, (size_t)n + 1);
        vsnprintf((char *)b->p + b->len, (size_t)n + 1, fmt, again);
        b->len += (size_t)n;
    }
    va_end(again);
}

/* Two digits of each number below 100. */
static const char pairs[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536"
    "37383940414243444546474849505152535455565758596061626364656667686970717273"
    "7475767778798081828384858687888990919293949596979899";

static size_t digits_in(uint64_t v)
{
    size_t n = 1;
    for (; v >= 10000; v /= 10000)
        n += 4;
    return n + (v >= 10) + (v >= 100) + (v >= 1000);
}

void buf_int(struct buf *b, int64_t v)
{
    uint64_t left = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    const size_t n = digits_in(left) + (v < 0);
    buf_reserve(b, n);
    uint8_t *first = b->p + b->len, *at = first + n;
    for (; left >= 100; left /= 100)
        memcpy(at -= 2, pairs + 2 * (left % 100), 2);
    if (left >= 10)
        memcpy(at - 2, pairs + 2 * left, 2);
    else
        at[-1] = (uint8_t)('0' + left);
    if (v < 0)
        *first = '-';
    b->len += n;
}

void buf_varint(struct buf *b, uint64_t v)
{
    uint8_t bytes[10];
    size_t n = 0;
    while (v >= 0x80) {
        bytes[n++] = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    bytes[n++] = (uint8_t)v;
    buf_put(b, bytes, n);
}

void buf_str(struct buf *b, const char *s)
{
    const size_t n = strlen(s);
    buf_varint(b, n);
    buf_put(b, s, n);
}

void buf_base64(struct buf *b, const void *from, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *v = from;
    buf_reserve(b, (n + 2) / 3 * 4);
    uint8_t *p = b->p + b->len;
    for (size_t i = 0; i < n; i += 3, p += 4) {
        const size_t left = MIN_OF(n - i, (size_t)3);
        const uint32_t bits = (uint32_t)v[i] << 16 | (left > 1 ? (uint32_t)v[i + 1] << 8 : 0) |
                              (left > 2 ? (uint32_t)v[i + 2] : 0);
        p[0] = (uint8_t)digits[bits >> 18];
        p[1] = (uint8_t)digits[bits >> 12 & 63];
        p[2] = left > 1 ? (uint8_t)digits[bits >> 6 & 63] : '=';
        p[3] = left > 2 ? (uint8_t)digits[bits & 63] : '=';
    }
    b->len += (n + 2) / 3 * 4;
}

uint64_t cur_varint_long(struct cur *c)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const uint8_t *p = cur_take(c, 1);
        if (!p)
            return 0;
        v |= (uint64_t)(*p & 0x7f) << shift;
        if (!(*p & 0x80))
            return v;
    }
    c->bad = true;
    return 0;
}

uint64_t cur_varint_most(struct cur *c, uint64_t most)
{
    uint64_t v = cur_varint(c);
    if (v > most) {
        c->bad = true;
        return 0;
    }
    return v;
}

void cur_str(struct cur *c, char *out, size_t size)
{
    out[0] = 0;
    const size_t n = cur_varint_most(c, size - 1);
    const uint8_t *p = cur_take(c, n);
    if (!p || memchr(p, 0, n)) {
        c->bad = true;
        return;
    }
    memcpy(out, p, n);
    out[n] = 0;
}
