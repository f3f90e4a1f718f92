/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_segment.c - the payload of a tail's frame: refused or taken, and what was taken seals into
 * blocks that are whole, and whose events read back. The input becomes a frame with a right
 * checksum. */
#include <stdint.h>
#include <stdlib.h>

#include "../unit/store/block_events.h"
#include "base/mem.h"
#include "store/event_columns.h"
#include "store/segment.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

struct seen {
    struct codec *codec;
    enum seal_use use;
};

static void check_event(const struct events_block *b, const struct event *v,
                        const struct event *old, enum seal_use use)
{
    const int64_t first = b->t_first_us * NS_PER_US, last = b->t_last_us * NS_PER_US;
    if (v->at.ns < (old ? old->at.ns : first) || v->dur_ns < 0 || v->at.ns + v->dur_ns > last ||
        !v->name || v->kind < EVENT_SPAN || v->kind >= EVENT_KIND_N || v->category >= CAT_N)
        abort();
    if (old && v->at.ns == old->at.ns && v->dur_ns > old->dur_ns)
        abort();
    if (v->end == END_OPEN && use == SEAL_TO_KEEP)
        abort();
}

static void check_events(const struct seen *seen, const struct block_header *h, const struct buf *b)
{
    struct events_block events;
    struct arena a = {0};
    if (!event_block_get(h, b->p + BLOCK_HEADER_LEN, &events) || event_block_verify(&events))
        abort();
    struct event *v = xcalloc(events.rows, sizeof *v);
    if (!block_events(seen->codec, &events, &a, v))
        abort();
    for (uint32_t i = 0; i < events.rows; i++)
        check_event(&events, &v[i], i ? &v[i - 1] : NULL, seen->use);
    free(v);
    arena_free(&a);
}

static int check_block(void *ctx, const struct block_header *h, const struct buf *b, struct err *e)
{
    struct block_header got;
    (void)e;
    if (!block_get(&got, b->p, b->len) || got.kind != h->kind || block_size(&got) != b->len)
        abort();
    if (got.kind == BLOCK_EVENTS)
        check_events(ctx, &got, b);
    return 0;
}

static void seal(const struct segment *s, enum seal_use use)
{
    struct seen seen = {codec_open(), use};
    struct err e;
    if (seal_segment(seen.codec, s, 5, use, &(struct seal_out){check_block, &seen}, &e))
        abort();
    codec_close(seen.codec);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct segment s = {0};
    struct buf tail = {0};
    bool torn;
    buf_u32(&tail, (uint32_t)n);
    buf_u32(&tail, format_sum32(p, n, 5));
    buf_put(&tail, p, n);
    const size_t used = segment_read_frames(&s, tail.p, tail.len, SIZE_MAX, 5, &torn);
    if (torn != (used < tail.len))
        abort();
    seal(&s, SEAL_TO_KEEP);
    seal(&s, SEAL_TO_SHOW);
    segment_free(&s);
    buf_free(&tail);
    return 0;
}
