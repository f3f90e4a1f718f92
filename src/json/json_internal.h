/* SPDX-License-Identifier: Apache-2.0 */
/* json_internal.h - between the files of the scanner: numbers, predicted gaps, changes of state. */
#ifndef JSON_JSON_INTERNAL_H
#define JSON_JSON_INTERNAL_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "json/json.h"

/* ---- many bytes at once ---- */

/* The few operations of the scanner on many bytes at once.
 *
 *     json_space      where does white space end?
 *     json_string_end where does the string end?
 *     json_same_32    are these the bytes that are expected?
 *     json_bits_64    which of 64 bytes are quotes, backslashes, brackets, newlines?
 *     json_digits_8   how many digits are there, and what number are they?
 *
 * Each is implemented with SSE2 on x86-64 and in plain C elsewhere. Nothing else in the library
 * knows about vector registers.
 *
 * JSON_PAD quotes follow the window. A quote ends each of these loops, so none compares with the
 * end of the window: the caller compares the result. A load reaches 63 bytes beyond the end at
 * most. */

enum { STRING_ESCAPED = 1, STRING_HIGH = 2, STRING_CONTROL = 4 };

/* One bit per byte. `[` counts as `{`, and `]` as `}`. */
struct json_bits {
    uint64_t quote, backslash, open, close, newline;
};

enum { JSON_STEP = 16 };

#ifdef __x86_64__
#include <immintrin.h>

/* JSON_STEP bytes: a bit for each byte that may end a string, and for each beyond ASCII. */
static inline uint32_t json_string_stops(const uint8_t *p, uint32_t *high)
{
    const __m128i v = _mm_loadu_si128((const __m128i_u *)p);
    const __m128i quote = _mm_cmpeq_epi8(v, _mm_set1_epi8('"'));
    const __m128i backslash = _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'));
    const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1f)), v);
    *high = (uint32_t)_mm_movemask_epi8(v);
    return (uint32_t)_mm_movemask_epi8(_mm_or_si128(quote, _mm_or_si128(backslash, control)));
}

static inline unsigned json_space_stops(const uint8_t *p)
{
    const __m128i v = _mm_loadu_si128((const __m128i_u *)p);
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(v, _mm_set1_epi8(' ' + 1)), v));
}

/* One bit for each of 32 bytes that are equal. */
static inline uint32_t json_same_32(const uint8_t *p, const uint8_t *q)
{
    uint32_t same[2];
    for (unsigned i = 0; i < 2; i++) {
        const __m128i a = _mm_loadu_si128((const __m128i_u *)(p + 16 * i));
        const __m128i b = _mm_loadu_si128((const __m128i_u *)(q + 16 * i));
        same[i] = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(a, b));
    }
    return same[0] | same[1] << 16;
}

static inline uint64_t json_equal_16(__m128i v, char c)
{
    return (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8(c)));
}

static inline void json_bits_64(const uint8_t *p, struct json_bits *out)
{
    *out = (struct json_bits){0};
    for (unsigned i = 0; i < 64; i += 16) {
        const __m128i v = _mm_loadu_si128((const __m128i_u *)(p + i));
        const __m128i low = _mm_or_si128(v, _mm_set1_epi8(0x20)); /* [ and { alike */
        out->quote |= json_equal_16(v, '"') << i;
        out->backslash |= json_equal_16(v, '\\') << i;
        out->open |= json_equal_16(low, '{') << i;
        out->close |= json_equal_16(low, '}') << i;
        out->newline |= json_equal_16(v, '\n') << i;
    }
}

#else

static inline uint32_t json_string_stops(const uint8_t *p, uint32_t *high)
{
    uint32_t stops = 0;
    *high = 0;
    for (unsigned i = 0; i < JSON_STEP; i++) {
        stops |= (uint32_t)(p[i] == '"' || p[i] == '\\' || p[i] < 0x20) << i;
        *high |= (uint32_t)(p[i] >> 7) << i;
    }
    return stops;
}

static inline unsigned json_space_stops(const uint8_t *p)
{
    unsigned stops = 0;
    for (unsigned i = 0; i < 16; i++)
        stops |= (unsigned)(p[i] > ' ') << i;
    return stops;
}

static inline uint32_t json_same_32(const uint8_t *p, const uint8_t *q)
{
    uint32_t same = 0;
    for (unsigned i = 0; i < 32; i++)
        same |= (uint32_t)(p[i] == q[i]) << i;
    return same;
}

