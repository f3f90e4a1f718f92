/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "store/codec.h"
#include "store/storekit.h"
#include "test.h"

enum { MOST = 20000 };

/* Encodes, decodes both ways, and says which mode was chosen. */
static unsigned round_trip(struct codec *c, const int64_t *v, size_t n, bool dense)
{
    struct buf b = {0};
    struct codec_view view;
    int64_t *back = xmalloc((n + 1) * sizeof *back), *wide = xmalloc((n + 1) * sizeof *wide);
    uint8_t *narrow = xmalloc(n + 8);
    codec_encode(c, v, n, dense, &b);
    CHECK(codec_decode(c, b.p, b.len, n, back));
    CHECK(n == 0 || memcmp(back, v, n * sizeof *v) == 0);
    CHECK(codec_decode_view(c, b.p, b.len, n, narrow, wide, &view));
    for (size_t i = 0; i < n; i++)
        CHECK((view.narrow ? view.base + view.v8[i] : view.v64[i]) == v[i]);
    const unsigned mode = b.p[0];
    free(back);
    free(wide);
    free(narrow);
    buf_free(&b);
    return mode;
}

TEST(no_values_and_one_value_round_trip)
{
    struct codec *c = codec_open();
    const int64_t ends[] = {0, 1, -1, INT64_MIN, INT64_MAX};
    for (int dense = 0; dense < 2; dense++) {
        round_trip(c, NULL, 0, dense);
        for (size_t i = 0; i < COUNT_OF(ends); i++)
            CHECK_INT(round_trip(c, &ends[i], 1, dense), 0);
    }
    codec_close(c);
    codec_close(NULL);
}

TEST(extremes_side_by_side_round_trip)
{
    struct codec *c = codec_open();
    int64_t v[300];
    for (size_t n = 2; n <= 300; n++)
        for (int dense = 0; dense < 2; dense++) {
            for (size_t i = 0; i < n; i++)
                v[i] = i % 2 ? INT64_MAX : INT64_MIN;
            round_trip(c, v, n, dense);
            for (size_t i = 0; i < n; i++)
                v[i] = i % 3 == 0 ? INT64_MIN : i % 3 == 1 ? 0 : INT64_MAX;
            round_trip(c, v, n, dense);
        }
    codec_close(c);
}

TEST(every_width_from_1_to_64_bits_round_trips_at_every_alignment)
{
    struct codec *c = codec_open();
    struct kit_random r = {1};
    int64_t v[200];
    for (unsigned w = 1; w <= 64; w++)
        for (size_t n = 1; n < 200; n += 1 + n / 8)
            for (int dense = 0; dense < 2; dense++) {
                for (size_t i = 0; i < n; i++)
                    v[i] = (int64_t)(kit_next(&r) >> (64 - w));
                round_trip(c, v, n, dense);
            }
    codec_close(c);
}

/* Shapes that machines make. Each fills n values. */
static void noise(struct kit_random *r, int64_t *v, size_t n, uint64_t range, int64_t base)
{
    for (size_t i = 0; i < n; i++)
        v[i] = base + (int64_t)kit_below(r, range);
}

static void walk(struct kit_random *r, int64_t *v, size_t n, uint64_t stride)
{
    int64_t at = (int64_t)kit_below(r, 1 << 30);
    for (size_t i = 0; i < n; i++)
        v[i] = at += (int64_t)kit_below(r, 2 * stride + 1) - (int64_t)stride;
}

static void mostly(struct kit_random *r, int64_t *v, size_t n, int64_t usual, uint64_t one_in)
{
    for (size_t i = 0; i < n; i++)
        v[i] = kit_below(r, one_in) ? usual : (int64_t)kit_next(r);
}

static void plateaus(struct kit_random *r, int64_t *v, size_t n)
{
    int64_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (kit_below(r, 500) == 0)
            at = (int64_t)kit_below(r, 12);
        v[i] = at;
    }
}

static unsigned shape(struct codec *c, struct kit_random *r, int64_t *v, size_t n, unsigned kind,
                      bool dense)
{
    switch (kind) {
    case 0:
        noise(r, v, n, 2, -5);
        break;
    case 1:
        noise(r, v, n, 11, 0);
        break;
    case 2:
        noise(r, v, n, 200, 1000);
        break;
    case 3:
        noise(r, v, n, 100000, -50000);
        break;
    case 4:
        walk(r, v, n, 3);
        break;
    case 5:
        walk(r, v, n, 1000);
        break;
    case 6:
        mostly(r, v, n, 77, 200);
        break;
    case 7:
        plateaus(r, v, n);
        break;
    case 8:
        noise(r, v, n, UINT64_MAX, 0);
        break;
    default:
        noise(r, v, n, 1, INT64_MAX);
        break;
    }
    return round_trip(c, v, n, dense);
}

