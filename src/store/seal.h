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

/* A writer keeps events that have an end; a reader shows what is open, too. */
enum seal_use { SEAL_TO_KEEP, SEAL_TO_SHOW };

/* A rows block for each group that has rows, events blocks for each track that has events, then a
 * log block that is flagged as the last. */
MUST_CHECK int seal_segment(struct codec *c, const struct segment *s, uint32_t number,
                            enum seal_use use, const struct seal_out *out, struct err *e);

/* ---- the sealers' own ---- */

/* Hands over the block of that head and data; h says the rest. `block` is memory to use. */
MUST_CHECK int seal_emit(const struct block_header *h, const struct buf *head,
                         const struct buf *data, struct buf *block, const struct seal_out *out,
                         struct err *e);
MUST_CHECK int seal_events(struct codec *c, const struct segment *s, uint32_t number,
                           enum seal_use use, const struct seal_out *out, struct err *e);

#endif
