/* SPDX-License-Identifier: Apache-2.0 */
/* codec.c - constant, bit-packed, and entropy-coded columns (docs/format.md, "Codec column").
 *
 *     mode byte | first value, only with MODE_DELTA | base | width byte | payload
 *
 *     MODE_CONST   no width, no payload: every value is the base
 *     MODE_BITS    width: bits a value; values over the base, one after the other
 *     MODE_PACKED  width: 1, 2, 4 or 8 bits a value; 8 / width of them in a byte, then zstd
 *     MODE_PLANES  width: 2 to 8 bytes a value; the lowest byte of all, then the next, then zstd
 *     MODE_SPARSE  no width; count, then distance and difference of each value that is not the base
 *     MODE_DELTA   added to one of these: they store the zigzag differences of neighbours
 *
 * Why every column comes back exactly: values, bases and differences are subtracted and added as
 * unsigned 64-bit numbers. They may wrap, and wrap back. The width is that of the largest value
 * over the base, so no bit is lost.
 *
 * Why made-up bytes do no harm: the number of values comes from the caller, never from the bytes. A
 * cursor refuses to read past the end; zstd must give exactly as many bytes as the values take; a
 * place in a sparse column is compared with their number.
 *
 * Samples of a machine are small integers with little memory, so what pays is a small alphabet and
 * an entropy coder, not long matches: values are packed several to a byte first, so that one
 * Huffman symbol covers two or more samples. */
#define ZSTD_STATIC_LINKING_ONLY
#include "store/codec.h"

#include <assert.h>
#include <stdlib.h>
#include <zstd.h>

#include "base/mem.h"

enum mode {
    MODE_CONST,
    MODE_BITS,
    MODE_PACKED,
    MODE_PLANES,
    MODE_SPARSE,
    MODE_N,
    MODE_DELTA = 16,
};

enum {
    DENSE_FROM = 96,      /* values; below, a Huffman table costs more than it saves */
    TEXT_FROM = 512,      /* the same in bytes of text */
    NO_MATCHES = 1 << 12, /* zstd's fast strategy skips ahead so far that it looks for none */
    RUNS_LEVEL = 3,
    WINDOW_LOG = 14, /* 2^17 would bring nothing here, and a megabyte of tables */
};

struct codec {
    bool pack_only;
    ZSTD_CCtx *huffman; /* entropy coding alone: better and faster on noise */
    ZSTD_CCtx *runs;    /* with matches: for columns that repeat for long */
    ZSTD_DCtx *dctx;
    struct buf packed; /* bytes before or after zstd */
    struct buf deltas; /* int64_t[], neighbours' differences; when decoding, bytes over a base */
    struct buf attempt[2]; /* zstd output */
};

struct codec *codec_open(void)
{
    return xcalloc(1, sizeof(struct codec));
}

void codec_pack_only(struct codec *c)
{
    c->pack_only = true;
}

void codec_close(struct codec *c)
{
    if (!c)
        return;
    ZSTD_freeCCtx(c->huffman);
    ZSTD_freeCCtx(c->runs);
    ZSTD_freeDCtx(c->dctx);
    buf_free(&c->packed);
    buf_free(&c->deltas);
    buf_free(&c->attempt[0]);
    buf_free(&c->attempt[1]);
    free(c);
}

size_t codec_memory(const struct codec *c)
{
    return sizeof *c + ZSTD_sizeof_CCtx(c->huffman) + ZSTD_sizeof_CCtx(c->runs) +
           ZSTD_sizeof_DCtx(c->dctx) + c->packed.cap + c->deltas.cap + c->attempt[0].cap +
           c->attempt[1].cap;
}

/* Frames without magic and size: both are known from the column, and a column is often shorter
 * than they are. */
static ZSTD_CCtx *new_compressor(int level)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();
    if (!c)
        abort();
    ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(c, ZSTD_c_format, ZSTD_f_zstd1_magicless);
    ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, 0);
    ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, WINDOW_LOG);
    return c;
}

/* Made when it is first needed: a reader never compresses. All matches are switched off, which
 * leaves the entropy coder. */
