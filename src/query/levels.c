/* SPDX-License-Identifier: Apache-2.0 */
/* levels.c - see levels.h. */
#include "query/levels.h"

#include <assert.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/mem.h"

static bool decode_one(struct scan *scan, const struct rows_block *b, const struct column *c,
                       enum level level, int k)
{
    const bool two = level == LEVEL_TWO;
    const uint32_t n = bucket_count(c->count, level_unit(b, level));
    return (two || blob_whole(&c->level1[k])) &&
           codec_decode(scan->codec, two ? c->level2[k] : c->level1[k].p,
                        two ? c->level2_len[k] : c->level1[k].len, n, scan_level(scan, k));
}

bool level_decode(struct scan *scan, const struct rows_block *b, const struct column *c,
                  enum level level)
{
    return decode_one(scan, b, c, level, LEVEL_MIN) && decode_one(scan, b, c, level, LEVEL_MAX) &&
           decode_one(scan, b, c, level, LEVEL_SUM);
}

bool level_decode_sums(struct scan *scan, const struct rows_block *b, const struct column *c,
                       enum level level)
{
    return decode_one(scan, b, c, level, LEVEL_SUM);
}

/* Over the base. */
struct bytes_extent {
    uint8_t lo, hi;
    uint32_t sum; /* at most 65536 x 255 */
};

#ifdef __SSE2__

enum { LANES = 16 };
static_assert((int)LANES <= (int)SCAN_PAD, "behind the last byte there is a whole vector");

/* The smallest of the lower eight bytes becomes the lowest, that of the upper eight the ninth. */
static __m128i least_of_halves(__m128i v)
{
    v = _mm_min_epu8(v, _mm_srli_epi64(v, 32));
    v = _mm_min_epu8(v, _mm_srli_epi64(v, 16));
    return _mm_min_epu8(v, _mm_srli_epi64(v, 8));
}

static __m128i load(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i_u *)p);
}

/* Ones in the first n lanes: the last vector has bytes behind the end in it. */
static __m128i mask_of(uint32_t n)
{
    static const uint8_t first[2 * LANES] = {255, 255, 255, 255, 255, 255, 255, 255,
                                             255, 255, 255, 255, 255, 255, 255, 255};
    return load(first + LANES - n);
}

static uint32_t sum_of_halves(__m128i sum)
{
    return (uint32_t)_mm_cvtsi128_si32(_mm_add_epi64(sum, _mm_unpackhi_epi64(sum, sum)));
}

static uint32_t sum_of_some(const uint8_t *v, uint32_t n)
{
    const __m128i zero = _mm_setzero_si128(), end = load(v + n / LANES * LANES);
    __m128i sum = _mm_sad_epu8(_mm_and_si128(end, mask_of(n % LANES)), zero);
    for (uint32_t i = 0; i + LANES <= n; i += LANES)
        sum = _mm_add_epi64(sum, _mm_sad_epu8(load(v + i), zero));
    return sum_of_halves(sum);
}

static struct bytes_extent of_some(const uint8_t *v, uint32_t n)
{
    const __m128i zero = _mm_setzero_si128(), ones = _mm_set1_epi8(-1), mask = mask_of(n % LANES);
    __m128i x = load(v + n / LANES * LANES);
    __m128i hi = _mm_and_si128(x, mask), lo = _mm_or_si128(x, _mm_xor_si128(mask, ones)),
            sum = _mm_sad_epu8(hi, zero);
    for (uint32_t i = 0; i + LANES <= n; i += LANES) {
        x = load(v + i);
        lo = _mm_min_epu8(lo, x);
        hi = _mm_max_epu8(hi, x);
        sum = _mm_add_epi64(sum, _mm_sad_epu8(x, zero));
    }
    hi = _mm_xor_si128(hi, ones); /* the largest is the smallest of the complements */
    x = least_of_halves(_mm_min_epu8(_mm_unpacklo_epi64(lo, hi), _mm_unpackhi_epi64(lo, hi)));
    return (struct bytes_extent){(uint8_t)_mm_extract_epi16(x, 0),
                                 (uint8_t)~_mm_extract_epi16(x, 4), sum_of_halves(sum)};
}

#else

static uint32_t sum_of_some(const uint8_t *v, uint32_t n)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += v[i];
    return sum;
}

static struct bytes_extent of_some(const uint8_t *v, uint32_t n)
{
    struct bytes_extent x = {255, 0, 0};
    for (uint32_t i = 0; i < n; i++) {
        x.lo = MIN_OF(x.lo, v[i]);
        x.hi = MAX_OF(x.hi, v[i]);
        x.sum += v[i];
    }
    return x;
}

#endif

static struct extent of_bytes(const uint8_t *v, uint32_t n, int64_t base)
{
    const struct bytes_extent x = of_some(v, n);
    const uint64_t b = (uint64_t)base;
    return (struct extent){(int64_t)(b + x.lo), (int64_t)(b + x.hi), (double)base * n + x.sum};
}

/* Sums are made as doubles: those of foreign numbers may not fit an integer. */
static struct extent of_integers(const int64_t *v, uint32_t n)
{
    struct extent x = {v[0], v[0], 0};
    for (uint32_t i = 0; i < n; i++) {
        x.lo = MIN_OF(x.lo, v[i]);
        x.hi = MAX_OF(x.hi, v[i]);
        x.sum += (double)v[i];
    }
    return x;
}

void extents_of_values(const struct codec_view *v, const struct stretch *at, size_t n,
                       struct extent *out)
{
    for (size_t i = 0; i < n && v->narrow; i++)
        out[i] = of_bytes(v->v8 + at[i].from, at[i].to - at[i].from, v->base);
    for (size_t i = 0; i < n && !v->narrow; i++)
        out[i] = of_integers(v->v64 + at[i].from, at[i].to - at[i].from);
}

void sums_of_values(const struct codec_view *v, const struct stretch *at, size_t n,
                    struct extent *out)
{
    if (!v->narrow)
        extents_of_values(v, at, n, out);
    for (size_t i = 0; i < n && v->narrow; i++) {
        const uint32_t some = at[i].to - at[i].from;
        const uint32_t sum = sum_of_some(v->v8 + at[i].from, some);
        out[i] = (struct extent){.sum = (double)v->base * some + sum};
    }
}

void extents_of_level(const struct scan *scan, const struct stretch *at, size_t n,
                      struct extent *out)
{
    const int64_t *min = scan->level[LEVEL_MIN], *max = scan->level[LEVEL_MAX],
                  *sums = scan->level[LEVEL_SUM];
    for (size_t i = 0; i < n; i++) {
        struct extent x = {min[at[i].from], max[at[i].from], (double)sums[at[i].from]};
        for (uint32_t k = at[i].from + 1; k < at[i].to; k++) {
            x.lo = MIN_OF(x.lo, min[k]);
            x.hi = MAX_OF(x.hi, max[k]);
            x.sum += (double)sums[k];
        }
        out[i] = x;
    }
}

void sums_of_level(const struct scan *scan, const struct stretch *at, size_t n, struct extent *out)
{
    const int64_t *sums = scan->level[LEVEL_SUM];
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (uint32_t k = at[i].from; k < at[i].to; k++)
            sum += (double)sums[k];
        out[i] = (struct extent){.sum = sum};
    }
}