static inline void json_bits_64(const uint8_t *p, struct json_bits *out)
{
    *out = (struct json_bits){0};
    for (unsigned i = 0; i < 64; i++) {
        out->quote |= (uint64_t)(p[i] == '"') << i;
        out->backslash |= (uint64_t)(p[i] == '\\') << i;
        out->open |= (uint64_t)((p[i] | 0x20) == '{') << i;
        out->close |= (uint64_t)((p[i] | 0x20) == '}') << i;
        out->newline |= (uint64_t)(p[i] == '\n') << i;
    }
}

#endif

/* ---- the operations ---- */

/* The first byte from p on that is no white space. Other control characters count as white space.
 */
static inline const uint8_t *json_space(const uint8_t *p)
{
    if (*p > ' ')
        return p;
    if (*++p > ' ')
        return p;
    for (;; p += 16) {
        const unsigned stops = json_space_stops(p);
        if (stops)
            return p + __builtin_ctz(stops);
    }
}

/* p is after the opening quote; returns where the closing one is. */
static inline const uint8_t *json_string_end(const uint8_t *p, unsigned *flags)
{
    for (;;) {
        uint32_t high;
        const uint32_t stops = json_string_stops(p, &high);
        if (!stops) {
            *flags |= high ? STRING_HIGH : 0u;
            p += JSON_STEP;
            continue;
        }
        const unsigned i = (unsigned)__builtin_ctz(stops);
        *flags |= high & ((1u << i) - 1) ? STRING_HIGH : 0u;
        if (__builtin_expect(p[i] == '"', 1))
            return p + i;
        if (p[i] == '\\') {
            *flags |= STRING_ESCAPED | (p[i + 1] & 0x80 ? STRING_HIGH : 0u) |
                      (p[i + 1] < 0x20 ? STRING_CONTROL : 0u);
            p += i + 2;
            continue;
        }
        *flags |= STRING_CONTROL;
        p += i + 1;
    }
}

#define JSON_EACH_BYTE(c) (0x0101010101010101u * (uint64_t)(c))

/* How many decimal digits are at p, at most 8, and all 8 bytes xor '0'. */
static inline unsigned json_count_digits_8(const uint8_t *p, uint64_t *bytes)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    v ^= JSON_EACH_BYTE('0');
    const uint64_t other =
        (((v & JSON_EACH_BYTE(0x7f)) + JSON_EACH_BYTE(0x76)) | v) & JSON_EACH_BYTE(0x80);
    *bytes = v;
    return other ? (unsigned)__builtin_ctzll(other) / 8 : 8;
}

