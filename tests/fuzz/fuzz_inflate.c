/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_inflate.c - any bytes as gzip: both engines give the same bytes. Whether odd headers are
 * data at all they need not agree on. */
#include <stdlib.h>
#include <string.h>

#include "base/inflate.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

enum { OUT_MOST = 1 << 20 };

struct outcome {
    uint8_t *bytes;
    size_t len;
    bool failed, absent;
};

static struct outcome inflate_all(const uint8_t *p, size_t n, size_t piece,
                                  enum inflate_engine engine)
{
    struct outcome o = {.bytes = xmalloc(OUT_MOST)};
    struct bytes_memory in;
    struct inflate *z;
    struct err e;
    int64_t got = 1;
    bytes_memory_init(&in, p, n, piece);
    if (inflate_open(&z, &in.in, engine, &e) != 0) {
        o.absent = true;
        return o;
    }
    while (got > 0 && o.len < OUT_MOST) {
        got = inflate_bytes(z)->read(inflate_bytes(z), o.bytes + o.len, OUT_MOST - o.len, &e);
        o.len += got > 0 ? (size_t)got : 0;
    }
    o.failed = got < 0;
    inflate_close(z);
    return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    if (n < 1)
        return 0;
    struct outcome a = inflate_all(p + 1, n - 1, p[0], INFLATE_ISAL);
    struct outcome b = inflate_all(p + 1, n - 1, p[0], INFLATE_ZLIB);
    /* Of damaged data they may see more or less before they notice. */
    const bool whole = !a.absent && !a.failed && !b.failed;
    if ((whole && a.len != b.len) || memcmp(a.bytes, b.bytes, MIN_OF(a.len, b.len)) != 0)
        abort();
    free(a.bytes);
    free(b.bytes);
    return 0;
}
