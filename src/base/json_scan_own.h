/* SPDX-License-Identifier: Apache-2.0 */
/* json_scan_own.h - bytes of the window, many at a time; for the scanner's own files.
 *
 * Behind the window's end stand JSON_PAD quotes. No loop here passes a quote that it is not told to
 * pass, so none needs to look for the end: the caller compares what comes back with it. Loads may
 * reach up to 63 bytes behind the end, which is why the pad is as long as it is. */
#ifndef BASE_JSON_SCAN_OWN_H
#define BASE_JSON_SCAN_OWN_H

#include <string.h>

#include "base/json_scan.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { STRING_ESCAPED = 1, STRING_HIGH = 2, STRING_CONTROL = 4 };

/* ---- 8 bytes at a time, for every machine ---- */

#define EACH_BYTE(c) (0x0101010101010101u * (uint64_t)(c))

static inline uint64_t load_8(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Leading decimal digits at p, at most 8: how many, and their value. */
static inline unsigned digits_8(const uint8_t *p, uint64_t *value)
{
    uint64_t v = load_8(p) ^ EACH_BYTE('0');
    const uint64_t other = (((v & EACH_BYTE(0x7f)) + EACH_BYTE(0x76)) | v) & EACH_BYTE(0x80);
    const unsigned n = other ? (unsigned)__builtin_ctzll(other) / 8 : 8;
    *value = 0;
    if (n == 0)
        return 0;
    v <<= 8 * (8 - n); /* leading zeros in front */
    v = v * 10 + (v >> 8);
    v = ((v & 0x000000ff000000ffu) * 0x000f424000000064u +
         ((v >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u) >>
        32;
    *value = v & 0xffffffffu;
    return n;
}

/* ---- 64 bytes at a time ---- */

/* One bit per byte that means something when an object or array is passed over. */
struct json_bits {
    uint64_t quote, backslash, open, close, newline;
};

#ifdef __SSE2__

static inline unsigned string_stops(const uint8_t *p, unsigned *high)
{
    const __m128i v = _mm_loadu_si128((const __m128i_u *)p);
    const __m128i quote = _mm_cmpeq_epi8(v, _mm_set1_epi8('"'));
    const __m128i backslash = _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'));
    const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1f)), v);
    *high = (unsigned)_mm_movemask_epi8(v);
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(quote, _mm_or_si128(backslash, control)));
}

static inline unsigned space_stops(const uint8_t *p)
{
    const __m128i v = _mm_loadu_si128((const __m128i_u *)p);
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(v, _mm_set1_epi8(' ' + 1)), v));
}

static inline void bits_64(const uint8_t *p, struct json_bits *out)
{
    *out = (struct json_bits){0};
    for (unsigned i = 0; i < 4; i++) {
        const __m128i v = _mm_loadu_si128((const __m128i_u *)(p + 16 * i));
        const __m128i low = _mm_or_si128(v, _mm_set1_epi8(0x20)); /* [ and { alike */
        const unsigned shift = 16 * i;
#define BITS(x, c) ((uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_set1_epi8(c))))
        out->quote |= BITS(v, '"') << shift;
        out->backslash |= BITS(v, '\\') << shift;
        out->open |= BITS(low, '{') << shift;
        out->close |= BITS(low, '}') << shift;
        out->newline |= BITS(v, '\n') << shift;
#undef BITS
    }
}

#else

static inline unsigned string_stops(const uint8_t *p, unsigned *high)
{
    unsigned stops = 0;
    *high = 0;
    for (unsigned i = 0; i < 16; i++) {
        stops |= (unsigned)(p[i] == '"' || p[i] == '\\' || p[i] < 0x20) << i;
        *high |= (unsigned)(p[i] >> 7) << i;
    }
    return stops;
}

static inline unsigned space_stops(const uint8_t *p)
{
    unsigned stops = 0;
    for (unsigned i = 0; i < 16; i++)
        stops |= (unsigned)(p[i] > ' ') << i;
    return stops;
}

static inline void bits_64(const uint8_t *p, struct json_bits *out)
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

/* The first byte from p on that is no white space. Other control characters count as such; strict
 * mode looks at them afterwards. */
static inline const uint8_t *json_space(const uint8_t *p)
{
    if (*p > ' ')
        return p;
    if (*++p > ' ')
        return p;
    for (;; p += 16) {
        const unsigned stops = space_stops(p);
        if (stops)
            return p + __builtin_ctz(stops);
    }
}

/* p stands behind the opening quote; returns where the closing one stands. */
static inline const uint8_t *json_string_end(const uint8_t *p, unsigned *flags)
{
    for (;;) {
        unsigned high;
        const unsigned stops = string_stops(p, &high);
        if (!stops) {
            *flags |= high ? STRING_HIGH : 0u;
            p += 16;
            continue;
        }
        const unsigned i = (unsigned)__builtin_ctz(stops);
        *flags |= high & ((1u << i) - 1) ? STRING_HIGH : 0u;
        if (p[i] == '"')
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

/* ---- between the files ---- */

/* Reads more into the window. JS_SHORT: there is more, try again; else what to answer. */
enum json_kind json_more(struct json_scan *s);
/* Passes over the item that begins at s->p, however long it is, and answers JS_LOST. */
enum json_kind json_pass_over(struct json_scan *s);
enum json_kind json_bad(struct json_scan *s, const uint8_t *at, const char *what);
/* Counts a fault; taken back when its item has to be begun again. */
void json_fault(struct json_scan *s, uint64_t *which);
/* UTF-8 as RFC 3629 has it: no surrogates, nothing overlong. */
bool json_utf8_valid(const uint8_t *p, size_t n);
/* Escapes all known, surrogates in pairs, and no U+0000 unless allowed. */
bool json_escapes_valid(const uint8_t *p, size_t n, bool allow_nul);
/* A number that strict mode takes: its value fits. */
bool json_number_fits(const struct json_item *it, bool whole);

/* Whether what is guessed to follow stands at p. Bytes of the pad never match. */
static inline bool json_guess_right(const struct json_guess *g, const uint8_t *p)
{
#ifdef __SSE2__
    uint64_t same = 0;
    for (unsigned i = 0; i < JSON_GUESS_LEN && i < g->len; i += 16) {
        const __m128i a = _mm_loadu_si128((const __m128i_u *)(p + i));
        const __m128i b = _mm_loadu_si128((const __m128i_u *)(g->bytes + i));
        same |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(a, b)) << i;
    }
    return g->len && ~same << (64 - g->len) == 0;
#else
    return g->len && memcmp(p, g->bytes, g->len) == 0;
#endif
}

static inline void json_push(struct json_scan *s, bool object)
{
    const uint64_t bit = 1ull << (s->depth % 64);
    uint64_t *word = &s->kinds[s->depth / 64];
    *word = object ? *word | bit : *word & ~bit;
    s->depth++;
    s->in_object = object;
    s->some = false;
}

static inline void json_pop(struct json_scan *s)
{
    s->depth--;
    s->some = true;
    s->in_object = s->depth && (s->kinds[(s->depth - 1) / 64] >> ((s->depth - 1) % 64) & 1);
}

#endif
