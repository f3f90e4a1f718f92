/* SPDX-License-Identifier: Apache-2.0 */
/* health_stats.c - see health_stats.h.
 *
 * Elements are brought as floats into a block that stays in the first cache, and all statistics are
 * made of the block. LANES sums go side by side on every machine, whatever the width of its
 * vectors, so the result is the same. A lane sums floats as doubles: squares of 1e-20 are not lost.
 */
#include "base/health_stats.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/cpu.h"

enum { BLOCK = 4096, LANES = 8 };

size_t health_dtype_bytes(enum health_dtype t)
{
    static const uint8_t bytes[HEALTH_DTYPES] = {
        [HEALTH_FLOAT32] = 4, [HEALTH_FLOAT64] = 8, [HEALTH_FLOAT16] = 2, [HEALTH_BFLOAT16] = 2};
    return bytes[t];
}

/* ---- elements as floats ---- */

static float float_of_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint32_t bits_of_float(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* Half precision: the exponent moves by 112; subnormals are made by a subtraction. */
static float float_of_half(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = (uint32_t)(h & 0x7fff) << 13;
    const uint32_t exponent = h & 0x7c00;
    if (exponent == 0x7c00)
        return float_of_bits(sign | rest | 0x7f800000);
    if (exponent == 0)
        return float_of_bits(
            sign | bits_of_float(float_of_bits(rest | 0x38800000) - float_of_bits(0x38800000)));
    return float_of_bits(sign | (rest + ((uint32_t)112 << 23)));
}

static void read_float32(const uint8_t *p, size_t step, size_t n, float *out)
{
    if (step == sizeof(float))
        memcpy(out, p, n * sizeof *out);
    else
        for (size_t i = 0; i < n; i++)
            memcpy(&out[i], p + i * step, sizeof *out);
}

static void read_float64(const uint8_t *p, size_t step, size_t n, float *out)
{
    for (size_t i = 0; i < n; i++) {
        double d;
        memcpy(&d, p + i * step, sizeof d);
        out[i] = (float)d;
    }
}

static void read_float16(const uint8_t *p, size_t step, size_t n, float *out)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t h;
        memcpy(&h, p + i * step, sizeof h);
        out[i] = float_of_half(h);
    }
}

static void read_bfloat16(const uint8_t *p, size_t step, size_t n, float *out)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t h;
        memcpy(&h, p + i * step, sizeof h);
        out[i] = float_of_bits((uint32_t)h << 16);
    }
}

typedef void read_fn(const uint8_t *p, size_t step, size_t n, float *out);

static read_fn *const readers[HEALTH_DTYPES] = {
    [HEALTH_FLOAT32] = read_float32,
    [HEALTH_FLOAT64] = read_float64,
    [HEALTH_FLOAT16] = read_float16,
    [HEALTH_BFLOAT16] = read_bfloat16,
};

static const uint8_t *element(const struct health_tensor *t, size_t i)
{
    return (const uint8_t *)t->at + i * t->stride * health_dtype_bytes(t->dtype);
}

static size_t read_block(const struct health_tensor *t, size_t from, float *out)
{
    const size_t n = t->n - from < BLOCK ? t->n - from : BLOCK;
    readers[t->dtype](element(t, from), t->stride * health_dtype_bytes(t->dtype), n, out);
    return n;
}

/* ---- one pass ---- */

/* Vectors of the compiler: the same operations in the same order on every machine. */
typedef float floats __attribute__((vector_size(32)));
typedef int32_t ints __attribute__((vector_size(32)));
/* In memory: at any address, of any type. A memcpy in their place goes through the stack, and takes
 * three times as long. */
typedef float stored_floats __attribute__((vector_size(32), aligned(1), may_alias));
typedef float stored_half __attribute__((vector_size(16), aligned(1), may_alias));
typedef double doubles __attribute__((vector_size(32)));
typedef int64_t longs __attribute__((vector_size(32)));

struct lanes {
    double sum[LANES], l1[LANES], squares[LANES];
    float min[LANES], max[LANES];
    uint64_t zeros, nonfinite;
};

static void lanes_init(struct lanes *l)
{
    *l = (struct lanes){0};
    for (size_t i = 0; i < LANES; i++) {
        l->min[i] = INFINITY;
        l->max[i] = -INFINITY;
    }
}

/* n is a multiple of LANES, and small enough for counts of 32 bits. x - x is NaN for what is not
 * finite: it counts as 0 in sums and not at all in min and max. */
