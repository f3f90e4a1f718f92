/* SPDX-License-Identifier: Apache-2.0 */
/* event_columns.h - blocks of events: their events as columns of numbers, and rows made of them;
 * at the end, how a block is written.
 *
 * `struct event_columns c = {0};` is ready for use. event_columns_read takes the place of the block
 * before it in the same memory; rows may be made until then. event_columns_free leaves it ready
 * again. */
#ifndef STORE_EVENT_COLUMNS_H
#define STORE_EVENT_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/reader.h"
#include "store/segment.h"

/* Which columns a caller needs beside begin, duration, name and `what`, which always come. The
 * others are not decoded and may come as 0. */
struct event_want {
    bool value, link, parent;
    uint64_t args_of; /* events of these categories, as bits */
};

#define EVENT_WANT_ALL                                                                             \
    (struct event_want)                                                                            \
    {                                                                                              \
        .value = true, .link = true, .parent = true, .args_of = UINT64_MAX                         \
    }

struct event_columns {
    uint32_t rows;
    /* By row, as docs/format.md numbers them, with sums and differences done: begin, `what` and
     * value are what they are. NULL: 0 everywhere, or not read; of `what`: that of the name. */
    int64_t *v[EVENT_COLUMN_N];
    const char **texts; /* by number */
    uint16_t *whats;    /* of the texts */
    /* Memory, and how much of it there is. */
    struct buf bytes;
    int64_t *cells[EVENT_COLUMN_N]; /* NULL: such a column was never read */
    uint64_t *before;
    uint32_t cap_rows, cap_texts;
};

/* Texts live in `a`. False when any part of the block is damaged, also one that is not wanted.
 */
bool event_columns_read(struct event_columns *c, struct codec *codec, const struct events_block *b,
                        const struct event_want *want, struct arena *a);
void event_columns_free(struct event_columns *c);
size_t event_columns_memory(const struct event_columns *c); /* bytes that it has allocated */

static inline int64_t event_cell(const struct event_columns *c, enum event_column k, uint32_t row)
{
    return c->v[k] ? c->v[k][row] : 0;
}

/* A value of a later version that this one does not know becomes the nearest one. */
static inline void event_set_what(struct event *v, unsigned what)
{
    const unsigned kind = what_part(what, 0, WHAT_KIND_BITS);
    const unsigned mode = what_part(what, WHAT_MODE_SHIFT, WHAT_MODE_BITS);
    const unsigned end = what_end(what);
    const unsigned category = what_part(what, WHAT_CATEGORY_SHIFT, WHAT_CATEGORY_BITS);
    const bool known = kind > 0 && kind < EVENT_KIND_N && (kind != EVENT_STEP || mode < MODE_N);
    v->kind = known ? (enum event_kind)kind : v->dur_ns ? EVENT_SPAN : EVENT_MARK;
    v->mode = mode < MODE_N ? (enum event_mode)mode : MODE_TRAIN;
    v->end = end <= END_OPEN ? (enum event_end)end : END_KNOWN;
    v->category = category < CAT_N ? (enum event_category)category : CAT_OTHER;
}

static inline const char *event_columns_name(const struct event_columns *c, uint32_t row)
{
    return c->texts[event_cell(c, COLUMN_NAME, row)];
}

static inline unsigned event_columns_what(const struct event_columns *c, uint32_t row)
{
    return c->v[COLUMN_WHAT] ? (unsigned)c->v[COLUMN_WHAT][row]
                             : c->whats[event_cell(c, COLUMN_NAME, row)];
}

static inline void event_columns_row(const struct event_columns *c, uint32_t row, struct event *out)
{
    const int64_t args = event_cell(c, COLUMN_ARGS, row);
    out->at.ns = c->v[COLUMN_AT][row];
    out->dur_ns = event_cell(c, COLUMN_DUR, row);
    out->value = event_cell(c, COLUMN_VALUE, row);
    out->name = event_columns_name(c, row);
    out->args = args ? c->texts[args - 1] : NULL;
    out->link = (uint64_t)event_cell(c, COLUMN_LINK, row);
    out->parent = (uint64_t)event_cell(c, COLUMN_PARENT, row);
    event_set_what(out, event_columns_what(c, row));
}

/* ==== a block of events: sealing writes, reader.c reads (docs/format.md, "Events block") ==== */

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
