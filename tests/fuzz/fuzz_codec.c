/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_codec.c - columns: any bytes are decoded or refused, both ways alike; any integers round
 * trip. The first byte says which, the next two how many values to expect. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void decode(struct codec *c, const uint8_t *p, size_t len, size_t n)
{
    int64_t *a = xmalloc(n * sizeof *a), *b = xmalloc(n * sizeof *b);
    uint8_t *narrow = xmalloc(n + 8);
    struct codec_view v;
    const bool one = codec_decode(c, p, len, n, a);
    if (one != codec_decode_view(c, p, len, n, narrow, b, &v))
        abort();
    for (size_t i = 0; one && i < n; i++)
        if ((uint64_t)a[i] != (v.narrow ? (uint64_t)v.base + v.v8[i] : (uint64_t)v.v64[i]))
            abort();
    free(a);
    free(b);
    free(narrow);
}

/* Integers of one, two, four or eight bytes. */
static void round_trip(struct codec *c, const uint8_t *p, size_t len, unsigned width, bool dense)
{
    const size_t n = len / width;
    int64_t *v = xmalloc(n * sizeof *v), *back = xmalloc(n * sizeof *back);
    struct buf out = {0};
    for (size_t i = 0; i < n; i++) {
        uint64_t x = 0;
        memcpy(&x, p + i * width, width);
        v[i] = (int64_t)x;
    }
    codec_encode(c, v, n, dense, &out);
    if (!codec_decode(c, out.p, out.len, n, back) || (n && memcmp(v, back, n * sizeof *v) != 0))
        abort();
    buf_free(&out);
    free(v);
    free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    if (n < 3)
        return 0;
    struct codec *c = codec_open();
    if (p[0] & 1)
        round_trip(c, p + 3, n - 3, 1u << (p[0] >> 1 & 3), p[0] & 8);
    else
        decode(c, p + 3, n - 3, (size_t)p[1] | (size_t)p[2] << 8);
    codec_close(c);
    return 0;
}