static ZSTD_CCtx *huffman_of(struct codec *c)
{
    if (!c->huffman) {
        c->huffman = new_compressor(1);
        ZSTD_CCtx_setParameter(c->huffman, ZSTD_c_strategy, ZSTD_fast);
        ZSTD_CCtx_setParameter(c->huffman, ZSTD_c_minMatch, 7);
        ZSTD_CCtx_setParameter(c->huffman, ZSTD_c_hashLog, 6);
        ZSTD_CCtx_setParameter(c->huffman, ZSTD_c_targetLength, NO_MATCHES);
        ZSTD_CCtx_setParameter(c->huffman, ZSTD_c_literalCompressionMode, ZSTD_ps_enable);
    }
    return c->huffman;
}

/* With matches; for columns whose values repeat for long, and for texts. */
static ZSTD_CCtx *runs_of(struct codec *c)
{
    if (!c->runs)
        c->runs = new_compressor(RUNS_LEVEL);
    return c->runs;
}

static ZSTD_DCtx *codec_decompressor(struct codec *c)
{
    if (!c->dctx) {
        c->dctx = ZSTD_createDCtx();
        if (!c->dctx)
            abort();
        ZSTD_DCtx_setParameter(c->dctx, ZSTD_d_format, ZSTD_f_zstd1_magicless);
    }
    return c->dctx;
}

static unsigned codec_bits_of(uint64_t v)
{
    return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}

struct range {
    int64_t lo;
    uint64_t span;   /* hi - lo */
    uint64_t weight; /* sum of the bits of values over lo, of every SAMPLE-th in a long column */
};

/* Odd, so that values which repeat in a short period are all met. */
enum { SAMPLE = 7, SAMPLE_FROM = 8192 };

/* Smallest value and span of all, and for wide columns how many bits the values take together.
 * That weight decides whether differences are stored; of long columns a sample of every seventh
 * is enough for it. */
static struct range range_of(const int64_t *v, size_t n)
{
    int64_t lo = v[0], hi = v[0];
    for (size_t i = 1; i < n; i++) {
        lo = MIN_OF(lo, v[i]);
        hi = MAX_OF(hi, v[i]);
    }
    struct range r = {lo, (uint64_t)hi - (uint64_t)lo, 0};
    const size_t step = n < SAMPLE_FROM ? 1 : SAMPLE;
    if (r.span >= 256) /* only for wide columns it is checked whether differences are smaller */
        for (size_t i = 0; i < n; i += step)
            r.weight += codec_bits_of((uint64_t)v[i] - (uint64_t)lo);
    return r;
}

/* ---- bit packing ---- */

/* Fills words of 64 bits from the lowest bit on. A value that does not fit into the rest of a
 * word continues in the next; the last word is cut to whole bytes. */
static void put_bits(struct buf *out, const int64_t *v, size_t n, int64_t base, unsigned w)
{
    uint64_t word = 0;
    unsigned have = 0;
    assert(w >= 1 && w <= 64);
    for (size_t i = 0; i < n; i++) {
        const uint64_t x = (uint64_t)v[i] - (uint64_t)base;
        assert(have < 64 && (w == 64 || x >> w == 0)); /* the base is the smallest */
        word |= x << have;
        if (have + w >= 64) {
            buf_u64(out, word);
            word = have ? x >> (64 - have) : 0;
            have = have + w - 64;
        } else {
            have += w;
        }
    }
    for (; have > 0; have = have > 8 ? have - 8 : 0, word >>= 8)
        buf_u8(out, (uint8_t)word);
}

/* Up to eight bytes that are there; missing ones are 0. */
static uint64_t load_le(const uint8_t *p, const uint8_t *end)
{
    uint64_t x = 0;
    if (end - p >= 8)
        memcpy(&x, p, sizeof x);
    else
        for (unsigned i = 0; p + i < end; i++)
            x |= (uint64_t)p[i] << (8 * i);
    return x;
}

/* The counterpart of put_bits. The fast loop reads eight bytes at once as long as they are all
 * there; the last values are read byte by byte, and so are those wider than 56 bits, which may
 * lie in nine bytes. */
static bool get_bits(struct cur *c, size_t n, int64_t base, unsigned w, int64_t *restrict out)
{
    const size_t bytes = (n * w + 7) / 8;
    const uint8_t *p = cur_take(c, bytes);
    if (!p)
        return false;
    const uint8_t *end = p + bytes;
    const uint64_t mask = w == 64 ? UINT64_MAX : (UINT64_C(1) << w) - 1;
    assert(w >= 1 && w <= 64); /* width_fits */
    size_t i = 0, bit = 0;
    if (w <= 56) /* then a value lies in the eight bytes from its first one on */
        for (; bit / 8 + 8 <= bytes && i < n; i++, bit += w) {
            uint64_t x;
            memcpy(&x, p + bit / 8, sizeof x);
            out[i] = (int64_t)((uint64_t)base + (x >> bit % 8 & mask));
        }
    for (; i < n; i++, bit += w) {
        const uint8_t *at = p + bit / 8;
        const unsigned shift = bit % 8;
        uint64_t x = load_le(at, end) >> shift;
        if (shift + w > 64)
            x |= load_le(at + 8, end) << (64 - shift);
        out[i] = (int64_t)((uint64_t)base + (x & mask));
    }
    return true;
}

