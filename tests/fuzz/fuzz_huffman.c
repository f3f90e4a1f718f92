/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_huffman.c - frames of entropy-coded bytes: what is decoded without libzstd is what libzstd
 * decodes. The first two bytes say how many bytes to expect. */
#define ZSTD_STATIC_LINKING_ONLY
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/mem.h"
#include "store/huffman.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void compare(const uint8_t *p, size_t len, const uint8_t *out, size_t n)
{
    uint8_t *room = xmalloc(n + 1);
    ZSTD_DCtx *z = ZSTD_createDCtx();
    ZSTD_DCtx_setParameter(z, ZSTD_d_format, ZSTD_f_zstd1_magicless);
    if (ZSTD_decompressDCtx(z, room, n, p, len) != n || memcmp(out, room, n) != 0)
        abort();
    ZSTD_freeDCtx(z);
    free(room);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    if (n < 2)
        return 0;
    const size_t want = (size_t)p[0] | (size_t)p[1] << 8;
    struct huffman *h = xcalloc(1, sizeof *h);
    uint8_t *out = xmalloc(want + 1);
    if (huffman_decode(h, p + 2, n - 2, out, want))
        compare(p + 2, n - 2, out, want);
    free(out);
    free(h);
    return 0;
}
