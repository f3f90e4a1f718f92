/* SPDX-License-Identifier: Apache-2.0 */
/* event_block.h - events of one track as columns, and back (docs/format.md, "Events block").
 * Sealing writes, reader.c and event_columns.c read. */
#ifndef STORE_EVENT_BLOCK_H
#define STORE_EVENT_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/reader.h"
#include "store/segment.h"

/* ---- the order of events: by begin, the longer one first ---- */

struct order_key {
    int64_t at, dur;
    uint32_t row; /* in the order of recording */
    uint32_t tie; /* of those that begin and end together the least comes first */
};

/* A hook records a span when it ends: of two that begin and end together the later one contains the
 * other. A trace file lists the containing one first (`listed`), as viewers expect it. Events
 * without a duration stay in their order. */
static inline struct order_key order_key(int64_t at, int64_t dur, uint32_t row, bool listed)
{
    return (struct order_key){at, dur, row, dur > 0 && !listed ? UINT32_MAX - row : row};
}

/* `spare` has room for n. Events come in the order of their ends, which is nearly this one; that
 * case costs few steps an event, any other n log n. */
void event_order(struct order_key *v, struct order_key *spare, size_t n);

/* ---- a block ---- */

/* What a block is made of: events by row, with names and arguments by number in texts. `order`
 * gives their order, with begin and duration. */
struct event_rows {
    const struct seg_track *track;
    uint32_t n; /* at least one, ROWS_MOST at most */
    const struct order_key *order;
    const struct bare_event *v;
    const struct seg_text **texts;
    uint32_t n_texts;
};

/* The block's head and data, and in `h` the fields of its header. */
void event_block_put(struct codec *c, const struct event_rows *rows, struct buf *head,
                     struct buf *data, struct block_header *h);

/* False when the head is not that of such a block. `payload` is what follows the header. */
bool event_block_get(const struct block_header *h, const uint8_t *payload,
                     struct events_block *out);
/* How many of its parts have a wrong checksum. */
uint64_t event_block_verify(const struct events_block *b);

#endif