/* ---- one value nearly everywhere ---- */

/* The majority vote of Boyer and Moore: one pass, no memory. Without a majority the result is
 * any value, and codec_count_others shows that it does not pay. */
static int64_t codec_majority(const int64_t *v, size_t n)
{
    int64_t most = v[0];
    size_t lead = 0;
    for (size_t i = 0; i < n; i++) {
        if (lead == 0)
            most = v[i];
        lead = v[i] == most ? lead + 1 : lead - 1;
    }
    return most;
}

static size_t codec_count_others(const int64_t *v, size_t n, int64_t value)
{
    size_t others = 0;
    for (size_t i = 0; i < n; i++)
        others += v[i] != value;
    return others;
}

/* Distances between exceptions are counted from the one before, so a long column of one value
 * costs nothing. */
static void put_sparse(struct buf *out, const int64_t *v, size_t n, int64_t usual, size_t others)
{
    size_t last = 0;
    assert(others <= n);
    buf_varint(out, others);
    for (size_t i = 0; i < n; i++) {
        if (v[i] == usual)
            continue;
        buf_varint(out, i - last);
        buf_varint(out, zigzag((int64_t)((uint64_t)v[i] - (uint64_t)usual)));
        last = i;
    }
}

/* Places only grow, and each is compared with n. Two exceptions at one place would be made up:
 * the last one counts. */
static bool get_sparse(struct cur *c, size_t n, int64_t usual, int64_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = usual;
    const uint64_t others = cur_varint_most(c, n);
    uint64_t at = 0;
    for (uint64_t i = 0; i < others; i++) {
        at += cur_varint_most(c, n);
        const int64_t d = unzigzag(cur_varint(c));
        if (c->bad || at >= n)
            return false;
        out[at] = (int64_t)((uint64_t)usual + (uint64_t)d);
    }
    return !c->bad;
}

/* ---- several values to a byte ---- */

/* Value i of a byte is in its bits i * b and up. The last byte may be partly used; the rest of
 * it is 0. */
static void pack_bytes(struct buf *out, const int64_t *v, size_t n, int64_t base, unsigned b)
{
    const unsigned per = 8 / b;
    assert(b == 1 || b == 2 || b == 4 || b == 8);
    out->len = 0;
    buf_reserve(out, n / per + 1);
    uint8_t *restrict to = out->p;
    size_t i = 0;
    for (; i + per <= n; i += per) {
        unsigned byte = 0;
        for (unsigned k = 0; k < per; k++)
            byte |= (unsigned)((uint64_t)v[i + k] - (uint64_t)base) << (k * b);
        *to++ = (uint8_t)byte;
    }
    if (i < n)
        *to = 0;
    for (unsigned k = 0; i + k < n; k++)
        *to |= (uint8_t)((unsigned)((uint64_t)v[i + k] - (uint64_t)base) << (k * b));
    out->len = (n + per - 1) / per;
}

/* With b and `per` known to the compiler this becomes a handful of instructions a byte. */
static inline void unpack_whole(const uint8_t *restrict p, size_t bytes, unsigned b,
                                uint8_t *restrict out)
{
    const unsigned per = 8 / b, mask = (1u << b) - 1;
    for (size_t i = 0; i < bytes; i++)
        for (unsigned k = 0; k < per; k++)
            out[i * per + k] = (uint8_t)((unsigned)p[i] >> (k * b) & mask);
}

/* The counterpart of pack_bytes, as bytes over the base. */
static void unpack_bytes(const uint8_t *p, size_t n, unsigned b, uint8_t *out)
{
    if (n == 0) /* p may be NULL */
        return;
    if (b == 8) {
        memcpy(out, p, n);
        return;
    }
    const unsigned per = 8 / b, mask = (1u << b) - 1;
    if (b == 1)
        unpack_whole(p, n / per, 1, out);
    else if (b == 2)
        unpack_whole(p, n / per, 2, out);
    else
        unpack_whole(p, n / per, 4, out);
    for (size_t i = n / per * per; i < n; i++)
        out[i] = (uint8_t)((unsigned)p[i / per] >> (i % per * b) & mask);
}