/* The value of the first n of them; n is not 0. Neighbours are added up: pairs, fours, eight. */
static inline uint64_t json_value_of_8(uint64_t v, unsigned n)
{
    v <<= 8 * (8 - n); /* leading zeros in front */
    v = v * 10 + (v >> 8);
    v = ((v & 0x000000ff000000ffu) * 0x000f424000000064u +
         ((v >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u) >>
        32;
    return v & 0xffffffffu;
}

static inline unsigned json_digits_8(const uint8_t *p, uint64_t *value)
{
    uint64_t bytes;
    const unsigned n = json_count_digits_8(p, &bytes);
    *value = n ? json_value_of_8(bytes, n) : 0;
    return n;
}

#define JSON_INLINE static inline __attribute__((always_inline))

/* ---- parts of items ---- */

static inline struct json_text json_text_of(const uint8_t *from, const uint8_t *to, unsigned flags)
{
    return (struct json_text){(const char *)from, (uint32_t)(to - from),
                              (flags & STRING_ESCAPED) != 0, (flags & STRING_HIGH) != 0};
}

extern const uint64_t json_powers[9]; /* of ten */

/* All digits at p are added to the mantissa; returns how many there are. */
static inline unsigned json_take_digits(const uint8_t *p, uint64_t *mantissa)
{
    unsigned n = 0, k;
    uint64_t v;
    do {
        k = json_digits_8(p + n, &v);
        *mantissa = *mantissa * json_powers[k] + v;
        n += k;
    } while (k == 8);
    return n;
}

/* Where the number ends; NULL: it is none. */
JSON_INLINE const uint8_t *json_scan_number(const uint8_t *p, struct json_number *out)
{
    uint64_t mantissa = 0;
    unsigned fraction = 0;
    out->minus = *p == '-';
    p += out->minus;
    const uint8_t *const first = p;
    const unsigned whole = json_take_digits(p, &mantissa);
    p += whole;
    if (whole == 0 || (whole > 1 && *first == '0'))
        return NULL;
    if (*p == '.') {
        fraction = json_take_digits(p + 1, &mantissa);
        p += 1 + fraction;
        if (fraction == 0)
            return NULL;
    }
    out->plain = whole + fraction <= 18;
    out->mantissa = mantissa;
    out->fraction = (uint8_t)fraction;
    if ((*p | 0x20) == 'e') {
        out->plain = false;
        p++;
        p += *p == '+' || *p == '-';
        const unsigned n = json_take_digits(p, &mantissa);
        p += n;
        if (n == 0)
            return NULL;
    }
    return p;
}

static inline bool json_ends_value(uint8_t c)
{
    return __builtin_expect(c == ',', 1) || (c | 0x20) == '}' || c <= ' '; /* ] differs by 0x20 */
}

/* The usual number: one to seven digits and nothing else. Where it ends; NULL: it is another. */
JSON_INLINE const uint8_t *json_scan_small(const uint8_t *p, struct json_number *out)
{
    uint64_t bytes;
    const unsigned n = json_count_digits_8(p, &bytes);
    if (n - 1 >= 7 || (*p == '0' && n > 1) || !json_ends_value(p[n]))
        return NULL;
    *out = (struct json_number){.mantissa = json_value_of_8(bytes, n), .plain = true};
    return p + n;
}

/* ---- between the files ---- */

/* Reads more into the window. JS_SHORT: there is more, try again; else what to answer. */
enum json_kind json_more(struct json_scan *s);
/* json_scan_number out of line; NULL also where what follows cannot follow a value. */
const uint8_t *json_long_number(const uint8_t *p, struct json_number *out);
/* The end of the array that begins at v; NULL: it is not before `end`, or has a broken string. */
const uint8_t *json_pass_array(const uint8_t *v, const uint8_t *end);
/* Back to the hold, where an item begins anew. */
void json_back_to_hold(struct json_scan *s);
/* The next byte, or -1 at the end of the input. Nothing stays in the window. */
int json_next_byte(struct json_scan *s);
/* The input has no more bytes, or failed: what to answer. */
enum json_kind json_out_of_bytes(struct json_scan *s);
/* Passes over the item that begins at s->p, however long it is, and answers JS_LOST. */
enum json_kind json_pass_over(struct json_scan *s);
enum json_kind json_bad(struct json_scan *s, const uint8_t *at, const char *what);
/* Counts a fault; taken back when its item has to be begun again. */
void json_fault(struct json_scan *s, uint64_t *which);

/* ---- predicted gaps ---- */

/* At most JSON_GAP_LEN bytes. */
static inline void json_gap_set(struct json_gap *g, const uint8_t *p, size_t len)
{
    assert(len > 0 && len <= JSON_GAP_LEN);
    assert(p[len - 1] != '"'); /* else the pad could match */
    memcpy(g->bytes, p, len);
    g->len = (uint8_t)len;
    g->beyond = len < 32 ? UINT32_MAX << len : 0;
}

/* Whether the gap is at p. Bytes of the pad never match: a gap ends with a colon or white space. */
static inline bool json_gap_is(const struct json_gap *g, const uint8_t *p)
{
    if ((json_same_32(p, g->bytes) | g->beyond) != UINT32_MAX)
        return false;
    if (__builtin_expect(g->len - 1u < 32, 1))
        return true;
    return g->len && memcmp(p + 32, g->bytes + 32, g->len - 32u) == 0;
}

/* The gap after a member with the key `last` that is at p; NULL: another. */
static inline const struct json_gap *json_gap_at(const struct json_keys *k, unsigned last,
                                                 const uint8_t *p)
{
    const struct json_gap *g = k->gaps[last];
    if (__builtin_expect(json_gap_is(g, p), 1))
        return g;
    return json_gap_is(g + 1, p) ? g + 1 : NULL;
}

/* ---- state ---- */

static inline void json_push(struct json_scan *s, bool object)
{
    assert(s->depth < JSON_DEPTH_MOST);
    const uint64_t bit = 1ull << (s->depth % 64);
    uint64_t *word = &s->kinds[s->depth / 64];
    *word = object ? *word | bit : *word & ~bit;
    s->depth++;
    s->in_object = object;
    s->some = false;
}

static inline void json_pop(struct json_scan *s)
{
    assert(s->depth > 0);
    s->depth--;
    s->some = true;
    s->in_object = s->depth && (s->kinds[(s->depth - 1) / 64] >> ((s->depth - 1) % 64) & 1);
    s->last = s->in_object ? s->entered : 0;
    s->entered = 0;
}

#endif