#define DEFINE_FOLD(name, attributes)                                                              \
    attributes static void name(struct lanes *l, const void *from, size_t n)                       \
    {                                                                                              \
        const ints infinite = (ints){0} + 0x7f800000;                                              \
        const ints negative = (ints){0} + (int32_t)0x80000000;                                     \
        const longs no_sign = (longs){0} + INT64_MAX;                                              \
        doubles sum[2], l1[2], squares[2];                                                         \
        ints zeros = {0}, good_ones = {0};                                                         \
        floats low, high;                                                                          \
        memcpy(sum, l->sum, sizeof sum);                                                           \
        memcpy(l1, l->l1, sizeof l1);                                                              \
        memcpy(squares, l->squares, sizeof squares);                                               \
        memcpy(&low, l->min, sizeof low);                                                          \
        memcpy(&high, l->max, sizeof high);                                                        \
        for (size_t i = 0; i < n; i += LANES) {                                                    \
            const uint8_t *const at = (const uint8_t *)from + i * sizeof(float);                   \
            const floats raw = *(const stored_floats *)at;                                         \
            const ints good = raw - raw == 0, bits = (ints)raw & good;                             \
            const floats lo = (floats)(bits | (infinite & ~good));                                 \
            const floats hi = (floats)(bits | ((infinite | negative) & ~good));                    \
            const ints less = lo<low, more = hi> high;                                             \
            low = (floats)(((ints)lo & less) | ((ints)low & ~less));                               \
            high = (floats)(((ints)hi & more) | ((ints)high & ~more));                             \
            zeros -= raw == 0;                                                                     \
            good_ones -= good;                                                                     \
            for (size_t k = 0; k < 2; k++) {                                                       \
                const stored_half half = *(const stored_half *)(at + k * sizeof half);             \
                const doubles any = __builtin_convertvector(half, doubles);                        \
                const doubles x = (doubles)((longs)any & (longs)(any - any == 0));                 \
                sum[k] += x;                                                                       \
                l1[k] += (doubles)((longs)x & no_sign);                                            \
                squares[k] += x * x;                                                               \
            }                                                                                      \
        }                                                                                          \
        memcpy(l->sum, sum, sizeof sum);                                                           \
        memcpy(l->l1, l1, sizeof l1);                                                              \
        memcpy(l->squares, squares, sizeof squares);                                               \
        memcpy(l->min, &low, sizeof low);                                                          \
        memcpy(l->max, &high, sizeof high);                                                        \
        l->nonfinite += n;                                                                         \
        for (size_t k = 0; k < LANES; k++) {                                                       \
            l->zeros += (uint64_t)zeros[k];                                                        \
            l->nonfinite -= (uint64_t)good_ones[k];                                                \
        }                                                                                          \
    }

typedef void fold_fn(struct lanes *l, const void *from, size_t n);

DEFINE_FOLD(fold_plain, )
#if defined(__x86_64__)
/* No fused multiply-add, so that the sums are the same as without. */
DEFINE_FOLD(fold_avx2, __attribute__((target("avx2"))))
#endif

static fold_fn *choose_fold(void)
{
#if defined(__x86_64__)
    if (cpu_vectors() == CPU_AVX2)
        return fold_avx2;
#endif
    return fold_plain;
}

/* n floats, of which the last may not fill the lanes: the rest is NaN, which only counts. */
static void fold_block(struct lanes *l, fold_fn *fold, const void *from, size_t n)
{
    float rest[LANES];
    const size_t whole = n - n % LANES;
    fold(l, from, whole);
    if (whole == n)
        return;
    memcpy(rest, (const uint8_t *)from + whole * sizeof(float), (n - whole) * sizeof(float));
    for (size_t i = n - whole; i < LANES; i++)
        rest[i] = NAN;
    fold(l, rest, LANES);
    l->nonfinite -= LANES - (n - whole);
}

static void lanes_result(const struct lanes *l, struct health_tensor_stats *out)
{
    *out = (struct health_tensor_stats){
        .min = INFINITY, .max = -INFINITY, .zeros = l->zeros, .nonfinite = l->nonfinite};
    for (size_t k = 0; k < LANES; k++) {
        out->sum += l->sum[k];
        out->l1 += l->l1[k];
        out->l2 += l->squares[k];
        out->min = fmin(out->min, (double)l->min[k]);
        out->max = fmax(out->max, (double)l->max[k]);
    }
    out->l2 = sqrt(out->l2);
}

/* Doubles are rare and may be beyond the range of floats, so they are read one by one. */
static void stats_of_doubles(const struct health_tensor *t, struct health_tensor_stats *out)
{
    double squares = 0;
    *out = (struct health_tensor_stats){.min = INFINITY, .max = -INFINITY};
    for (size_t i = 0; i < t->n; i++) {
        double x;
        memcpy(&x, element(t, i), sizeof x);
        if (!isfinite(x)) {
            out->nonfinite++;
            continue;
        }
        out->sum += x;
        out->l1 += fabs(x);
        squares += x * x;
        out->min = fmin(out->min, x);
        out->max = fmax(out->max, x);
        out->zeros += x == 0;
    }
    out->l2 = sqrt(squares);
}

