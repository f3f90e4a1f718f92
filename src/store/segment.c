/* SPDX-License-Identifier: Apache-2.0 */
/* segment.c - see segment.h. intake.c writes these bytes; docs/format.md, "Tail", defines them.
 *
 * Why any bytes are safe to feed:
 *
 * - A record is parsed with a cursor that turns `bad` at the end of its bytes. The segment changes
 *   only when the whole record is good. The one exception are the cells of a row, which go to
 *   their series one by one: segment_settle removes those of a row that broke off.
 * - A number that refers to a group, slot, track or text is compared with how many there are.
 *   Numbers are given in order from 0, so a new one is always the count.
 * - Counts that cost memory have a limit that no writer reaches within one tail.
 * - Times and cells are summed as unsigned numbers, which may wrap. Made-up bytes give wrong
 *   times, which the reader of the block refuses, and never undefined behaviour.
 *
 * The events of a record are all checked when it is fed (segment_count_events). So segment_event
 * fails only at the end of a track, and sealing needs no error for them. */
#include "store/segment.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/vec.h"

/* ---- tracks, texts and events ----
 *
 * Each function takes the record whose tag was just read. False: no writer writes that, and nothing
 * has changed. */

/* More than fits into a writer's tail before it is sealed (eight and eleven bytes each, ten MiB),
 * so that made-up bytes cannot request gigabytes. */
enum { TEXTS_MOST = 1 << 22, TRACKS_MOST = 1 << 20 };

/* Texts are copied: the frame they come from is not valid after segment_feed. */
static const char *segment_get_text(struct segment *s, struct cur *c, size_t size, uint32_t *len)
{
    char text[EVENT_NAME_MOST];
    cur_str(c, text, size);
    if (c->bad)
        return NULL;
    *len = (uint32_t)strlen(text);
    return arena_strndup(&s->names, text, *len);
}

/* The track with that number: a new one, or the one that has it, if they are the same. */
static struct seg_track *track_at(struct segment *s, uint64_t number, const struct seg_track *one)
{
    if (number < s->n_tracks) {
        struct seg_track *t = &s->tracks[number];
        return t->kind == one->kind && t->pid == one->pid && t->id == one->id ? t : NULL;
    }
    if (number != s->n_tracks || number >= TRACKS_MOST)
        return NULL;
    struct seg_track *t = VEC_ADD(s->tracks, s->n_tracks, s->cap_tracks);
    *t = *one;
    return t;
}

/* A track may be declared again with the same number: then it has a new name. Empty names change
 * nothing. */
static bool segment_feed_track(struct segment *s, struct cur *in)
{
    struct cur c = record_content(in);
    struct seg_track one = {.last = INT64_MIN};
    uint32_t len;
    const uint64_t number = cur_varint(&c);
    one.kind = cur_u8(&c);
    one.pid = (uint32_t)cur_varint_most(&c, UINT32_MAX);
    one.id = cur_varint(&c);
    one.process = segment_get_text(s, &c, TRACK_NAME_LEN, &len);
    one.name = segment_get_text(s, &c, TRACK_NAME_LEN, &len);
    struct seg_track *t = in->bad || c.bad ? NULL : track_at(s, number, &one);
    if (!t)
        return false;
    t->process = *one.process ? one.process : t->process;
    t->name = *one.name ? one.name : t->name;
    return true;
}

/* Numbers of texts are given in order, so the next one is the count. */
static bool segment_feed_text(struct segment *s, struct cur *in)
{
    struct cur c = record_content(in);
    const uint64_t number = cur_varint(&c);
    struct seg_text t = {.what = (uint16_t)cur_varint_most(&c, WHAT_MOST)};
    if (c.bad || number != s->n_texts || number >= TEXTS_MOST || what_end(t.what))
        return false;
    t.text = segment_get_text(s, &c, EVENT_NAME_MOST, &t.len);
    if (in->bad || c.bad)
        return false;
    *VEC_ADD(s->texts, s->n_texts, s->cap_texts) = t;
    return true;
}

static inline uint64_t get_if(struct cur *c, unsigned has, unsigned bit)
{
    return has & bit ? cur_varint(c) : 0;
}

/* One event at the cursor, which moves on success only. Fields that the first byte does not
 * announce are 0; `what` is that of the text unless it is announced. */
static inline bool next_event(const struct segment *s, struct event_cur *at, struct bare_event *out)
{
    struct cur c = at->in;
    const unsigned has = cur_u8(&c), end = has >> HAS_END_SHIFT;
    const uint64_t name = cur_varint(&c);
    if (c.bad || name >= s->n_texts)
        return false;
    const uint64_t what = has & HAS_WHAT ? cur_varint(&c) : s->texts[name].what;
    out->at = (int64_t)(at->end + (uint64_t)unzigzag(cur_varint(&c)));
    const uint64_t dur = get_if(&c, has, HAS_DUR);
    out->value = unzigzag(get_if(&c, has, HAS_VALUE));
    out->link = get_if(&c, has, HAS_LINK);
    out->parent = get_if(&c, has, HAS_PARENT);
    const uint64_t args = get_if(&c, has, HAS_ARGS);
    if (c.bad || what > WHAT_MOST || what_end((unsigned)what) ||
        (has & HAS_ARGS && args >= s->n_texts) || !event_fits(out->at, dur))
        return false;
    out->dur = (int64_t)dur;
    out->name = (uint32_t)name;
    out->args = has & HAS_ARGS ? (uint32_t)args + 1 : 0;
    out->what = (uint16_t)(what | end << WHAT_END_SHIFT);
    at->in = c;
    at->end = (uint64_t)out->at + dur;
    return true;
}

