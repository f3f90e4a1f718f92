/* SPDX-License-Identifier: Apache-2.0 */
/* event_block.c - see event_block.h.
 *
 *     head: track kind, pid, id, process, name | texts: count, blob | columns: count, a blob each
 *     data: the bytes of these blobs
 *
 * A column of zeros has no bytes. Begins are differences: 2 (d - dur) when the event begins d after
 * the begin of the one before and not before its end, else 2 d + 1. Rows are sorted by begin, so d
 * is never negative. */
#include "store/event_block.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* ---- order: insertion into short runs, then merges of the ranges that overlap ---- */

enum { RUN = 32 };

static inline bool order_before(const struct order_key *a, const struct order_key *b)
{
    if (a->at != b->at)
        return a->at < b->at;
    if (a->dur != b->dur)
        return a->dur > b->dur;
    return a->tie < b->tie;
}

static void order_insert(struct order_key *v, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const struct order_key one = v[i];
        size_t at = i;
        for (; at > 0 && order_before(&one, &v[at - 1]); at--)
            v[at] = v[at - 1];
        v[at] = one;
    }
}

/* How many of v[0..n) come before `one`. */
static size_t order_count_before(const struct order_key *v, size_t n, const struct order_key *one)
{
    size_t lo = 0;
    while (lo < n) {
        const size_t mid = lo + (n - lo) / 2;
        if (order_before(&v[mid], one))
            lo = mid + 1;
        else
            n = mid;
    }
    return lo;
}

/* v[0..mid) and v[mid..n) are in order. */
static void order_merge(struct order_key *v, size_t mid, size_t n, struct order_key *spare)
{
    if (order_before(&v[mid - 1], &v[mid]))
        return;
    const size_t from = order_count_before(v, mid, &v[mid]);
    const size_t to = mid + order_count_before(v + mid, n - mid, &v[mid - 1]);
    const size_t left = mid - from;
    memcpy(spare, v + from, left * sizeof *v);
    size_t a = 0, b = mid;
    for (struct order_key *out = v + from; a < left; out++)
        *out = b < to && order_before(&v[b], &spare[a]) ? v[b++] : spare[a++];
}

void event_order(struct order_key *v, struct order_key *spare, size_t n)
{
    for (size_t i = 0; i < n; i += RUN)
        order_insert(v + i, MIN_OF((size_t)RUN, n - i));
    for (size_t width = RUN; width < n; width *= 2)
        for (size_t i = 0; i + width < n; i += 2 * width)
            order_merge(v + i, width, MIN_OF(2 * width, n - i), spare);
}

/* ---- event block ---- */

enum { COLUMNS_KNOWN_MOST = 64 }; /* that a later version may have added */

/* us that are not after, or not before, a moment in ns */
static int64_t floor_us(int64_t ns)
{
    return ns / NS_PER_US - (ns % NS_PER_US < 0);
}

static int64_t ceil_us(int64_t ns)
{
    return ns / NS_PER_US + (ns % NS_PER_US > 0);
}

/* ---- writing ---- */

static void gather_at(const struct event_rows *r, int64_t *out)
{
    uint64_t at = (uint64_t)floor_us(r->order[0].at) * (uint64_t)NS_PER_US, dur = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        const uint64_t d = (uint64_t)r->order[i].at - at;
        out[i] = (int64_t)(d >= dur ? 2 * (d - dur) : 2 * d + 1);
        at = (uint64_t)r->order[i].at;
        dur = (uint64_t)r->order[i].dur;
    }
}

static void gather_what(const struct event_rows *r, int64_t *out)
{
    for (uint32_t i = 0; i < r->n; i++) {
        const struct bare_event *v = &r->v[r->order[i].row];
        assert(v->name < r->n_texts);
        out[i] = (int64_t)v->what - r->texts[v->name]->what;
    }
}

static void gather_value(const struct event_rows *r, int64_t *out)
{
    uint64_t *before = xcalloc(r->n_texts, sizeof *before); /* by name */
    for (uint32_t i = 0; i < r->n; i++) {
        const struct bare_event *v = &r->v[r->order[i].row];
        out[i] = (int64_t)((uint64_t)v->value - before[v->name]);
        before[v->name] = (uint64_t)v->value;
    }
    free(before);
}

