/* SPDX-License-Identifier: Apache-2.0 */
/* codec.h - a column of integers as few bytes (docs/format.md, "Codec column").
 * A codec owns its zstd contexts and scratch memory; not safe for two threads at once. */
#ifndef STORE_CODEC_H
#define STORE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { CODEC_MOST = 1 << 20 }; /* values in one column */

struct codec;

struct codec *codec_open(void);
void codec_close(struct codec *c);          /* NULL is fine */
size_t codec_memory(const struct codec *c); /* bytes that it has allocated */
/* From now on numbers are not compressed: for columns that stay in memory and are soon read. */
void codec_pack_only(struct codec *c);

/* Appends the encoded column to out. `dense` tries compression; without it only bit packing, which
 * decodes in nanoseconds and suits a few dozen values. */
void codec_encode(struct codec *c, const int64_t *v, size_t n, bool dense, struct buf *out);

/* Decodes n values; false when the bytes are not a column of n values. */
bool codec_decode(struct codec *c, const uint8_t *p, size_t len, size_t n, int64_t *out);

/* As decode, but columns whose values span less than 256 come as bytes over a base (`narrow` true,
 * value = base + out8[i]), which is what makes reductions fast. out8 needs n + 8 bytes. */
struct codec_view {
    bool narrow;
    int64_t base;
    const uint8_t *v8;
    const int64_t *v64;
};

bool codec_decode_view(struct codec *c, const uint8_t *p, size_t len, size_t n, uint8_t *out8,
                       int64_t *out64, struct codec_view *view);

/* Text: appended to out as it is, or compressed when that is shorter. */
void codec_put_bytes(struct codec *c, const struct buf *in, struct buf *out);
/* What codec_put_bytes was given, into an empty `out`; false when it is not that, or more than
 * `most` bytes. */
bool codec_get_bytes(struct codec *c, const uint8_t *p, size_t len, size_t most, struct buf *out);

#endif
