/* SPDX-License-Identifier: Apache-2.0 */
/* seal.c - see seal.h. */
#include "store/seal.h"

#include <stdlib.h>

#include "base/mem.h"
#include "store/column.h"

/* Memory of one sealing: used again for every column. */
struct scratch {
    int64_t *values, *times; /* ROWS_MOST at most */
    struct buf runs, head, data, block, bytes;
};

static void scratch_free(struct scratch *w)
{
    free(w->values);
    free(w->times);
    buf_free(&w->runs);
    buf_free(&w->head);
    buf_free(&w->data);
    buf_free(&w->block);
    buf_free(&w->bytes);
}

static void seal_put_times(struct codec *c, const struct seg_group *g, struct scratch *w)
{
    const int64_t *t = w->times;
    const uint64_t period_us = (uint64_t)(g->period_ns / NS_PER_US);
    for (uint32_t i = 0; i < g->rows; i++) /* unsigned: made-up times may be anything */
        w->values[i] = (int64_t)((uint64_t)t[i] - (uint64_t)t[0] - i * period_us);
    w->bytes.len = 0;
    codec_encode(c, w->values, g->rows, true, &w->bytes);
    blob_put(&w->head, &w->data, &w->bytes);
    buf_varint(&w->head, bucket_count(g->rows, LEVEL2));
    int64_t before = t[0];
    for (uint32_t i = 0; i < g->rows; i += LEVEL2) {
        buf_varint(&w->head, zigzag((int64_t)((uint64_t)t[i] - (uint64_t)before)));
        before = t[i];
    }
}

static void put_group_head(struct codec *c, const struct seg_group *g, struct scratch *w)
{
    buf_str(&w->head, g->name);
    buf_varint(&w->head, (uint64_t)g->period_ns);
    buf_varint(&w->head, g->rows);
    buf_varint(&w->head, LEVEL1);
    buf_varint(&w->head, LEVEL2);
    seal_put_times(c, g, w);
    buf_varint(&w->head, g->n_series);
}

static void seal_put_series(struct codec *c, const struct seg_series *s, struct scratch *w)
{
    const uint32_t count = segment_decode(s, w->values, &w->runs);
    const struct column_in in = {
        .metric = s->metric,
        .unit = s->unit,
        .entity = s->entity,
        .step = s->step,
        .first_row = s->first_row,
        .count = count,
        .values = w->values,
        .runs = (const int64_t *)(const void *)w->runs.p,
        .n_runs = w->runs.len / sizeof(int64_t),
    };
    column_put(c, &in, &w->head, &w->data);
}

int seal_emit(const struct block_header *h, const struct buf *head, const struct buf *data,
              struct buf *block, const struct seal_out *out, struct err *e)
{
    struct block_header full = *h;
    full.head_len = (uint32_t)head->len;
    full.payload_len = (uint32_t)(head->len + data->len);
    block->len = 0;
    block_put(block, &full, head, data);
    return out->block(out->ctx, &full, block, e);
}

static int emit(const struct block_header *h, struct scratch *w, const struct seal_out *out,
                struct err *e)
{
    return seal_emit(h, &w->head, &w->data, &w->block, out, e);
}

static int seal_group(struct codec *c, const struct segment *s, const struct seg_group *g,
                      uint32_t number, struct scratch *w, const struct seal_out *out, struct err *e)
{
    w->head.len = w->data.len = 0;
    w->values = xrealloc(w->values, g->rows, sizeof *w->values);
    w->times = xrealloc(w->times, g->rows, sizeof *w->times);
    segment_times(g, w->times);
    put_group_head(c, g, w);
    for (uint32_t i = 0; i < g->n_series; i++)
        seal_put_series(c, &s->series[g->series[i]], w);
    const struct block_header h = {
        .kind = BLOCK_ROWS,
        .t_first_us = w->times[0],
        .t_last_us = w->times[g->rows - 1],
        .segment = number,
        .rows = g->rows,
    };
    return emit(&h, w, out, e);
}

/* Tracks that were named and have no event in this segment, so no block that could say it. */
static void put_names(const struct segment *s, struct buf *out)
{
    for (uint32_t i = 0; i < s->n_tracks; i++) {
        const struct seg_track *t = &s->tracks[i];
        if (t->rows)
            continue;
        const size_t begun = record_begin(out, TAG_TRACK);
        buf_varint(out, i);
        buf_u8(out, t->kind);
        buf_varint(out, t->pid);
        buf_varint(out, t->id);
        buf_str(out, t->process);
        buf_str(out, t->name);
        record_end(out, begun);
    }
}

static int seal_log(const struct segment *s, uint32_t number, struct scratch *w,
                    const struct seal_out *out, struct err *e)
{
    w->head.len = w->data.len = 0;
    buf_put(&w->head, s->log.p, s->log.len);
    put_names(s, &w->head);
    const struct block_header h = {.kind = BLOCK_LOG, .flags = BLOCK_LAST, .segment = number};
    return emit(&h, w, out, e);
}

int seal_segment(struct codec *c, const struct segment *s, uint32_t number, enum seal_use use,
                 const struct seal_out *out, struct err *e)
{
    struct scratch w = {0};
    int rc = 0;
    for (uint32_t i = 0; i < s->n_groups && rc == 0; i++)
        if (s->groups[i].rows)
            rc = seal_group(c, s, &s->groups[i], number, &w, out, e);
    if (rc == 0)
        rc = seal_events(c, s, number, use, out, e);
    if (rc == 0)
        rc = seal_log(s, number, &w, out, e);
    scratch_free(&w);
    return rc;
}
