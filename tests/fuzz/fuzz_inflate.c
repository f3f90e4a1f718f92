/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_inflate.c - any bytes as gzip: both engines give the same bytes. Whether odd headers are
 * data at all they need not agree on.
 * The first byte says what follows: up to 127, bytes of a gzip file, given in pieces of that size
 * (0: at once); from 128 on, raw deflate data, which becomes a member with the right header and
 * checksum if it is whole: then both engines have to give all of it. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/gzip.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

enum { OUT_MOST = 128 << 10, RAW = 128 };

struct outcome {
    size_t len;
    bool failed, absent;
};

/* Of the engines, and of zlib itself; kept between inputs, as a megabyte a time is most of the
 * work. */
static uint8_t *room[3];

static void expect(bool good)
{
    if (!good)
        abort();
}

static struct outcome inflate_all(const uint8_t *p, size_t n, size_t piece,
                                  enum inflate_engine engine, uint8_t *to)
{
    struct outcome o = {0};
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
        got = inflate_bytes(z)->read(inflate_bytes(z), to + o.len, OUT_MOST - o.len, &e);
        o.len += got > 0 ? (size_t)got : 0;
    }
    o.failed = got < 0;
    inflate_close(z);
    return o;
}

/* A gzip member of the raw data at p; false when it is not whole, or too much. */
static bool make_member(const uint8_t *p, size_t n, struct buf *out, size_t *len)
{
    static const uint8_t header[10] = {0x1f, 0x8b, 8};
    z_stream z = {.next_in = (Bytef *)(uintptr_t)p,
                  .avail_in = (uInt)n,
                  .next_out = room[2],
                  .avail_out = OUT_MOST - 1};
    if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
        abort();
    const bool whole = inflate(&z, Z_FINISH) == Z_STREAM_END;
    *len = z.total_out;
    inflateEnd(&z);
    if (!whole)
        return false;
    buf_put(out, header, sizeof header);
    buf_put(out, p, n - z.avail_in);
    buf_u32(out, (uint32_t)crc32(crc32(0, NULL, 0), room[2], (uInt)*len));
    buf_u32(out, (uint32_t)*len);
    return true;
}

static void check_raw(const uint8_t *p, size_t n, size_t piece)
{
    struct buf member = {0};
    size_t len;
    if (make_member(p, n, &member, &len)) {
        for (int k = 0; k < 2; k++) {
            const struct outcome o =
                inflate_all(member.p, member.len, piece, k ? INFLATE_ZLIB : INFLATE_ISAL, room[k]);
            expect(o.absent || (!o.failed && o.len == len && memcmp(room[k], room[2], len) == 0));
        }
    }
    buf_free(&member);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    if (n < 1)
        return 0;
    for (size_t i = 0; i < COUNT_OF(room); i++)
        room[i] = room[i] ? room[i] : xmalloc(OUT_MOST);
    if (p[0] >= RAW) {
        check_raw(p + 1, n - 1, p[0] - RAW);
        return 0;
    }
    const struct outcome a = inflate_all(p + 1, n - 1, p[0], INFLATE_ISAL, room[0]);
    const struct outcome b = inflate_all(p + 1, n - 1, p[0], INFLATE_ZLIB, room[1]);
    /* Of damaged data they may see more or less before they notice. */
    const bool whole = !a.absent && !a.failed && !b.failed;
    expect(!(whole && a.len != b.len) && memcmp(room[0], room[1], MIN_OF(a.len, b.len)) == 0);
    return 0;
}
