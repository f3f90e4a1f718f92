/* SPDX-License-Identifier: Apache-2.0 */
/* event_columns.c - see event_columns.h. */
#include "store/event_columns.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "store/event_block.h"

/* ---- texts ---- */

/* Room for those of the block, and one more so that none is no special case. */
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

/* All lie within the block's times, which keeps the sums from overflowing. */
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