static void stats_of_floats(const struct health_tensor *t, struct health_tensor_stats *out)
{
    fold_fn *fold = choose_fold();
    const bool direct = t->dtype == HEALTH_FLOAT32 && t->stride == 1;
    struct lanes l;
    float block[BLOCK];
    lanes_init(&l);
    for (size_t i = 0, n; i < t->n; i += n) {
        n = t->n - i < BLOCK ? t->n - i : BLOCK;
        if (!direct)
            read_block(t, i, block);
        fold_block(&l, fold, direct ? (const void *)element(t, i) : block, n);
    }
    lanes_result(&l, out);
}

void health_tensor_stats(const struct health_tensor *t, struct health_tensor_stats *out)
{
    if (t->dtype == HEALTH_FLOAT64)
        stats_of_doubles(t, out);
    else
        stats_of_floats(t, out);
    if (out->min > out->max) /* nothing was finite */
        out->min = out->max = NAN;
}

/* ---- exponents ---- */

/* Four tables: neighbours often have the same exponent, and would wait for each other's count. */
void health_tensor_exponents(const struct health_tensor *t, uint64_t out[HEALTH_EXPONENTS])
{
    uint64_t table[4][HEALTH_EXPONENTS] = {{0}};
    float block[BLOCK];
    for (size_t i = 0, n; i < t->n; i += n) {
        n = read_block(t, i, block);
        for (size_t k = 0; k < n; k++)
            table[k & 3][bits_of_float(block[k]) >> 23 & 0xff]++;
    }
    for (size_t i = 0; i < HEALTH_EXPONENTS; i++)
        out[i] = table[0][i] + table[1][i] + table[2][i] + table[3][i];
}

/* ---- what a step changed ---- */

size_t health_gathered_bytes(const struct health_tensor *t)
{
    return t->n * (t->dtype == HEALTH_FLOAT64 ? sizeof(double) : sizeof(float));
}

void health_tensor_gather(const struct health_tensor *t, void *out)
{
    if (t->dtype == HEALTH_FLOAT64) {
        for (size_t i = 0; i < t->n; i++)
            memcpy((uint8_t *)out + i * sizeof(double), element(t, i), sizeof(double));
        return;
    }
    float block[BLOCK];
    for (size_t i = 0, n; i < t->n; i += n) {
        n = read_block(t, i, block);
        memcpy((uint8_t *)out + i * sizeof(float), block, n * sizeof(float));
    }
}

static double gathered(const void *p, const struct health_tensor *t, size_t i)
{
    float f;
    double d;
    if (t->dtype == HEALTH_FLOAT64)
        return memcpy(&d, (const uint8_t *)p + i * sizeof d, sizeof d), d;
    memcpy(&f, (const uint8_t *)p + i * sizeof f, sizeof f);
    return (double)f;
}

void health_tensor_update(const struct health_tensor *t, const void *before,
                          struct health_update *out)
{
    double change = 0, norm = 0;
    uint64_t equal = 0;
    for (size_t i = 0; i < t->n; i++) {
        struct health_tensor one = {element(t, i), 1, 1, t->dtype};
        double now_bits[1];
        health_tensor_gather(&one, now_bits);
        const double now = gathered(now_bits, t, 0), was = gathered(before, t, i);
        const size_t bytes = health_gathered_bytes(&one);
        change += (now - was) * (now - was);
        norm += was * was;
        equal += memcmp(now_bits, (const uint8_t *)before + i * bytes, bytes) == 0;
    }
    *out = (struct health_update){sqrt(change), sqrt(norm), equal};
}

/* ---- word sums ---- */

#define DEFINE_SUM(name, type)                                                                     \
    static uint64_t name(const uint8_t *p, size_t n)                                               \
    {                                                                                              \
        uint64_t sum = 0;                                                                          \
        for (size_t i = 0; i < n; i++) {                                                           \
            type word;                                                                             \
            memcpy(&word, p + i * sizeof word, sizeof word);                                       \
            sum += word;                                                                           \
        }                                                                                          \
        return sum;                                                                                \
    }

DEFINE_SUM(sum_bytes, uint8_t)
DEFINE_SUM(sum_words16, uint16_t)
DEFINE_SUM(sum_words32, uint32_t)
DEFINE_SUM(sum_words64, uint64_t)

uint64_t health_word_sum(const void *at, size_t n, unsigned bytes)
{
    switch (bytes) {
    case 1:
        return sum_bytes(at, n);
    case 2:
        return sum_words16(at, n);
    case 4:
        return sum_words32(at, n);
    default:
        return sum_words64(at, n);
    }
}
