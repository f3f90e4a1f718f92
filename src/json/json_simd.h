/* SPDX-License-Identifier: Apache-2.0 */
/* json_simd.h - the few questions that the scanner asks about many bytes at once.
 *
 *     json_space      where does white space end?
 *     json_string_end where does the string end?
 *     json_same_32    are these the bytes that are expected?
 *     json_bits_64    which of 64 bytes are quotes, backslashes, brackets, newlines?
 *     json_digits_8   how many digits are there, and what number are they?
 *
 * Each is answered with SSE2 on x86-64 and in plain C elsewhere. Nothing else in the library knows
 * about vector registers.
 *
 * JSON_PAD quotes follow the window. A quote ends each of these loops, so none compares with the
 * end of the window: the caller compares the result. A load reaches 63 bytes beyond the end at
 * most. */
#ifndef JSON_JSON_SIMD_H
#define JSON_JSON_SIMD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

enum { STRING_ESCAPED = 1, STRING_HIGH = 2, STRING_CONTROL = 4 };

/* One bit per byte. `[` counts as `{`, and `]` as `}`. */
struct json_bits {
    uint64_t quote, backslash, open, close, newline;
};

/* ---- JSON_STEP bytes: a bit for each byte that may end a string, and for each beyond ASCII ----
 */

#ifdef __x86_64__

enum { JSON_STEP = 16 };

static inline uint32_t json_string_stops(const uint8_t *p, uint32_t *high)
{
    const __m128i v = _mm_loadu_si128((const __m128i_u *)p);
    const __m128i quote = _mm_cmpeq_epi8(v, _mm_set1_epi8('"'));
    const __m128i backslash = _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'));
    const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1f)), v);
    *high = (uint32_t)_mm_movemask_epi8(v);
    return (uint32_t)_mm_movemask_epi8(_mm_or_si128(quote, _mm_or_si128(backslash, control)));
}

#else

enum { JSON_STEP = 16 };

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

#endif

/* ---- 16, 32 and 64 bytes ---- */

#ifdef __x86_64__

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

/* ---- the questions ---- */

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

#endif
