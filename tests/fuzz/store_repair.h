/* SPDX-License-Identifier: Apache-2.0 */
/* store_repair.h - corrects every checksum of a store file, as a forger would, so that a changed
 * byte reaches the code that interprets it. */
#ifndef TESTS_STORE_REPAIR_H
#define TESTS_STORE_REPAIR_H

#include <stdint.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mem.h"
#include "store/event_columns.h"
#include "store/format.h"
#include "store/reader_internal.h"

static inline uint32_t repair_u32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Only the reader knows where the header keeps the checksum of a blob; find it by its value. */
static inline void repair_blob(uint8_t *head, size_t head_len, const struct blob *b)
{
    if (!b->p || blob_whole(b))
        return;
    const uint32_t sum = format_sum32(b->p, b->len, 0);
    uint8_t *at = memmem(head, head_len, &b->sum, sizeof b->sum);
    if (at)
        memcpy(at, &sum, sizeof sum);
}

static inline void repair_columns(uint8_t *head, const struct block_header *h)
{
    struct arena a = {0};
    struct rows_block b;
    if (rows_block_get(h, head, &a, &b)) {
        repair_blob(head, h->head_len, &b.times);
        for (uint32_t i = 0; i < b.n_columns; i++) {
            const struct column *c = &block_columns(&b)[i];
            repair_blob(head, h->head_len, &c->gaps);
            repair_blob(head, h->head_len, &c->values);
            for (size_t k = 0; k < COUNT_OF(c->level1); k++)
                repair_blob(head, h->head_len, &c->level1[k]);
        }
        rows_block_forget(&b);
    }
    arena_free(&a);
}

static inline void repair_events(uint8_t *head, const struct block_header *h)
{
    struct events_block b;
    if (!event_block_get(h, head, &b))
        return;
    repair_blob(head, h->head_len, &b.names);
    for (size_t k = 0; k < EVENT_COLUMN_N; k++)
        repair_blob(head, h->head_len, &b.column[k]);
}

/* The sum over a block's header and head, as it is now. */
static inline void repair_block_sum(uint8_t *block)
{
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, block, BLOCK_HEADER_LEN - 8);
    XXH3_64bits_update(&state, block + BLOCK_HEADER_LEN, repair_u32(block + 12));
    const uint64_t sum = XXH3_64bits_digest(&state);
    memcpy(block + BLOCK_HEADER_LEN - sizeof sum, &sum, sizeof sum);
}

static inline void repair_blocks(uint8_t *p, size_t n)
{
    for (size_t at = FILE_HEADER_LEN; at + BLOCK_HEADER_LEN <= n; at += BLOCK_ALIGN) {
        struct block_header h;
        if (repair_u32(p + at) != BLOCK_MAGIC ||
            repair_u32(p + at + 12) > n - at - BLOCK_HEADER_LEN)
            continue;
        repair_block_sum(p + at);
        if (!block_get(&h, p + at, n - at))
            continue;
        if (h.kind == BLOCK_ROWS)
            repair_columns(p + at + BLOCK_HEADER_LEN, &h);
        if (h.kind == BLOCK_EVENTS)
            repair_events(p + at + BLOCK_HEADER_LEN, &h);
        repair_block_sum(p + at);
    }
}

static inline void repair_frames(uint8_t *p, size_t n)
{
    uint64_t segment;
    memcpy(&segment, p + 16, sizeof segment);
    for (size_t at = FILE_HEADER_LEN; at + FRAME_HEADER_LEN <= n;) {
        const uint32_t len = repair_u32(p + at);
        if (len > n - at - FRAME_HEADER_LEN)
            return;
        const uint32_t sum = format_sum32(p + at + FRAME_HEADER_LEN, len, segment);
        memcpy(p + at + 4, &sum, sizeof sum);
        at += FRAME_HEADER_LEN + len;
    }
}

/* `p` is a whole file: a tail, or a metrics.fp. */
static inline void store_repair(uint8_t *p, size_t n, bool tail)
{
    if (n < FILE_HEADER_LEN)
        return;
    const uint64_t sum = format_sum(p, FILE_HEADER_LEN - 8);
    memcpy(p + FILE_HEADER_LEN - 8, &sum, sizeof sum);
    if (tail)
        repair_frames(p, n);
    else
        repair_blocks(p, n);
}

#endif
