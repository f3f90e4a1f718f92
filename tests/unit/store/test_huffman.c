/* SPDX-License-Identifier: Apache-2.0 */
/* test_huffman.c - what is decoded without libzstd is what libzstd decodes. */
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include "base/mem.h"
#include "store/huffman.h"
#include "store/storekit.h"
#include "test.h"

/* Bytes of which each is half as likely as the one before it, from `first` on, `kinds` in all. */
static void falling(struct kit_random *r, uint8_t *out, size_t n, unsigned first, unsigned kinds)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t bits = kit_next(r) | UINT64_C(1) << 63;
        out[i] = (uint8_t)(first + (unsigned)__builtin_ctzll(bits) % kinds);
    }
}

/* Any of `kinds` bytes, `step` apart; the first is as likely as `usual` of them. */
static void even(struct kit_random *r, uint8_t *out, size_t n, unsigned kinds, unsigned step,
                 unsigned usual)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t k = kit_below(r, kinds + usual);
        out[i] = (uint8_t)((k < usual ? 0 : k - usual) * step);
    }
}

enum matches { NONE, SOME };

/* As the codec does it. The frame is an allocation of its own, so that a read too far is seen. */
static uint8_t *squeezed(const uint8_t *v, size_t n, enum matches matches, size_t *len)
{
    ZSTD_CCtx *z = ZSTD_createCCtx();
    uint8_t *room = xmalloc(ZSTD_compressBound(n));
    ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, matches == SOME ? 3 : 1);
    ZSTD_CCtx_setParameter(z, ZSTD_c_format, ZSTD_f_zstd1_magicless);
    ZSTD_CCtx_setParameter(z, ZSTD_c_contentSizeFlag, 0);
    ZSTD_CCtx_setParameter(z, ZSTD_c_windowLog, 14);
    if (matches == NONE) {
        ZSTD_CCtx_setParameter(z, ZSTD_c_strategy, ZSTD_fast);
        ZSTD_CCtx_setParameter(z, ZSTD_c_minMatch, 7);
        ZSTD_CCtx_setParameter(z, ZSTD_c_hashLog, 6);
        ZSTD_CCtx_setParameter(z, ZSTD_c_targetLength, 1 << 12);
        ZSTD_CCtx_setParameter(z, ZSTD_c_literalCompressionMode, ZSTD_ps_enable);
    }
    *len = ZSTD_compress2(z, room, ZSTD_compressBound(n), v, n);
    CHECK(!ZSTD_isError(*len));
    ZSTD_freeCCtx(z);
    return xrealloc(room, *len, 1);
}

struct both {
    ZSTD_DCtx *zstd;
    struct huffman *huffman;
};

static struct both open_both(void)
{
    struct both b = {ZSTD_createDCtx(), xcalloc(1, sizeof(struct huffman))};
    ZSTD_DCtx_setParameter(b.zstd, ZSTD_d_format, ZSTD_f_zstd1_magicless);
    return b;
}

static void close_both(struct both *b)
{
    ZSTD_freeDCtx(b->zstd);
    free(b->huffman);
}

/* Whether it was decoded; then libzstd gets the same. */
static bool agree(struct both *b, const uint8_t *p, size_t len, size_t n)
{
    uint8_t *out = xmalloc(n + 1), *room = xmalloc(n + 1);
    out = xrealloc(out, n ? n : 1, 1);
    const bool done = huffman_decode(b->huffman, p, len, out, n);
    const size_t got = ZSTD_decompressDCtx(b->zstd, room, n, p, len);
    if (done) {
        CHECK_INT(got, n);
        CHECK(memcmp(out, room, n) == 0);
    }
    free(out);
    free(room);
    return done;
}

static bool frame_agrees(struct both *b, const uint8_t *v, size_t n, enum matches matches)
{
    size_t len;
    uint8_t *p = squeezed(v, n, matches, &len);
    const bool done = agree(b, p, len, n);
    free(p);
    return done;
}

/* The shapes that codes have: few and many bytes, short and long codes. */
static void shape(struct kit_random *r, unsigned kind, uint8_t *out, size_t n)
{
    switch (kind) {
    case 0:
        falling(r, out, n, 7, 4);
        break;
    case 1:
        falling(r, out, n, 240, 14);
        break;
    case 2:
        even(r, out, n, 11, 17, 4);
        break;
    case 3:
        even(r, out, n, 120, 1, 300);
        break;
    default:
        even(r, out, n, 256, 1, 500);
    }
}