/* The same as numbers; `bytes` has room for n. */
static void codec_widen(const uint8_t *p, size_t n, unsigned b, int64_t base,
                        uint8_t *restrict bytes, int64_t *restrict out)
{
    assert(b == 1 || b == 2 || b == 4 || b == 8); /* width_fits */
    unpack_bytes(p, n, b, bytes);
    for (size_t i = 0; i < n; i++)
        out[i] = (int64_t)((uint64_t)base + bytes[i]);
}

/* ---- byte planes ---- */

/* Bytes of equal weight side by side compress better: the upper ones hardly change. */
static void split_planes(struct buf *out, const int64_t *v, size_t n, int64_t base, unsigned k)
{
    assert(k >= 2 && k <= 8);
    out->len = 0;
    buf_reserve(out, n * k);
    for (unsigned plane = 0; plane < k; plane++) {
        uint8_t *restrict to = out->p + plane * n;
        for (size_t i = 0; i < n; i++)
            to[i] = (uint8_t)(((uint64_t)v[i] - (uint64_t)base) >> (8 * plane));
    }
    out->len = n * k;
}

static void join_planes(const uint8_t *restrict p, size_t n, int64_t base, unsigned k,
                        int64_t *restrict out)
{
    assert(k >= 2 && k <= 8); /* width_fits */
    for (size_t i = 0; i < n; i++)
        out[i] = (int64_t)((uint64_t)base + p[i]);
    for (unsigned plane = 1; plane < k; plane++)
        for (size_t i = 0; i < n; i++)
            out[i] = (int64_t)((uint64_t)out[i] + ((uint64_t)p[plane * n + i] << (8 * plane)));
}

/* ---- zstd ---- */

static void compress_with(ZSTD_CCtx *z, const struct buf *in, struct buf *out)
{
    const size_t bound = ZSTD_compressBound(in->len);
    out->len = 0;
    buf_reserve(out, bound);
    const size_t got = ZSTD_compress2(z, out->p, bound, in->p, in->len);
    if (ZSTD_isError(got))
        abort(); /* the output has room for the worst case, so only our own mistake gets here */
    out->len = got;
}

/* Huffman codes end at one bit a byte; what comes near that is searched for long repeats. */
static const struct buf *codec_compress(struct codec *c)
{
    compress_with(huffman_of(c), &c->packed, &c->attempt[0]);
    if (c->attempt[0].len * 6 > c->packed.len)
        return &c->attempt[0];
    compress_with(runs_of(c), &c->packed, &c->attempt[1]);
    return &c->attempt[c->attempt[1].len < c->attempt[0].len];
}

/* Exactly `want` bytes into c->packed, which are valid until the next call. False when the frame
 * has more, fewer, or is none. */
static bool codec_decompress(struct codec *c, struct cur *in, size_t want)
{
    c->packed.len = 0;
    buf_reserve(&c->packed, want);
    const size_t got =
        ZSTD_decompressDCtx(codec_decompressor(c), c->packed.p, want, in->p, cur_left(in));
    in->p = in->end;
    return !ZSTD_isError(got) && got == want;
}

/* ---- columns ---- */

static void put_base(struct buf *out, uint8_t mode, const int64_t *first, int64_t base)
{
    buf_u8(out, (uint8_t)(mode + (first ? MODE_DELTA : 0)));
    if (first)
        buf_varint(out, zigzag(*first));
    buf_varint(out, zigzag(base));
}

/* Without compression: whichever is shorter. Exceptions take about two bytes each. */
static void put_plain_mode(struct buf *out, const int64_t *first, const int64_t *v, size_t n,
                           const struct range *r)
{
    const unsigned w = codec_bits_of(r->span);
    const int64_t usual = codec_majority(v, n);
    const size_t others = codec_count_others(v, n, usual);
    const size_t each = 1 + (w + 7) / 7; /* a distance and a difference, as varints */
    if (others * each < n * w / 8) {
        put_base(out, MODE_SPARSE, first, usual);
        put_sparse(out, v, n, usual, others);
        return;
    }
    put_base(out, MODE_BITS, first, r->lo);
    buf_u8(out, (uint8_t)w);
    put_bits(out, v, n, r->lo, w);
}