bool segment_event(const struct segment *s, struct event_cur *c, struct bare_event *out)
{
    if (c->n_carried) {
        *out = *c->carried++;
        c->n_carried--;
        return true;
    }
    return cur_left(&c->in) && next_event(s, c, out);
}

/* Checks all events of a record. */
static bool segment_count_events(const struct segment *s, struct seg_track *t, struct cur c)
{
    struct event_cur at = {.in = c, .end = t->end};
    struct bare_event v;
    uint32_t rows = 0, open = 0;
    int64_t last = t->last;
    for (; cur_left(&at.in); rows++) {
        if (!next_event(s, &at, &v))
            return false;
        open += what_end(v.what) == END_OPEN;
        last = MAX_OF(last, v.at + v.dur);
    }
    t->rows += rows;
    t->open += open;
    t->end = at.end;
    t->last = last;
    return true;
}

/* All events of the record are checked before one of them is taken. The bytes are copied as they
 * are: they take a fifth of the memory of decoded events. */
static bool segment_feed_events(struct segment *s, struct cur *in)
{
    struct cur c = record_content(in);
    const uint64_t number = cur_varint(&c);
    if (in->bad || c.bad || number >= s->n_tracks)
        return false;
    struct seg_track *t = &s->tracks[number];
    if (!segment_count_events(s, t, c))
        return false;
    buf_put(&t->events, c.p, cur_left(&c));
    return true;
}

/* ---- groups and rows ---- */

/* More groups than two MiB of tail can declare, so a writer that never stops changing its period
 * still seals. Slots are also bounded over all groups, so that a few made-up bytes cannot request
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

/* Groups are numbered in order. The time before its first row comes with it, so that the first
 * row is a difference like all others. */
static bool feed_group(struct segment *s, struct cur *c)
{
    const uint64_t number = cur_varint(c);
    const char *name = get_name(s, c);
    const uint64_t period = cur_varint_most(c, INT64_MAX);
    const int64_t before = unzigzag(cur_varint(c));
    if (c->bad || period == 0 || number != s->n_groups || number >= GROUPS_MOST)
        return false;
    *VEC_ADD(s->groups, s->n_groups, s->cap_groups) =
        (struct seg_group){.name = name, .period_ns = (int64_t)period, .t_prev_us = before};
    return true;
}

static struct seg_group *get_group(struct segment *s, struct cur *c)
{
    const uint64_t number = cur_varint(c);
    return !c->bad && number < s->n_groups ? &s->groups[number] : NULL;
}

/* The series that a row has cells for, in the order of slots, which is that of the cells. */
static void list_in_use(struct seg_group *g)
{
    g->order = xrealloc(g->order, g->n_slots, sizeof *g->order);
    g->n_order = 0;
    for (uint32_t i = 0; i < g->n_slots; i++)
        if (g->slots[i] != SEG_NONE)
            g->order[g->n_order++] = g->slots[i];
    g->order_stale = false;
}

/* A slot is a place in the rows of a group. It may be declared, dropped and declared again, each
 * time as another series. */
static void segment_set_slot(struct segment *s, struct seg_group *g, uint32_t slot, uint32_t series)
{
    if (slot >= g->n_slots) {
        s->n_slots += slot + 1 - g->n_slots;
        g->slots = xrealloc(g->slots, slot + 1, sizeof *g->slots);
        for (uint32_t i = g->n_slots; i <= slot; i++)
            g->slots[i] = SEG_NONE;
        g->n_slots = slot + 1;
    }
    assert(slot < g->n_slots && s->n_slots <= SLOTS_MOST_ALL);
    g->slots[slot] = series;
    g->order_stale = true;
}

/* The series begins with the next row of its group. What was recorded in the slot before belongs
 * to another series. */
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
    segment_set_slot(s, g, (uint32_t)slot, s->n_series);
    *VEC_ADD(g->series, g->n_series, g->cap_series) = s->n_series;
    *VEC_ADD(s->series, s->n_series, s->cap_series) = one;
    return true;
}

/* From the next row on there is no cell for it. */
static bool feed_drop(struct segment *s, struct cur *c)
{
    struct seg_group *g = get_group(s, c);
    const uint64_t slot = cur_varint(c);
    if (c->bad || !g || slot >= g->n_slots || g->slots[slot] == SEG_NONE)
        return false;
    segment_set_slot(s, g, (uint32_t)slot, SEG_NONE);
    return true;
}

