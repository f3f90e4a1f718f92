/* SPDX-License-Identifier: Apache-2.0 */
/* answer_gzip.c - see answer_gzip.h. */
#include "serve/answer_gzip.h"

#include <limits.h>
#include <zlib.h>

#include "base/gzip.h"

enum { GZIP_BITS = 15 + 16, LEVEL = 1, MEMORY = 8 };

static bool gzip_deflate(z_stream *z, struct buf *out)
{
    buf_reserve(out, deflateBound(z, z->avail_in));
    z->next_out = out->p;
    z->avail_out = (uInt)out->cap;
    if (deflate(z, Z_FINISH) != Z_STREAM_END)
        return false;
    out->len = z->total_out;
    return true;
}

bool gzip_pack_zlib(const void *p, size_t n, bool noise, struct buf *out)
{
    const int strategy = noise ? Z_HUFFMAN_ONLY : Z_DEFAULT_STRATEGY;
    z_stream z = {0};
    if (n > INT_MAX / 2 || deflateInit2(&z, LEVEL, Z_DEFLATED, GZIP_BITS, MEMORY, strategy) != Z_OK)
        return false;
    z.next_in = (Bytef *)(uintptr_t)p;
    z.avail_in = (uInt)n;
    const bool good = gzip_deflate(&z, out) && out->len < n;
    deflateEnd(&z);
    if (!good)
        buf_free(out);
    return good;
}

bool gzip_pack(const void *p, size_t n, bool noise, struct buf *out)
{
    return n >= GZIP_LEAST && (gzip_isal(p, n, out) || gzip_pack_zlib(p, n, noise, out));
}

int gzip_unpack(const void *p, size_t n, size_t n_plain, struct buf *out, struct err *e)
{
    z_stream z = {0};
    if (n > INT_MAX || n_plain > INT_MAX || inflateInit2(&z, GZIP_BITS) != Z_OK)
        return err_set(e, ERR_LIMIT, "too large to be decompressed");
    buf_reserve(out, n_plain + 1);
    z.next_in = (Bytef *)(uintptr_t)p;
    z.avail_in = (uInt)n;
    z.next_out = out->p;
    z.avail_out = (uInt)n_plain + 1;
    const int end = inflate(&z, Z_FINISH);
    out->len = z.total_out;
    inflateEnd(&z);
    if (end == Z_STREAM_END && out->len == n_plain)
        return 0;
    buf_free(out);
    return err_set(e, ERR_FORMAT, "a file of the dashboard is damaged");
}