/* Tries zstd, and falls back when bit packing is as short. So a dense column is never longer
 * than a plain one. */
static void put_dense_mode(struct codec *c, struct buf *out, const int64_t *first, const int64_t *v,
                           size_t n, const struct range *r)
{
    const unsigned w = codec_bits_of(r->span);
    const bool narrow = w <= 8;
    const unsigned b = w <= 1 ? 1 : w <= 2 ? 2 : w <= 4 ? 4 : 8, k = (w + 7) / 8;
    assert(w >= 1); /* a constant has a separate mode */
    if (narrow)
        pack_bytes(&c->packed, v, n, r->lo, b);
    else
        split_planes(&c->packed, v, n, r->lo, k);
    const struct buf *z = codec_compress(c);
    if (z->len >= (n * w + 7) / 8) {
        put_plain_mode(out, first, v, n, r);
        return;
    }
    put_base(out, narrow ? MODE_PACKED : MODE_PLANES, first, r->lo);
    buf_u8(out, (uint8_t)(narrow ? b : k));
    buf_put(out, z->p, z->len);
}

/* `first` is the first value of a column of differences, NULL of a plain one. */
static void codec_put_column(struct codec *c, struct buf *out, const int64_t *first,
                             const int64_t *v, size_t n, const struct range *r, bool dense)
{
    if (n == 0 || r->span == 0)
        put_base(out, MODE_CONST, first, r->lo);
    else if (dense && n >= DENSE_FROM && !c->pack_only)
        put_dense_mode(c, out, first, v, n, r);
    else
        put_plain_mode(out, first, v, n, r);
}

/* Of n values n - 1 differences, as zigzag numbers, so that falling and rising columns are
 * narrow alike. */
static const int64_t *codec_differences(struct codec *c, const int64_t *v, size_t n)
{
    c->deltas.len = 0;
    buf_reserve(&c->deltas, n * sizeof *v);
    int64_t *d = (int64_t *)(void *)c->deltas.p;
    for (size_t i = 1; i < n; i++)
        d[i - 1] = (int64_t)zigzag((int64_t)((uint64_t)v[i] - (uint64_t)v[i - 1]));
    return d;
}

void codec_encode(struct codec *c, const int64_t *v, size_t n, bool dense, struct buf *out)
{
    assert(n <= CODEC_MOST);
    const struct range plain = n ? range_of(v, n) : (struct range){0};
    /* Differences pay for wide, slowly moving columns; narrow ones do better as they are. */
    if (n > 2 && plain.span >= 256) {
        const int64_t *d = codec_differences(c, v, n);
        const struct range delta = range_of(d, n - 1);
        const uint64_t narrow = n / (n < SAMPLE_FROM ? 1 : SAMPLE) * codec_bits_of(delta.span);
        const uint64_t weight = delta.span < 256 ? narrow : delta.weight;
        if (delta.lo >= 0 && weight < plain.weight) {
            codec_put_column(c, out, &v[0], d, n - 1, &delta, dense);
            return;
        }
    }
    codec_put_column(c, out, NULL, v, n, &plain, dense);
}

struct column_head {
    enum mode mode;
    bool delta;
    int64_t first, base;
    unsigned width; /* bits, bits or bytes, by mode */
    size_t n;       /* of what is coded */
};

/* Widths that the writer uses. Loops of the reader rely on them. */
static bool width_fits(const struct column_head *h)
{
    switch (h->mode) {
    case MODE_BITS:
        return h->width >= 1 && h->width <= 64;
    case MODE_PACKED:
        return h->width == 1 || h->width == 2 || h->width == 4 || h->width == 8;
    case MODE_PLANES:
        return h->width >= 2 && h->width <= 8;
    default:
        return true;
    }
}

/* Everything before the payload. Unknown modes, and widths that no writer writes, are refused. */
static bool get_head(struct cur *in, size_t n, struct column_head *h)
{
    const unsigned mode = cur_u8(in);
    *h = (struct column_head){.mode = mode % MODE_DELTA, .delta = mode >= MODE_DELTA, .n = n};
    if (in->bad || mode >= 2 * MODE_DELTA || h->mode >= MODE_N || n > CODEC_MOST)
        return false;
    if (h->delta) {
        h->first = unzigzag(cur_varint(in));
        if (n == 0)
            return false;
        h->n = n - 1;
    }
    h->base = unzigzag(cur_varint(in));
    if (h->mode != MODE_CONST && h->mode != MODE_SPARSE)
        h->width = cur_u8(in);
    return !in->bad && width_fits(h);
}