enum { SHAPES = 5, BLOCK = 1 << 14 };

TEST(every_shape_and_length_is_what_libzstd_makes_of_it)
{
    struct both b = open_both();
    struct kit_random r = {3};
    uint8_t *v = xmalloc(BLOCK);
    unsigned done = 0, all = 0;
    for (unsigned kind = 0; kind < SHAPES; kind++)
        for (size_t n = 1; n <= BLOCK; n += 1 + n / 24) {
            shape(&r, kind, v, n);
            done += frame_agrees(&b, v, n, NONE);
            all++;
        }
    CHECK(done > all * 3 / 5); /* of short ones no code is made */
    free(v);
    close_both(&b);
}

TEST(columns_of_a_few_thousand_samples_never_need_libzstd)
{
    struct both b = open_both();
    struct kit_random r = {4};
    uint8_t v[4096];
    for (unsigned kind = 0; kind < SHAPES; kind++)
        for (size_t n = 1024; n <= sizeof v; n += 61) {
            shape(&r, kind, v, n);
            CHECK(frame_agrees(&b, v, n, NONE));
        }
    close_both(&b);
}

TEST(frames_of_several_blocks_are_left_to_libzstd)
{
    struct both b = open_both();
    struct kit_random r = {5};
    uint8_t v[BLOCK + 1];
    shape(&r, 2, v, sizeof v);
    CHECK(frame_agrees(&b, v, BLOCK, NONE));
    CHECK(!frame_agrees(&b, v, BLOCK + 1, NONE));
    close_both(&b);
}

TEST(frames_with_matches_are_left_to_libzstd)
{
    struct both b = open_both();
    uint8_t v[3000];
    for (size_t i = 0; i < sizeof v; i++)
        v[i] = (uint8_t)(i / 7 * 31 % 97 + i % 11);
    CHECK(!frame_agrees(&b, v, sizeof v, SOME));
    close_both(&b);
}

TEST(another_length_than_the_frame_has_is_refused)
{
    struct both b = open_both();
    struct kit_random r = {6};
    uint8_t v[3000];
    size_t len;
    shape(&r, 3, v, sizeof v);
    uint8_t *p = squeezed(v, sizeof v, NONE, &len);
    CHECK(agree(&b, p, len, sizeof v));
    CHECK(!agree(&b, p, len, sizeof v - 1));
    CHECK(!agree(&b, p, len, sizeof v + 1));
    CHECK(!agree(&b, p, len, 0));
    free(p);
    close_both(&b);
}

TEST(a_frame_that_is_cut_is_refused)
{
    struct both b = open_both();
    struct kit_random r = {7};
    uint8_t v[2000];
    for (unsigned kind = 0; kind < SHAPES; kind++) {
        size_t len;
        shape(&r, kind, v, sizeof v);
        uint8_t *p = squeezed(v, sizeof v, NONE, &len);
        for (size_t n = 0; n < len; n++) {
            uint8_t *cut = xmalloc(MAX_OF(n, (size_t)1)); /* nothing may be read behind it */
            memcpy(cut, p, n);
            CHECK(!agree(&b, cut, n, sizeof v));
            free(cut);
        }
        free(p);
    }
    close_both(&b);
}

TEST(whatever_a_changed_byte_makes_libzstd_makes_the_same)
{
    struct both b = open_both();
    struct kit_random r = {8};
    uint8_t v[1200];
    unsigned done = 0;
    for (unsigned kind = 0; kind < SHAPES; kind++) {
        size_t len;
        shape(&r, kind, v, sizeof v);
        uint8_t *p = squeezed(v, sizeof v, NONE, &len);
        for (size_t i = 0; i < len; i++) {
            const uint8_t was = p[i];
            for (unsigned k = 0; k < 12; k++) {
                p[i] = (uint8_t)(k < 8 ? was ^ 1u << k : kit_next(&r));
                done += agree(&b, p, len, sizeof v);
            }
            p[i] = was;
        }
        free(p);
    }
    CHECK(done > 0); /* some only change what the bytes are */
    close_both(&b);
}