TEST(columns_of_many_shapes_and_sizes_round_trip_and_use_every_mode)
{
    struct codec *c = codec_open();
    struct kit_random r = {42};
    int64_t *v = xmalloc(MOST * sizeof *v);
    bool seen[32] = {false};
    for (unsigned kind = 0; kind < 10; kind++)
        for (size_t n = 0; n < MOST; n = n * 2 + 1 + kit_below(&r, 5))
            for (int dense = 0; dense < 2; dense++)
                seen[shape(c, &r, v, n, kind, dense) % 32] = true;
    for (unsigned mode = 0; mode < 5; mode++)
        if (!seen[mode] && !seen[mode + 16])
            test_fail(__FILE__, __LINE__, "no column used mode %u", mode);
    CHECK(seen[16 + 1] || seen[16 + 2] || seen[16 + 3]); /* differences */
    free(v);
    codec_close(c);
}

TEST(the_longest_column_round_trips)
{
    struct codec *c = codec_open();
    struct kit_random r = {7};
    int64_t *v = xmalloc(CODEC_MOST * sizeof *v);
    noise(&r, v, CODEC_MOST, 11, 0);
    CHECK_INT(round_trip(c, v, CODEC_MOST, true), 2);
    walk(&r, v, CODEC_MOST, 100000);
    round_trip(c, v, CODEC_MOST, true);
    free(v);
    codec_close(c);
}

TEST(ticks_of_a_busy_core_take_less_than_half_a_byte)
{
    struct codec *c = codec_open();
    struct kit_random r = {3};
    int64_t v[4096];
    struct buf b = {0};
    noise(&r, v, COUNT_OF(v), 11, 0);
    codec_encode(c, v, COUNT_OF(v), true, &b);
    CHECK(b.len < COUNT_OF(v) / 2);
    buf_free(&b);
    codec_close(c);
}

static void decode_any(struct codec *c, const uint8_t *p, size_t len, size_t n)
{
    int64_t *a = xmalloc((n + 1) * sizeof *a), *b = xmalloc((n + 1) * sizeof *b);
    uint8_t *narrow = xmalloc(n + 8), *exact = xmalloc(len);
    struct codec_view view;
    memcpy(exact, p, len); /* so that a sanitizer sees one byte too many */
    const bool one = codec_decode(c, exact, len, n, a);
    const bool two = codec_decode_view(c, exact, len, n, narrow, b, &view);
    CHECK(one == two);
    for (size_t i = 0; one && i < n; i++)
        CHECK((uint64_t)a[i] ==
              (view.narrow ? (uint64_t)view.base + view.v8[i] : (uint64_t)view.v64[i]));
    free(a);
    free(b);
    free(narrow);
    free(exact);
}

TEST(garbage_is_refused_or_decoded_but_never_crashes)
{
    struct codec *c = codec_open();
    struct kit_random r = {99};
    uint8_t bytes[64];
    for (int i = 0; i < 200000; i++) {
        const size_t len = kit_below(&r, sizeof bytes);
        for (size_t k = 0; k < len; k++)
            bytes[k] = (uint8_t)kit_next(&r);
        if (len)
            bytes[0] = (uint8_t)(kit_below(&r, 5) + 16 * kit_below(&r, 2));
        decode_any(c, bytes, len, kit_below(&r, 300));
    }
    codec_close(c);
}

TEST(a_column_with_a_changed_byte_or_cut_short_never_crashes)
{
    struct codec *c = codec_open();
    struct kit_random r = {5};
    int64_t v[1000];
    for (unsigned kind = 0; kind < 9; kind++) {
        struct buf b = {0};
        if (kind % 2)
            noise(&r, v, COUNT_OF(v), 1u << kind, 0);
        else
            walk(&r, v, COUNT_OF(v), 1u << kind);
        codec_encode(c, v, COUNT_OF(v), true, &b);
        for (size_t i = 0; i < MIN_OF(b.len, (size_t)300); i++) {
            decode_any(c, b.p, i, COUNT_OF(v));
            b.p[i] ^= (uint8_t)(1 + kit_below(&r, 255));
            decode_any(c, b.p, b.len, COUNT_OF(v));
            decode_any(c, b.p, b.len, COUNT_OF(v) - 1);
        }
        buf_free(&b);
    }
    codec_close(c);
}

TEST(more_values_than_a_column_may_have_are_refused)
{
    struct codec *c = codec_open();
    const uint8_t constant[] = {0, 0};
    int64_t out;
    CHECK(!codec_decode(c, constant, sizeof constant, (size_t)CODEC_MOST + 1, &out));
    CHECK(!codec_decode(c, constant, 0, 1, &out));
    codec_close(c);
}