/* out[1..n] are the differences. */
static void codec_sum_up(const struct column_head *h, int64_t *out)
{
    uint64_t at = (uint64_t)h->first;
    assert(h->delta);
    out[0] = h->first;
    for (size_t i = 1; i <= h->n; i++) {
        at += (uint64_t)unzigzag((uint64_t)out[i]);
        out[i] = (int64_t)at;
    }
}

/* The payload as 64-bit numbers, whatever the mode. */
static bool get_wide(struct codec *c, struct cur *in, const struct column_head *h, int64_t *out)
{
    switch (h->mode) {
    case MODE_BITS:
        return get_bits(in, h->n, h->base, h->width, out);
    case MODE_SPARSE:
        return get_sparse(in, h->n, h->base, out);
    case MODE_PLANES:
        if (!codec_decompress(c, in, h->n * h->width))
            return false;
        join_planes(c->packed.p, h->n, h->base, h->width, out);
        return true;
    case MODE_PACKED: {
        const unsigned per = 8 / h->width;
        if (!codec_decompress(c, in, (h->n + per - 1) / per))
            return false;
        buf_reserve(&c->deltas, h->n);
        codec_widen(c->packed.p, h->n, h->width, h->base, c->deltas.p, out);
        return true;
    }
    default:
        for (size_t i = 0; i < h->n; i++)
            out[i] = h->base;
        return true;
    }
}

bool codec_decode(struct codec *c, const uint8_t *p, size_t len, size_t n, int64_t *out)
{
    struct cur in = cur_of(p, len);
    struct column_head h;
    if (!get_head(&in, n, &h) || !get_wide(c, &in, &h, h.delta ? out + 1 : out))
        return false;
    if (h.delta)
        codec_sum_up(&h, out);
    return true;
}

/* Packed and constant columns, which are most, stay bytes: minimum, maximum and sum of bytes are
 * several times faster than of 64-bit numbers. */
bool codec_decode_view(struct codec *c, const uint8_t *p, size_t len, size_t n, uint8_t *out8,
                       int64_t *out64, struct codec_view *view)
{
    struct cur in = cur_of(p, len);
    struct column_head h;
    if (!get_head(&in, n, &h))
        return false;
    if (h.delta || (h.mode != MODE_PACKED && h.mode != MODE_CONST)) {
        *view = (struct codec_view){.v64 = out64};
        return codec_decode(c, p, len, n, out64);
    }
    *view = (struct codec_view){.narrow = true, .base = h.base, .v8 = out8};
    if (h.mode == MODE_CONST) {
        memset(out8, 0, n);
        return true;
    }
    const unsigned per = 8 / h.width;
    if (!codec_decompress(c, &in, (n + per - 1) / per))
        return false;
    unpack_bytes(c->packed.p, n, h.width, out8);
    return true;
}

/* ---- bytes ---- */

enum { BYTES_PLAIN, BYTES_PACKED };

/* One byte for the form. Short texts are not compressed: zstd costs more than it saves there. */
void codec_put_bytes(struct codec *c, const struct buf *in, struct buf *out)
{
    if (in->len >= TEXT_FROM) {
        compress_with(runs_of(c), in, &c->attempt[0]);
        if (c->attempt[0].len < in->len) {
            buf_u8(out, BYTES_PACKED);
            buf_varint(out, in->len);
            buf_put(out, c->attempt[0].p, c->attempt[0].len);
            return;
        }
    }
    buf_u8(out, BYTES_PLAIN);
    buf_put(out, in->p, in->len);
}

/* The length of the text is in the bytes, so it is compared with `most` before memory is
 * reserved. */
bool codec_get_bytes(struct codec *c, const uint8_t *p, size_t len, size_t most, struct buf *out)
{
    struct cur in = cur_of(p, len);
    const uint8_t form = cur_u8(&in);
    if (in.bad || form > BYTES_PACKED)
        return false;
    const size_t want = form == BYTES_PACKED ? cur_varint_most(&in, most) : cur_left(&in);
    if (in.bad || want > most)
        return false;
    if (form == BYTES_PLAIN) {
        buf_put(out, in.p, want);
        return true;
    }
    if (!codec_decompress(c, &in, want))
        return false;
    buf_put(out, c->packed.p, want);
    return true;
}
