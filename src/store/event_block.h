/* SPDX-License-Identifier: Apache-2.0 */
/* event_block.h - events of one track as columns, and back (docs/format.md, "Events block").
 * The store's own helper: sealing writes, reader.c and event_columns.c read. */
#ifndef STORE_EVENT_BLOCK_H
#define STORE_EVENT_BLOCK_H

#include "store/reader.h"
#include "store/segment.h"

/* What a block is made of. */
struct event_rows {
    const struct seg_track *track;
    const struct bare_event *v; /* in the order of the block; names and args by number in texts */
    uint32_t n;                 /* at least one, ROWS_MOST at most */
    const struct seg_text **texts;
    uint32_t n_texts;
};

/* The block's head and data, and in `h` what its header says of them. */
void event_block_put(struct codec *c, const struct event_rows *rows, struct buf *head,
                     struct buf *data, struct block_header *h);

/* False when the head is not that of such a block. `payload` is what stands behind the header. */
bool event_block_get(const struct block_header *h, const uint8_t *payload,
                     struct events_block *out);
/* How many of its parts have a wrong checksum. */
uint64_t event_block_verify(const struct events_block *b);

#endif
