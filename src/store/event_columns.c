/* SPDX-License-Identifier: Apache-2.0 */
/* event_columns.c - see event_columns.h. */
#include "store/event_columns.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

/* ---- texts ---- */

/* Room for those of the block, and one more so that zero texts are not a special case. */
static void make_text_room(struct event_columns *c, uint32_t n)
{
    if (n < c->cap_texts)
        return;
    c->cap_texts = n + 1;
    c->texts = xrealloc(c->texts, c->cap_texts, sizeof *c->texts);
    c->whats = xrealloc(c->whats, c->cap_texts, sizeof *c->whats);
    c->before = xrealloc(c->before, c->cap_texts, sizeof *c->before);
}

/* All texts into one array of the arena. */
static bool get_texts(struct event_columns *c, struct codec *codec, const struct events_block *b,
                      struct arena *a)
{
    c->bytes.len = 0;
    bool good = blob_whole(&b->names) && codec_get_bytes(codec, b->names.p, b->names.len,
                                                         2 * (size_t)TEXT_BYTES_MOST, &c->bytes);
    struct cur in = cur_of(c->bytes.p, c->bytes.len);
    /* A text takes two bytes at least in front of its own: there is room for the NULs. */
    char *to = good ? arena_array(a, char, c->bytes.len + 1) : NULL;
    make_text_room(c, b->n_names);
    for (uint32_t i = 0; i < b->n_names && good; i++) {
        c->whats[i] = (uint16_t)cur_varint_most(&in, WHAT_MOST);
        cur_str(&in, to, MIN_OF(cur_left(&in) + 1, (size_t)EVENT_NAME_MOST));
        c->texts[i] = to;
        assert(strlen(to) < EVENT_NAME_MOST);
        to += strlen(to) + 1;
        good = !in.bad;
    }
    return good;
}

/* ---- columns ---- */

/* Makes a column what it means, in place; false when no writer writes that. */
typedef bool settle(struct event_columns *c, const struct events_block *b, int64_t *v);

/* All lie within the block's times, so the sums cannot overflow. */
static bool settle_at(struct event_columns *c, const struct events_block *b, int64_t *v)
{
    const uint64_t last = (uint64_t)(b->t_last_us * NS_PER_US);
    uint64_t at = (uint64_t)(b->t_first_us * NS_PER_US), dur = 0;
    for (uint32_t i = 0; i < c->rows; i++) {
        const uint64_t x = (uint64_t)v[i], half = x >> 1;
        if (x & 1 ? half >= dur : half > last - at - dur)
            return false;
        at += x & 1 ? half : half + dur;
        dur = (uint64_t)event_cell(c, COLUMN_DUR, i);
        if (dur > last - at)
            return false;
        v[i] = (int64_t)at;
    }
    return true;
}

static bool all_within(const int64_t *v, uint32_t n, uint64_t most)
{
    uint64_t largest = 0;
    for (uint32_t i = 0; i < n; i++)
        largest = MAX_OF(largest, (uint64_t)v[i]);
    return largest <= most;
}

static bool settle_name(struct event_columns *c, const struct events_block *b, int64_t *v)
{
    return b->n_names > 0 && all_within(v, c->rows, b->n_names - 1);
}

static bool settle_args(struct event_columns *c, const struct events_block *b, int64_t *v)
{
    return all_within(v, c->rows, b->n_names);
}

static bool settle_what(struct event_columns *c, const struct events_block *b, int64_t *v)
{
    (void)b;
    for (uint32_t i = 0; i < c->rows; i++)
        v[i] = (int64_t)((uint64_t)v[i] + c->whats[event_cell(c, COLUMN_NAME, i)]);
    return all_within(v, c->rows, WHAT_MOST);
}

static bool settle_value(struct event_columns *c, const struct events_block *b, int64_t *v)
{
    assert(b->n_names <= c->cap_texts);
    memset(c->before, 0, b->n_names * sizeof *c->before);
    for (uint32_t i = 0; i < c->rows; i++) {
        uint64_t *value = &c->before[event_cell(c, COLUMN_NAME, i)];
        *value += (uint64_t)v[i];
        v[i] = (int64_t)*value;
    }
    return true;
}

/* In this order: begins need durations, `what` and values need names. `zeros`: a column of zeros
 * has a meaning, too. settle NULL: it is what it means. */
static const struct {
    enum event_column column;
    settle *settle;
    bool zeros;
} steps[] = {
    {COLUMN_DUR, NULL, false},           {COLUMN_AT, settle_at, true},
    {COLUMN_NAME, settle_name, true},    {COLUMN_WHAT, settle_what, false},
    {COLUMN_VALUE, settle_value, false}, {COLUMN_LINK, NULL, false},
    {COLUMN_PARENT, NULL, false},        {COLUMN_ARGS, settle_args, false},
};
static_assert(COUNT_OF(steps) == EVENT_COLUMN_N, "every column is read");

