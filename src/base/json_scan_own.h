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

#ifdef __x86_64__
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

enum { STRING_ESCAPED = 1, STRING_HIGH = 2, STRING_CONTROL = 4 };

/* ---- 8 bytes at a time, for every machine ---- */

#define EACH_BYTE(c) (0x0101010101010101u * (uint64_t)(c))

static inline uint64_t load_8(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* How many decimal digits stand at p, at most 8, and all 8 bytes as they are without '0'. */
static inline unsigned count_digits_8(const uint8_t *p, uint64_t *bytes)
{
    const uint64_t v = load_8(p) ^ EACH_BYTE('0');
    const uint64_t other = (((v & EACH_BYTE(0x7f)) + EACH_BYTE(0x76)) | v) & EACH_BYTE(0x80);
    *bytes = v;
    return other ? (unsigned)__builtin_ctzll(other) / 8 : 8;
}

/* The value of the first n of them; n is not 0. */
static inline uint64_t value_of_digits_8(uint64_t v, unsigned n)
{
    v <<= 8 * (8 - n); /* leading zeros in front */
    v = v * 10 + (v >> 8);
    v = ((v & 0x000000ff000000ffu) * 0x000f424000000064u +
         ((v >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u) >>
        32;
    return v & 0xffffffffu;
}

/* Leading decimal digits at p, at most 8: how many, and their value. */
static inline unsigned digits_8(const uint8_t *p, uint64_t *value)
{
    uint64_t bytes;
    const unsigned n = count_digits_8(p, &bytes);
    *value = n ? value_of_digits_8(bytes, n) : 0;
    return n;
}

/* ---- 64 bytes at a time ---- */

/* One bit per byte that means something when an object or array is passed over. */
struct json_bits {
    uint64_t quote, backslash, open, close, newline;
};

#ifdef __x86_64__

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

/* Of a part of the 64 bytes. BITS(x, c) has a bit for each byte of x that is c. */
#define PUT_BITS(out, v, low, shift)                                                               \
    do {                                                                                           \
        (out)->quote |= BITS(v, '"') << (shift);                                                   \
        (out)->backslash |= BITS(v, '\\') << (shift);                                              \
        (out)->open |= BITS(low, '{') << (shift);                                                  \
        (out)->close |= BITS(low, '}') << (shift);                                                 \
        (out)->newline |= BITS(v, '\n') << (shift);                                                \
    } while (0)

static inline void bits_64(const uint8_t *p, struct json_bits *out)
{
    *out = (struct json_bits){0};
    for (unsigned i = 0; i < 4; i++) {
        const __m128i v = _mm_loadu_si128((const __m128i_u *)(p + 16 * i));
        const __m128i low = _mm_or_si128(v, _mm_set1_epi8(0x20)); /* [ and { alike */
        const unsigned shift = 16 * i;
#define BITS(x, c) ((uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_set1_epi8(c))))
        PUT_BITS(out, v, low, shift);
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

#ifdef __x86_64__
/* As string_stops, for 32 bytes. */
__attribute__((target("avx2"))) static inline uint32_t string_stops_32(const uint8_t *p,
                                                                       uint32_t *high)
{
    const __m256i v = _mm256_loadu_si256((const __m256i_u *)p);
    const __m256i quote = _mm256_cmpeq_epi8(v, _mm256_set1_epi8('"'));
    const __m256i backslash = _mm256_cmpeq_epi8(v, _mm256_set1_epi8('\\'));
    const __m256i control = _mm256_cmpeq_epi8(_mm256_min_epu8(v, _mm256_set1_epi8(0x1f)), v);
    *high = (uint32_t)_mm256_movemask_epi8(v);
    return (uint32_t)_mm256_movemask_epi8(
        _mm256_or_si256(quote, _mm256_or_si256(backslash, control)));
}

/* As bits_64. */
__attribute__((target("avx2"))) static inline void bits_64_wide(const uint8_t *p,
                                                                struct json_bits *out)
{
    *out = (struct json_bits){0};
    for (unsigned i = 0; i < 2; i++) {
        const __m256i v = _mm256_loadu_si256((const __m256i_u *)(p + 32 * i));
        const __m256i low = _mm256_or_si256(v, _mm256_set1_epi8(0x20)); /* [ and { alike */
        const unsigned shift = 32 * i;
#define BITS(x, c)                                                                                 \
    ((uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(x, _mm256_set1_epi8(c))))
        PUT_BITS(out, v, low, shift);
#undef BITS
    }
}

/* One bit for each of 32 bytes that are the same. */
__attribute__((target("avx2"))) static inline uint32_t same_32(const uint8_t *p, const uint8_t *q)
{
    const __m256i a = _mm256_loadu_si256((const __m256i_u *)p);
    const __m256i b = _mm256_loadu_si256((const __m256i_u *)q);
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, b));
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

/* ---- parts of items ---- */

static inline struct json_text text_of(const uint8_t *from, const uint8_t *to, unsigned flags)
{
    return (struct json_text){(const char *)from, (uint32_t)(to - from),
                              (flags & STRING_ESCAPED) != 0, (flags & STRING_HIGH) != 0};
}

extern const uint64_t json_powers[9]; /* of ten */

/* All digits at p are added to the mantissa; returns how many there are. */
static inline unsigned take_digits(const uint8_t *p, uint64_t *mantissa)
{
    unsigned n = 0, k;
    uint64_t v;
    do {
        k = digits_8(p + n, &v);
        *mantissa = *mantissa * json_powers[k] + v;
        n += k;
    } while (k == 8);
    return n;
}

/* Where the number ends; NULL: it is none. */
INLINE const uint8_t *scan_number(const uint8_t *p, struct json_number *out)
{
    uint64_t mantissa = 0;
    unsigned fraction = 0;
    out->minus = *p == '-';
    p += out->minus;
    const uint8_t *const first = p;
    const unsigned whole = take_digits(p, &mantissa);
    p += whole;
    if (whole == 0 || (whole > 1 && *first == '0'))
        return NULL;
    if (*p == '.') {
        fraction = take_digits(p + 1, &mantissa);
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
        const unsigned n = take_digits(p, &mantissa);
        p += n;
        if (n == 0)
            return NULL;
    }
    return p;
}

static inline bool ends_value(uint8_t c)
{
    return __builtin_expect(c == ',', 1) || (c | 0x20) == '}' || c <= ' '; /* ] differs by 0x20 */
}

/* The usual number: one to seven digits and nothing else. Where it ends; NULL: it is another.
 * `told`: its value is wanted, too. */
INLINE const uint8_t *scan_small_number(const uint8_t *p, bool told, struct json_number *out)
{
    uint64_t bytes;
    const unsigned n = count_digits_8(p, &bytes);
    if (n - 1 >= 7 || (*p == '0' && n > 1) || !ends_value(p[n]))
        return NULL;
    if (told)
        *out = (struct json_number){.mantissa = value_of_digits_8(bytes, n), .plain = true};
    return p + n;
}

#ifdef __x86_64__
/* Digits at p, perhaps a point, and digits behind it: where the first ones and where all of it
 * ends, 31 at most. True: there is a point. */
__attribute__((target("avx2"))) static inline bool number_span_32(const uint8_t *p, unsigned *whole,
                                                                  unsigned *end)
{
    const __m256i x =
        _mm256_sub_epi8(_mm256_loadu_si256((const __m256i_u *)p), _mm256_set1_epi8('0'));
    const __m256i is_other = _mm256_cmpeq_epi8(_mm256_max_epu8(x, _mm256_set1_epi8(10)), x);
    const uint32_t other = (uint32_t)_mm256_movemask_epi8(is_other);
    *whole = (unsigned)__builtin_ctz(other | 1u << 31);
    const bool point = p[*whole] == '.';
    *end = point ? (unsigned)__builtin_ctz((other & (other - 1)) | 1u << 31) : *whole;
    return point;
}

/* A number of at most 16 digits, perhaps with a point among them, at once: the bytes behind the
 * point move over it, all move to the right end, and neighbours are added up in four steps. Where
 * it ends; NULL: it is another. */
__attribute__((target("avx2"))) static inline const uint8_t *
scan_number_wide(const uint8_t *p, struct json_number *out)
{
    static const uint8_t to_the_right[32] = {
        0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
        0x80, 0x80, 0x80, 0x80, 0x80, 0,    1,    2,    3,    4,    5,
        6,    7,    8,    9,    10,   11,   12,   13,   14,   15,
    };
    unsigned whole, end;
    const bool point = number_span_32(p, &whole, &end);
    const unsigned digits = end - point, fraction = digits - whole;
    if (whole == 0 || (whole > 1 && *p == '0') || (point && !fraction) || digits > 16 ||
        !ends_value(p[end]))
        return NULL;
    const __m128i at = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m128i behind = _mm_cmpgt_epi8(at, _mm_set1_epi8((char)(whole - 1)));
    const __m128i next =
        _mm_sub_epi8(_mm_loadu_si128((const __m128i_u *)(p + 1)), _mm_set1_epi8('0'));
    const __m128i here = _mm_sub_epi8(_mm_loadu_si128((const __m128i_u *)p), _mm_set1_epi8('0'));
    const __m128i left = _mm_blendv_epi8(here, next, behind);
    const __m128i d =
        _mm_shuffle_epi8(left, _mm_loadu_si128((const __m128i_u *)(to_the_right + digits)));
    const __m128i d2 = _mm_maddubs_epi16(d, _mm_set1_epi16(0x010a));
    const __m128i d4 = _mm_madd_epi16(d2, _mm_set1_epi32(0x00010064));
    const __m128i d8 = _mm_madd_epi16(_mm_packus_epi32(d4, d4), _mm_set1_epi32(0x00012710));
    const uint64_t halves = (uint64_t)_mm_cvtsi128_si64(d8);
    *out = (struct json_number){.mantissa = (halves & UINT32_MAX) * 100000000 + (halves >> 32),
                                .fraction = (uint8_t)fraction,
                                .plain = true};
    return p + end;
}
#endif

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

/* At most JSON_GUESS_LEN bytes. */
static inline void json_guess_set(struct json_guess *g, const uint8_t *p, size_t len)
{
    memcpy(g->bytes, p, len);
    g->len = (uint8_t)len;
    g->beyond = len < 32 ? UINT32_MAX << len : 0;
}

/* The first 32 bytes are right. */
static inline bool json_guess_rest(const struct json_guess *g, const uint8_t *p)
{
    if (__builtin_expect(g->len - 1u < 32, 1))
        return true;
    return g->len && memcmp(p + 32, g->bytes + 32, g->len - 32u) == 0;
}

/* Whether what is guessed to follow stands at p. Bytes of the pad never match. */
static inline bool json_guess_right(const struct json_guess *g, const uint8_t *p)
{
#ifdef __x86_64__
    uint32_t same[2];
    for (unsigned i = 0; i < 2; i++) {
        const __m128i a = _mm_loadu_si128((const __m128i_u *)(p + 16 * i));
        const __m128i b = _mm_loadu_si128((const __m128i_u *)(g->bytes + 16 * i));
        same[i] = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(a, b));
    }
    return (same[0] | same[1] << 16 | g->beyond) == UINT32_MAX && json_guess_rest(g, p);
#else
    return g->len && memcmp(p, g->bytes, g->len) == 0;
#endif
}

static inline void hold_here(struct json_scan *s)
{
    s->hold = s->p;
    s->hold_depth = s->depth;
    s->hold_some = s->some;
    s->hold_in_object = s->in_object;
    s->noted = false;
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