/* Bytes of a cell by its first one: small differences have one, others a marker and 2, 4 or 8. */
static inline unsigned cell_len(uint8_t token)
{
    return token <= CELL_GAP ? 1 : token == CELL_U16 ? 3 : token == CELL_U32 ? 5 : 9;
}

/* A cell for each series in use. In locals, as a byte stored in a series could otherwise have
 * changed the cursor. */
static bool feed_cells(struct seg_series *series, const uint32_t *order, uint32_t n, struct cur *c)
{
    const uint8_t *p = c->p, *const end = c->end;
    assert(p <= end);
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

/* A row has a time and a cell for each slot in use. Cells stay bytes: a day of a wide node would
 * not fit as numbers. */
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
    assert(g->rows < ROWS_MOST); /* a block has no more */
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
    assert(g->rows > 0);
    out[0] = g->t_first_us;
    for (uint32_t i = 1; i < g->rows; i++) {
        t += period_us + (uint64_t)unzigzag(cur_varint(&c));
        out[i] = (int64_t)t;
    }
    assert(!c.bad && cur_left(&c) == 0); /* feed_row put one for each row but the first */
}

/* Loss, mark, tie and what later versions add are copied as they are. */
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

/* A row that broke off in the middle left cells in the series before it. With a checksum
 * over the frame that happens only to made-up bytes; segment_settle removes them again. */
static void segment_settle(struct segment *s)
{
    for (uint32_t g = 0; g < s->n_groups; g++)
        for (uint32_t i = 0; i < s->groups[g].n_series; i++) {
            struct seg_series *one = &s->series[s->groups[g].series[i]];
            assert(one->first_row <= s->groups[g].rows);
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
    for (uint32_t i = 0; i < s->n_tracks; i++) {
        buf_free(&s->tracks[i].events);
        free(s->tracks[i].carried);
    }
    free(s->tracks);
    free(s->texts);
    buf_free(&s->log);
    arena_free(&s->names);
    *s = (struct segment){0};
}

static inline const uint8_t *get_cell(const uint8_t *p, uint64_t *at)
{
    const unsigned len = cell_len(*p);
    assert(*p != CELL_GAP);
    uint64_t z = len == 1 ? *p : 0;
    if (len > 1)
        memcpy(&z, p + 1, len - 1);
    *at += (uint64_t)unzigzag(z);
    return p + len;
}

/* Differences become values, gaps become runs. `at` starts at 0 as in the writer, unless the
 * segment was cut, and a gap does not change it. */
uint32_t segment_decode(const struct seg_series *s, int64_t *values, struct buf *runs)
{
    const uint8_t *p = s->cells.p;
    uint64_t at = s->before;
    uint32_t n = 0, run = 0;
    bool in_gap = false;
    runs->len = 0;
    for (uint32_t i = 0; i < s->span; i++) {
        const bool gap = *p == CELL_GAP;
        if (gap) {
            p++;
        } else {
            p = get_cell(p, &at);
            values[n++] = (int64_t)at;
        }
        if (gap != in_gap) {
            buf_u64(runs, run);
            run = 0;
            in_gap = gap;
        }
        run++;
    }
    if (s->gaps)
        buf_u64(runs, run);
    assert(n <= s->span && (s->span == 0 || p <= s->cells.p + s->cells.len));
    return n;
}

static void series_cut(struct seg_series *s)
{
    const uint8_t *p = s->cells.p;
    for (uint32_t i = 0; i < s->span; i++)
        p = *p == CELL_GAP ? p + 1 : get_cell(p, &s->before);
    s->first_row = s->span = s->gaps = 0;
    s->cells.len = 0;
}

void segment_cut(struct segment *s)
{
    for (uint32_t i = 0; i < s->n_series; i++)
        series_cut(&s->series[i]);
    for (uint32_t i = 0; i < s->n_groups; i++) {
        s->groups[i].rows = 0;
        s->groups[i].offs.len = 0;
    }
    for (uint32_t i = 0; i < s->n_tracks; i++) {
        struct seg_track *t = &s->tracks[i];
        t->rows = t->open = t->n_carried;
        t->events.len = 0;
        t->before = t->end;
    }
    s->log.len = 0;
    s->samples = 0;
}

/* A frame is taken whole or not at all: its checksum is over all of its bytes, and is seeded with
 * the number of the tail, so that what an earlier tail left in the file is not taken for this
 * one's. The first frame that is not whole ends the tail: nothing is ever written after a torn one.
 */
size_t segment_read_frames(struct segment *s, const uint8_t *p, size_t n, size_t most,
                           uint64_t number, bool *torn)
{
    size_t at = 0;
    while (at < most) {
        struct cur c = cur_of(p + at, n - at);
        const uint32_t len = cur_u32(&c), sum = cur_u32(&c);
        if (c.bad || len > FRAME_MOST || cur_left(&c) < len)
            break;
        if (format_sum32(c.p, len, number) != sum || !segment_feed(s, c.p, len))
            break;
        at += FRAME_HEADER_LEN + len;
    }
    segment_settle(s);
    assert(at <= n);
    *torn = at < n && at < most;
    return at;
}
