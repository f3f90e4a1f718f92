/* SPDX-License-Identifier: Apache-2.0 */
/* event_block.h - events of one track as columns, and back (docs/format.md, "Events block").
 * The store's own helper: sealing writes, reader.c and event_columns.c read. */
#ifndef STORE_EVENT_BLOCK_H
#define STORE_EVENT_BLOCK_H

#include "store/event_order.h"
#include "store/reader.h"
#include "store/segment.h"

/* What a block is made of: fields of events by row, as struct bare_event has them, names and
 * arguments by number in texts. Which row comes when, `order` says. */
struct event_rows {
    const struct seg_track *track;
    uint32_t n;                    /* at least one, ROWS_MOST at most */
    const struct order_key *order; /* with begin and duration */
    const int64_t *value;
    const uint64_t *link, *parent;
    const uint32_t *name, *args;
    const uint16_t *what;
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
