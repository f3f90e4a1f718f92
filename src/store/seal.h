/* SPDX-License-Identifier: Apache-2.0 */
/* seal.h - turns a segment into the blocks that keep it for good. */
#ifndef STORE_SEAL_H
#define STORE_SEAL_H

#include "store/codec.h"
#include "store/segment.h"

struct seal_out {
    /* One whole block; a failure ends the sealing with it. */
    int (*block)(void *ctx, const struct block_header *h, const struct buf *bytes, struct err *e);
    void *ctx;
};

/* A rows block for each group that has rows, then a log block that is flagged as the last. */
MUST_CHECK int seal_segment(struct codec *c, const struct segment *s, uint32_t number,
                            const struct seal_out *out, struct err *e);

#endif
