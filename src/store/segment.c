/* SPDX-License-Identifier: Apache-2.0 */
/* segment.c - see segment.h. */
#include "store/segment.h"

#include <stdlib.h>

#include "base/mem.h"
#include "store/segment_events.h"

/* More groups than two MiB of tail can declare, so a writer that never stops changing its period
 * still seals. Slots are also bounded over all groups, so that a few made-up bytes cannot ask for
 * gigabytes. */
enum {
    GROUPS_MOST = 1 << 16,
    SLOTS_MOST = 1 << 16,
    SLOTS_MOST_ALL = 1 << 22,
    SERIES_MOST = 1 << 20,
};

static const char *get_name(struct segment *s, struct cur *c)
{
    char name[NAME_LEN];
    cur_str(c, name, sizeof name);
    return arena_strdup(&s->names, name);
}

static bool feed_group(struct segment *s, struct cur *c)
{
    const uint64_t number = cur_varint(c);
    const char *name = get_name(s, c);
    const uint64_t period = cur_varint_most(c, INT64_MAX);
    const int64_t before = unzigzag(cur_varint(c));
    if (c->bad || period == 0 || number != s->n_groups || number >= GROUPS_MOST)
        return false;
    if (s->n_groups == s->cap_groups) {
        s->cap_groups = s->cap_groups ? s->cap_groups * 2 : 16;
        s->groups = xrealloc(s->groups, s->cap_groups, sizeof *s->groups);
    }
    s->groups[s->n_groups++] =
        (struct seg_group){.name = name, .period_ns = (int64_t)period, .t_prev_us = before};
    return true;
}

static struct seg_group *get_group(struct segment *s, struct cur *c)
{
    const uint64_t number = cur_varint(c);
    return !c->bad && number < s->n_groups ? &s->groups[number] : NULL;
}

static void list_in_use(struct seg_group *g)
{
    g->order = xrealloc(g->order, g->n_slots, sizeof *g->order);
    g->n_order = 0;
    for (uint32_t i = 0; i < g->n_slots; i++)
        if (g->slots[i].series != SEG_NONE)
            g->order[g->n_order++] = g->slots[i].series;
    g->order_stale = false;
}

static void segment_set_slot(struct segment *s, struct seg_group *g, uint32_t slot, uint32_t series)
{
    if (slot >= g->n_slots) {
        s->n_slots += slot + 1 - g->n_slots;
        g->slots = xrealloc(g->slots, slot + 1, sizeof *g->slots);
        for (uint32_t i = g->n_slots; i <= slot; i++)
            g->slots[i].series = SEG_NONE;
        g->n_slots = slot + 1;
    }
    g->slots[slot].series = series;
    g->order_stale = true;
}

static uint32_t segment_add_series(struct segment *s, struct seg_group *g,
                                   const struct seg_series *one)
{
    if (s->n_series == s->cap_series) {
        s->cap_series = s->cap_series ? s->cap_series * 2 : 64;
        s->series = xrealloc(s->series, s->cap_series, sizeof *s->series);
    }
    if (g->n_series == g->cap_series) {
        g->cap_series = g->cap_series ? g->cap_series * 2 : 64;
        g->series = xrealloc(g->series, g->cap_series, sizeof *g->series);
    }
    s->series[s->n_series] = *one;
    g->series[g->n_series++] = s->n_series;
    return s->n_series++;
}

static bool feed_slot(struct segment *s, struct cur *c)
{
    struct seg_group *g = get_group(s, c);
    const uint64_t slot = cur_varint(c);
    struct seg_series one = {0};
    one.metric = get_name(s, c);
    one.unit = get_name(s, c);
    one.entity = get_name(s, c);
    one.step = cur_f64(c);
    if (c->bad || !g || slot >= SLOTS_MOST || s->n_series >= SERIES_MOST ||
        g->n_series >= COLUMNS_MOST || !(one.step > 0) || !(one.step < 1e300))
        return false;
    if (slot >= g->n_slots && s->n_slots + (slot + 1 - g->n_slots) > SLOTS_MOST_ALL)
        return false;
    one.first_row = g->rows;
    segment_set_slot(s, g, (uint32_t)slot, segment_add_series(s, g, &one));
    return true;
}

static bool feed_drop(struct segment *s, struct cur *c)
{
    struct seg_group *g = get_group(s, c);
    const uint64_t slot = cur_varint(c);
    if (c->bad || !g || slot >= g->n_slots || g->slots[slot].series == SEG_NONE)
        return false;
    segment_set_slot(s, g, (uint32_t)slot, SEG_NONE);
    return true;
}

static inline unsigned cell_len(uint8_t token)
{
    return token <= CELL_GAP ? 1 : token == CELL_U16 ? 3 : token == CELL_U32 ? 5 : 9;
}

/* A cell for each series in use. In locals, as a byte stored in a series could otherwise have
 * changed the cursor. */
static bool feed_cells(struct seg_series *series, const uint32_t *order, uint32_t n, struct cur *c)
{
    const uint8_t *p = c->p, *const end = c->end;
    for (uint32_t i = 0; i < n; i++) {
        struct seg_series *one = &series[order[i]];
        const unsigned len = p < end ? cell_len(*p) : 1;
        if ((size_t)(end - p) < len)
            return false;
        buf_reserve(&one->cells, 9);
        uint8_t *to = one->cells.p + one->cells.len;
        one->span++;
        one->gaps += *p == CELL_GAP;
        one->cells.len += len;
        if (len == 1)
            *to = *p;
        else
            memcpy(to, p, len);
        p += len;
    }
    c->p = p;
    return true;
}

