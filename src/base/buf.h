/* SPDX-License-Identifier: Apache-2.0 */
/* buf.h - bytes written (struct buf, grows) and bytes read (struct cur, bounded).
 * All numbers are little-endian and go through memcpy. A cur from which more is read than it has
 * turns bad, stays bad and answers zeros, so a decoder checks `cur.bad` once at the end; sizes read
 * from it are compared with a limit before they are used. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct buf {
    uint8_t *p;
    size_t len, cap;
};

void buf_grow(struct buf *b, size_t more);
void buf_free(struct buf *b);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Room for `more` bytes after len. */
static inline void buf_reserve(struct buf *b, size_t more)
{
    if (b->cap - b->len < more)
        buf_grow(b, more);
}

static inline void buf_put(struct buf *b, const void *p, size_t n)
{
    buf_reserve(b, n);
    if (n)
        memcpy(b->p + b->len, p, n);
    b->len += n;
}

/* A number, and its other direction below. */
#define BUF_NUMBER(name, type)                                                                     \
    static inline void buf_##name(struct buf *b, type v)                                           \
    {                                                                                              \
        buf_put(b, &v, sizeof v);                                                                  \
    }
BUF_NUMBER(u8, uint8_t)
BUF_NUMBER(u16, uint16_t)
BUF_NUMBER(u32, uint32_t)
BUF_NUMBER(u64, uint64_t)
BUF_NUMBER(f64, double)
#undef BUF_NUMBER

/* The characters of a text, without its end. */
static inline void buf_text(struct buf *b, const char *s)
{
    buf_put(b, s, strlen(s));
}

/* Decimal digits, without the cost of printf. */
void buf_int(struct buf *b, int64_t v);
void buf_varint(struct buf *b, uint64_t v);
/* Length as varint, then the bytes. */
void buf_str(struct buf *b, const char *s);
void buf_base64(struct buf *b, const void *from, size_t n); /* with = at the end, no lines */

static inline uint64_t zigzag(int64_t v)
{
    return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static inline int64_t unzigzag(uint64_t v)
{
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

struct cur {
    const uint8_t *p, *end;
    bool bad;
};

static inline struct cur cur_of(const void *p, size_t n)
{
    const uint8_t *b = p;
    return (struct cur){b, n ? b + n : b, false};
}

static inline size_t cur_left(const struct cur *c)
{
    return (size_t)(c->end - c->p);
}

/* The next n bytes, or NULL (and bad) when there are fewer. */
static inline const uint8_t *cur_take(struct cur *c, size_t n)
{
    if (c->bad || cur_left(c) < n) {
        c->bad = true;
        return NULL;
    }
    const uint8_t *p = c->p;
    c->p += n;
    return p;
}

static inline void cur_get(struct cur *c, void *out, size_t n)
{
    const uint8_t *p = cur_take(c, n);
    if (p)
        memcpy(out, p, n);
    else
        memset(out, 0, n);
}

#define CUR_NUMBER(name, type)                                                                     \
    static inline type cur_##name(struct cur *c)                                                   \
    {                                                                                              \
        type v;                                                                                    \
        cur_get(c, &v, sizeof v);                                                                  \
        return v;                                                                                  \
    }
CUR_NUMBER(u8, uint8_t)
CUR_NUMBER(u16, uint16_t)
CUR_NUMBER(u32, uint32_t)
CUR_NUMBER(u64, uint64_t)
CUR_NUMBER(f64, double)
#undef CUR_NUMBER

uint64_t cur_varint_long(struct cur *c); /* of any length */

/* Most are one byte. */
static inline uint64_t cur_varint(struct cur *c)
{
    return !c->bad && c->p < c->end && *c->p < 0x80 ? *c->p++ : cur_varint_long(c);
}

/* A varint that must be at most `most`; larger turns the cursor bad and answers 0. */
uint64_t cur_varint_most(struct cur *c, uint64_t most);
/* Copies a buf_str of at most size-1 bytes; longer, or one with a NUL inside, turns it bad. */
void cur_str(struct cur *c, char *out, size_t size);

#endif