static void free_cells(struct event_columns *c)
{
    for (unsigned k = 0; k < EVENT_COLUMN_N; k++) {
        free(c->cells[k]);
        c->cells[k] = NULL;
    }
}

static void make_row_room(struct event_columns *c, uint32_t rows)
{
    if (rows <= c->cap_rows)
        return;
    free_cells(c);
    c->cap_rows = rows;
}

static int64_t *event_columns_cells_of(struct event_columns *c, enum event_column k)
{
    assert(c->rows <= c->cap_rows);
    if (!c->cells[k])
        c->cells[k] = xmalloc(c->cap_rows * sizeof *c->cells[k]);
    return c->cells[k];
}

static bool get_column(struct codec *codec, const struct blob *b, uint32_t rows, int64_t *out)
{
    if (b->len == 0) {
        memset(out, 0, rows * sizeof *out);
        return true;
    }
    return codec_decode(codec, b->p, b->len, rows, out);
}

/* Whether an event of one of these categories may be in the block. */
static bool may_hold(const struct event_columns *c, const struct events_block *b,
                     uint64_t categories)
{
    bool some = c->v[COLUMN_WHAT] && categories;
    for (uint32_t i = 0; i < b->n_names && !some; i++)
        some = categories >> what_part(c->whats[i], WHAT_CATEGORY_SHIFT, WHAT_CATEGORY_BITS) & 1;
    return some;
}

static bool event_columns_is_wanted(const struct event_columns *c, const struct events_block *b,
                                    const struct event_want *want, enum event_column k)
{
    switch (k) {
    case COLUMN_VALUE:
        return want->value;
    case COLUMN_LINK:
        return want->link;
    case COLUMN_PARENT:
        return want->parent;
    case COLUMN_ARGS:
        return may_hold(c, b, want->args_of);
    default:
        return true;
    }
}

static bool get_columns(struct event_columns *c, struct codec *codec, const struct events_block *b,
                        const struct event_want *want)
{
    bool good = true;
    for (unsigned i = 0; i < COUNT_OF(steps) && good; i++) {
        const enum event_column k = steps[i].column;
        if ((b->column[k].len == 0 && !steps[i].zeros) || !event_columns_is_wanted(c, b, want, k))
            continue;
        int64_t *v = event_columns_cells_of(c, k);
        good = get_column(codec, &b->column[k], c->rows, v) &&
               (!steps[i].settle || steps[i].settle(c, b, v));
        c->v[k] = v;
    }
    return good;
}

bool event_columns_read(struct event_columns *c, struct codec *codec, const struct events_block *b,
                        const struct event_want *want, struct arena *a)
{
    memset(c->v, 0, sizeof c->v);
    c->rows = b->rows;
    make_row_room(c, b->rows);
    return event_block_verify(b) == 0 && get_texts(c, codec, b, a) &&
           get_columns(c, codec, b, want);
}

void event_columns_free(struct event_columns *c)
{
    free(c->texts);
    free(c->whats);
    free(c->before);
    free_cells(c);
    buf_free(&c->bytes);
    *c = (struct event_columns){0};
}

size_t event_columns_memory(const struct event_columns *c)
{
    size_t columns = 0;
    for (unsigned k = 0; k < EVENT_COLUMN_N; k++)
        columns += c->cells[k] != NULL;
    return c->cap_rows * columns * sizeof *c->cells[0] + c->bytes.cap +
           c->cap_texts * (sizeof *c->texts + sizeof *c->whats + sizeof *c->before);
}

/* ---- names alone ---- */

bool store_event_names(struct codec *c, const struct events_block *b, struct arena *a,
                       const char ***out)
{
    struct event_columns columns = {0};
    const bool good = get_texts(&columns, c, b, a);
    *out = arena_array(a, const char *, b->n_names);
    if (good && b->n_names)
        memcpy(*out, columns.texts, b->n_names * sizeof **out);
    event_columns_free(&columns);
    return good;
}

/* ==== a block ====
 *
 *     head: track kind, pid, id, process, name | texts: count, blob | columns: count, a blob each
 *     data: the bytes of these blobs
 *
 * A column of zeros has no bytes. Begins are differences: 2 (d - dur) when the event begins d after
 * the begin of the one before and not before its end, else 2 d + 1. Rows are sorted by begin, so d
 * is never negative. */

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
    return SEARCH_FIRST(i, 0, n, order_before(&v[i], one));
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