static bool feed_row(struct segment *s, struct cur *c)
{
    struct seg_group *g = get_group(s, c);
    const int64_t off = unzigzag(cur_varint(c));
    if (c->bad || !g || g->rows >= ROWS_MOST)
        return false;
    g->t_prev_us =
        (int64_t)((uint64_t)g->t_prev_us + (uint64_t)(g->period_ns / NS_PER_US) + (uint64_t)off);
    if (g->order_stale)
        list_in_use(g);
    if (!feed_cells(s->series, g->order, g->n_order, c))
        return false;
    s->samples += g->n_order;
    if (g->rows == 0)
        g->t_first_us = g->t_prev_us;
    else
        buf_varint(&g->offs, zigzag(off));
    g->rows++;
    return true;
}

/* Unsigned: made-up times may be anything. */
void segment_times(const struct seg_group *g, int64_t *out)
{
    const uint64_t period_us = (uint64_t)(g->period_ns / NS_PER_US);
    struct cur c = cur_of(g->offs.p, g->offs.len);
    uint64_t t = (uint64_t)g->t_first_us;
    out[0] = g->t_first_us;
    for (uint32_t i = 1; i < g->rows; i++) {
        t += period_us + (uint64_t)unzigzag(cur_varint(&c));
        out[i] = (int64_t)t;
    }
}

/* Loss, mark, tie and what later versions add are kept as they stand. */
static bool feed_log(struct segment *s, struct cur *c, uint8_t tag)
{
    const uint8_t *from = c->p - 1;
    record_content(c);
    if (c->bad || tag < TAG_WITH_LENGTH)
        return false;
    buf_put(&s->log, from, (size_t)(c->p - from));
    return true;
}

static bool feed_one(struct segment *s, struct cur *c)
{
    const uint8_t tag = cur_u8(c);
    switch (tag) {
    case TAG_GROUP:
        return feed_group(s, c);
    case TAG_SLOT:
        return feed_slot(s, c);
    case TAG_DROP:
        return feed_drop(s, c);
    case TAG_ROW:
        return feed_row(s, c);
    case TAG_TRACK:
        return segment_feed_track(s, c);
    case TAG_NAME:
        return segment_feed_text(s, c);
    case TAG_EVENTS:
        return segment_feed_events(s, c);
    default:
        return feed_log(s, c, tag);
    }
}

/* A row that broke off in the middle left cells behind in the series before it. With a checksum
 * over the frame that happens only to bytes made up by somebody; settle takes them off again. */
static void segment_settle(struct segment *s)
{
    for (uint32_t g = 0; g < s->n_groups; g++)
        for (uint32_t i = 0; i < s->groups[g].n_series; i++) {
            struct seg_series *one = &s->series[s->groups[g].series[i]];
            one->span = MIN_OF(one->span, s->groups[g].rows - one->first_row);
        }
}

bool segment_feed(struct segment *s, const uint8_t *p, size_t n)
{
    struct cur c = cur_of(p, n);
    while (cur_left(&c))
        if (!feed_one(s, &c))
            return false;
    return true;
}

void segment_free(struct segment *s)
{
    for (uint32_t i = 0; i < s->n_series; i++)
        buf_free(&s->series[i].cells);
    for (uint32_t i = 0; i < s->n_groups; i++) {
        buf_free(&s->groups[i].offs);
        free(s->groups[i].slots);
        free(s->groups[i].order);
        free(s->groups[i].series);
    }
    free(s->groups);
    free(s->series);
    for (uint32_t i = 0; i < s->n_tracks; i++)
        buf_free(&s->tracks[i].events);
    free(s->tracks);
    free(s->piled);
    free(s->texts);
    buf_free(&s->log);
    arena_free(&s->names);
    *s = (struct segment){0};
}

static uint64_t wide_cell(const uint8_t *p, unsigned len)
{
    uint64_t v = 0;
    memcpy(&v, p + 1, len - 1);
    return v;
}

static void add_run(struct buf *runs, uint32_t length)
{
    buf_u64(runs, length);
}

static inline const uint8_t *get_cell(const uint8_t *p, uint64_t *at)
{
    const unsigned len = cell_len(*p);
    *at += (uint64_t)unzigzag(len == 1 ? *p : wide_cell(p, len));
    return p + len;
}

static void decode_dense(const struct seg_series *s, int64_t *values)
{
    const uint8_t *p = s->cells.p;
    uint64_t at = 0;
    for (uint32_t i = 0; i < s->span; i++) {
        p = get_cell(p, &at);
        values[i] = (int64_t)at;
    }
}

uint32_t segment_decode(const struct seg_series *s, int64_t *values, struct buf *runs)
{
    const uint8_t *p = s->cells.p;
    uint64_t at = 0;
    uint32_t n = 0, run = 0;
    bool in_gap = false;
    runs->len = 0;
    if (s->gaps == 0) {
        decode_dense(s, values);
        return s->span;
    }
    for (uint32_t i = 0; i < s->span; i++) {
        const bool gap = *p == CELL_GAP;
        if (gap) {
            p++;
        } else {
            p = get_cell(p, &at);
            values[n++] = (int64_t)at;
        }
        if (gap != in_gap) {
            add_run(runs, run);
            run = 0;
            in_gap = gap;
        }
        run++;
    }
    add_run(runs, run);
    return n;
}

size_t segment_read_frames(struct segment *s, const uint8_t *p, size_t n, uint64_t number,
                           bool *torn)
{
    size_t at = 0;
    for (;;) {
        struct cur c = cur_of(p + at, n - at);
        const uint32_t len = cur_u32(&c), sum = cur_u32(&c);
        if (c.bad || len > FRAME_MOST || cur_left(&c) < len)
            break;
        if (format_sum32(c.p, len, number) != sum || !segment_feed(s, c.p, len))
            break;
        at += FRAME_HEADER_LEN + len;
    }
    segment_settle(s);
    *torn = at < n;
    return at;
}
