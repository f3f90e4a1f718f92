/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_segment.c - the payload of a tail's frame: refused or taken, and what was taken seals into
 * blocks that are whole. The input becomes a frame with a right checksum. */
#include <stdint.h>
#include <stdlib.h>

#include "store/seal.h"
#include "store/segment.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static int check_block(void *ctx, const struct block_header *h, const struct buf *b, struct err *e)
{
    struct block_header got;
    (void)ctx;
    (void)e;
    if (!block_get(&got, b->p, b->len) || got.kind != h->kind || block_size(&got) != b->len)
        abort();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct segment s = {0};
    struct buf tail = {0};
    struct err e;
    bool torn;
    buf_u32(&tail, (uint32_t)n);
    buf_u32(&tail, format_sum32(p, n, 5));
    buf_put(&tail, p, n);
    const size_t used = segment_read_frames(&s, tail.p, tail.len, 5, &torn);
    if (torn != (used < tail.len))
        abort();
    struct codec *c = codec_open();
    if (seal_segment(c, &s, 5, &(struct seal_out){check_block, NULL}, &e))
        abort();
    codec_close(c);
    segment_free(&s);
    buf_free(&tail);
    return 0;
}
