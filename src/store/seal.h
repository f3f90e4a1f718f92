/* SPDX-License-Identifier: Apache-2.0 */
/* seal.h - turns a segment into the blocks that store it for good. */
#ifndef STORE_SEAL_H
#define STORE_SEAL_H

#include "store/codec.h"
#include "store/segment.h"

struct seal_out {
    /* One whole block; a failure ends the sealing with it. */
    int (*block)(void *ctx, const struct block_header *h, const struct buf *bytes, struct err *e);
    void *ctx;
};

/* A writer stores events that have an end; a reader shows open ones, too. */
enum seal_use { SEAL_TO_KEEP, SEAL_TO_SHOW };

/* A rows block for each group that has rows, events blocks for each track that has events, then a
 * log block that is flagged as the last. */
MUST_CHECK int seal_segment(struct codec *c, const struct segment *s, uint32_t number,
                            enum seal_use use, const struct seal_out *out, struct err *e);
/* After it was sealed to be kept, and more of the same tail will be fed: only events whose end was
 * not recorded yet stay. */
void seal_cut(struct segment *s);

#endif