/* Column k of the rows, in their order. */
static void gather(const struct event_rows *r, enum event_column k, int64_t *out)
{
    assert(k < EVENT_COLUMN_N);
    if (k == COLUMN_AT)
        gather_at(r, out);
    else if (k == COLUMN_WHAT)
        gather_what(r, out);
    else if (k == COLUMN_VALUE)
        gather_value(r, out);
    else
        for (uint32_t i = 0; i < r->n; i++) {
            const struct bare_event *v = &r->v[r->order[i].row];
            out[i] = k == COLUMN_DUR      ? r->order[i].dur
                     : k == COLUMN_NAME   ? v->name
                     : k == COLUMN_LINK   ? (int64_t)v->link
                     : k == COLUMN_PARENT ? (int64_t)v->parent
                                          : v->args;
        }
}

static bool all_zero(const int64_t *v, uint32_t n)
{
    uint64_t any = 0;
    for (uint32_t i = 0; i < n; i++)
        any |= (uint64_t)v[i];
    return any == 0;
}

static void put_columns(struct codec *c, const struct event_rows *r, struct buf *head,
                        struct buf *data)
{
    int64_t *values = xmalloc(r->n * sizeof *values);
    struct buf bytes = {0};
    buf_varint(head, EVENT_COLUMN_N);
    for (unsigned k = 0; k < EVENT_COLUMN_N; k++) {
        gather(r, k, values);
        bytes.len = 0;
        if (!all_zero(values, r->n))
            codec_encode(c, values, r->n, true, &bytes);
        blob_put(head, data, &bytes);
    }
    buf_free(&bytes);
    free(values);
}

static void put_texts(struct codec *c, const struct event_rows *r, struct buf *head,
                      struct buf *data)
{
    struct buf all = {0}, packed = {0};
    for (uint32_t i = 0; i < r->n_texts; i++) {
        buf_varint(&all, r->texts[i]->what);
        buf_varint(&all, r->texts[i]->len);
        buf_put(&all, r->texts[i]->text, r->texts[i]->len);
    }
    codec_put_bytes(c, &all, &packed);
    buf_varint(head, r->n_texts);
    blob_put(head, data, &packed);
    buf_free(&all);
    buf_free(&packed);
}

void event_block_put(struct codec *c, const struct event_rows *r, struct buf *head,
                     struct buf *data, struct block_header *h)
{
    assert(r->n > 0 && r->n <= ROWS_MOST);
    buf_u8(head, r->track->kind);
    buf_varint(head, r->track->pid);
    buf_varint(head, r->track->id);
    buf_str(head, r->track->process);
    buf_str(head, r->track->name);
    put_texts(c, r, head, data);
    put_columns(c, r, head, data);
    int64_t last = r->order[0].at;
    for (uint32_t i = 0; i < r->n; i++)
        last = MAX_OF(last, r->order[i].at + r->order[i].dur);
    h->kind = BLOCK_EVENTS;
    h->rows = r->n;
    h->t_first_us = floor_us(r->order[0].at);
    h->t_last_us = ceil_us(last);
}

/* ---- reading ---- */

bool event_block_get(const struct block_header *h, const uint8_t *payload, struct events_block *out)
{
    struct cur head = cur_of(payload, h->head_len);
    struct cur data = cur_of(payload + h->head_len, h->payload_len - h->head_len);
    *out = (struct events_block){
        .t_first_us = h->t_first_us, .t_last_us = h->t_last_us, .rows = h->rows};
    out->track.kind = track_kind_of(cur_u8(&head));
    out->track.pid = (uint32_t)cur_varint_most(&head, UINT32_MAX);
    out->track.id = cur_varint(&head);
    cur_str(&head, out->track.process, sizeof out->track.process);
    cur_str(&head, out->track.name, sizeof out->track.name);
    out->n_names = (uint32_t)cur_varint_most(&head, 2 * ROWS_MOST);
    out->names = blob_get(&head, &data);
    const uint64_t columns = cur_varint_most(&head, COLUMNS_KNOWN_MOST);
    for (uint64_t i = 0; i < columns; i++) {
        const struct blob one = blob_get(&head, &data);
        if (i < EVENT_COLUMN_N)
            out->column[i] = one;
    }
    return !head.bad && h->rows > 0 && h->rows <= ROWS_MOST && h->t_first_us >= -TIME_MOST_US &&
           h->t_last_us <= TIME_MOST_US && h->t_first_us <= h->t_last_us;
}

uint64_t event_block_verify(const struct events_block *b)
{
    uint64_t bad = !blob_whole(&b->names);
    for (unsigned k = 0; k < EVENT_COLUMN_N; k++)
        bad += b->column[k].len && !blob_whole(&b->column[k]);
    return bad;
}
