/* SPDX-License-Identifier: Apache-2.0 */
/* intake.c - see intake.h. docs/format.md, "Tail", describes the records.
 *
 *     tail  = file header, frame, frame, ...      (writer.c)
 *     frame = length, checksum, record, record, ...
 *
 *     TAG_GROUP number name period             declares a group
 *     TAG_SLOT  group slot metric unit entity  declares a column of it; TAG_DROP ends it
 *     TAG_ROW   group time cell cell ...       one cell for each slot in use
 *     TAG_TRACK number kind pid id names       declares a track, or renames it
 *     TAG_NAME  number what text               declares a text
 *     TAG_EVENTS track event event ...         refers to texts by number
 *     TAG_LOSS, TAG_MARK, TAG_TIE              as they are
 *
 * Why a reader understands any prefix of a tail:
 *
 * - A record only refers to what an earlier record of the same tail declares. All records are
 *   appended under one lock, so their order in memory is their order in the file.
 * - When intake_take hands out the last records of a tail, it forgets in the same critical section
 *   what the tail had declared. A row or event that arrives after that declares everything again.
 *   wgroup.tail is the number of the tail that has the declaration, so a group needs no clearing.
 * - Cells and times are differences to the row before. They start at 0 (or one period before the
 *   first row) with each declaration, in the writer and in the reader (segment.c).
 * - Whole records are dropped or accepted, never parts of one: the limit is checked before the
 * first byte of a record. What is dropped is counted, and becomes a loss record.
 *
 * This file must never wait for anything but its own lock: it runs in the thread that samples. */
#include "store/intake.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/format.h"

enum {
    RECORD_FULL = 60000,  /* bytes at which a record of events ends; its length has 16 bits */
    EVENT_MOST = 64,      /* bytes that an event can take */
    LOSSES_MOST = 256,    /* different ones */
    KEEP_BYTES = 2 << 20, /* of memory for records; what a burst took beyond is given back */
};
static_assert(RECORD_FULL + 2 * EVENT_MOST < UINT16_MAX, "a record's length has 16 bits");

/* What the tail has of a group. */
struct wgroup {
    uint64_t tail;       /* number of the tail in which it is declared; 0: in none */
    uint32_t number;     /* in that tail */
    uint32_t generation; /* of the group, as declared */
    uint32_t rows;
    int64_t period_ns, t_prev_us;
    uint32_t n, cap;
    uint32_t *born; /* per slot: as declared; 0: not in use */
    int64_t *last;  /* per slot: the cell before */
};

struct pending_loss {
    struct loss loss;
    uint64_t count; /* not written yet */
};

/* ---- losses ---- */

/* Losses are counted here and written with the next flush, so a reading that fails a thousand times
 * a second costs one record a second. */
static struct pending_loss *intake_find_loss(struct intake *in, const struct loss *l)
{
    for (size_t i = 0; i < in->n_losses; i++)
        if (loss_same(&in->losses[i].loss, l))
            return &in->losses[i];
    if (in->n_losses == LOSSES_MOST)
        return &in->losses[LOSSES_MOST - 1];
    struct pending_loss *p = VEC_ADD(in->losses, in->n_losses, in->cap_losses);
    *p = (struct pending_loss){.loss = *l};
    if (in->n_losses == LOSSES_MOST)
        p->loss = loss_of(LOSS_LIMIT, LOST_PART("losses"), "too many different kinds of loss");
    return p;
}

static void intake_count_loss(struct intake *in, const struct loss *l)
{
    struct pending_loss *p = intake_find_loss(in, l);
    p->loss.at = l->at;
    p->count += l->count;
}

/* ---- texts ----
 *
 * A million events a second come through here: the usual one, whose text is in the tail, costs a
 * hash, a comparison and a few bytes. */

/* At most EVENT_NAME_MOST - 1 bytes, and no UTF-8 character cut in two. */
static uint32_t text_len(const char *text)
{
    size_t n = strnlen(text, EVENT_NAME_MOST);
    if (n == EVENT_NAME_MOST)
        for (n--; n > EVENT_NAME_MOST - 4 && ((uint8_t)text[n] & 0xc0) == 0x80; n--)
            ;
    return (uint32_t)n;
}

static bool text_is(const struct intake_events *ev, uint32_t i, const char *text, uint32_t len)
{
    const struct intake_text *t = &ev->texts[i];
    return t->len == len && memcmp(ev->bytes.p + t->at, text, len) == 0;
}

/* NULL when this tail does not have it yet. Valid until a text is added. */
static inline const struct intake_text *text_find(struct intake_events *ev, const char *text)
{
    const uint32_t len = text_len(text);
    const uint32_t at =
        HASH_FIND(&ev->text_index, format_sum32(text, len, 0), i, text_is(ev, i, text, len));
    assert(at <= ev->n_texts);
    return at ? &ev->texts[at - 1] : NULL;
}

static void text_add(struct intake *in, const char *text, unsigned what)
{
    struct intake_events *ev = &in->ev;
    if (text_find(ev, text))
        return;
    const uint32_t number = ev->n_texts, len = text_len(text);
    *VEC_ADD(ev->texts, ev->n_texts, ev->cap_texts) =
        (struct intake_text){.what = (uint16_t)what, .at = (uint32_t)ev->bytes.len, .len = len};
    hash_add(&ev->text_index, format_sum32(text, len, 0), ev->n_texts);
    buf_put(&ev->bytes, text, len);
    buf_u8(&ev->bytes, 0);
    const size_t begun = record_begin(&in->records, TAG_NAME);
    buf_varint(&in->records, number);
    buf_varint(&in->records, what);
    buf_varint(&in->records, len);
    buf_put(&in->records, text, len);
    record_end(&in->records, begun);
}

static inline uint32_t text_number(const struct intake_events *ev, const struct intake_text *t)
{
    assert(t >= ev->texts && t < ev->texts + ev->n_texts);
    return (uint32_t)(t - ev->texts);
}

/* ---- tracks ---- */

static void put_text_field(struct buf *out, const char *text)
{
    const size_t n = strnlen(text, TRACK_NAME_LEN - 1);
    buf_varint(out, n);
    buf_put(out, text, n);
}

static void intake_put_track(struct intake *in, uint32_t number)
{
    const struct track *t = &in->ev.tracks[number].track;
    const size_t begun = record_begin(&in->records, TAG_TRACK);
    buf_varint(&in->records, number);
    buf_u8(&in->records, (uint8_t)t->kind);
    buf_varint(&in->records, t->pid);
    buf_varint(&in->records, t->id);
    put_text_field(&in->records, t->process);
    put_text_field(&in->records, t->name);
    record_end(&in->records, begun);
}

/* Its number. It is declared when it is new in this tail, and again when its name changes. */
static uint32_t intake_track_of(struct intake *in, const struct track *t)
{
    struct intake_events *ev = &in->ev;
    const uint32_t at =
        HASH_FIND(&ev->track_index, track_hash(t), i, track_same(&ev->tracks[i].track, t));
    const uint32_t number = at ? at - 1 : ev->n_tracks;
    if (!at) {
        *VEC_ADD(ev->tracks, ev->n_tracks, ev->cap_tracks) = (struct intake_track){.track = *t};
        hash_add(&ev->track_index, track_hash(t), ev->n_tracks);
    }
    if (track_rename(&ev->tracks[number].track, t->process, t->name) || !at)
        intake_put_track(in, number);
    return number;
}

/* ---- events ---- */

static inline uint8_t *put_varint(uint8_t *p, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        *p++ = (uint8_t)(v | 0x80);
    *p++ = (uint8_t)v;
    return p;
}

struct event_texts {
    const struct intake_text *name, *args; /* args NULL: none */
};

static inline uint8_t *intake_put_event(uint8_t *p, const struct intake_events *ev,
                                        const struct event *v, const struct event_texts *texts,
                                        uint64_t *end_before)
{
    const unsigned what = what_of(v), bare = what_without_end(what);
    const uint64_t dur = v->dur_ns > 0 ? (uint64_t)v->dur_ns : 0;
    uint8_t *const head = p++;
    unsigned has = what_end(what) << HAS_END_SHIFT;
    p = put_varint(p, text_number(ev, texts->name));
    if (bare != texts->name->what) {
        has |= HAS_WHAT;
        p = put_varint(p, bare);
    }
    p = put_varint(p, zigzag((int64_t)((uint64_t)v->at.ns - *end_before)));
    if (dur) {
        has |= HAS_DUR;
        p = put_varint(p, dur);
    }
    if (v->value) {
        has |= HAS_VALUE;
        p = put_varint(p, zigzag(v->value));
    }
    if (v->link) {
        has |= HAS_LINK;
        p = put_varint(p, v->link);
    }
    if (v->parent) {
        has |= HAS_PARENT;
        p = put_varint(p, v->parent);
    }
    if (texts->args) {
        has |= HAS_ARGS;
        p = put_varint(p, text_number(ev, texts->args));
    }
    *head = (uint8_t)has;
    *end_before = (uint64_t)v->at.ns + dur;
    return p;
}

static inline const char *event_name_of(const struct event *v)
{
    return v->name ? v->name : "";
}

static inline bool event_texts_find(struct intake_events *ev, const struct event *v,
                                    struct event_texts *out)
{
    out->name = text_find(ev, event_name_of(v));
    out->args = v->args ? text_find(ev, v->args) : NULL;
    return out->name && (out->args || !v->args);
}

static void event_texts_add(struct intake *in, const struct event *v)
{
    text_add(in, event_name_of(v), what_without_end(what_of(v)));
    if (v->args)
        text_add(in, v->args, 0);
}

/* False: its times are not valid, so it is dropped and counted as a loss. */
static bool intake_event_fits(struct intake *in, const struct event *v)
{
    if (event_fits(v->at.ns, v->dur_ns > 0 ? (uint64_t)v->dur_ns : 0))
        return true;
    struct loss l = loss_of(LOSS_MALFORMED, LOST_PART("events"), "their times are invalid");
    l.at = clock_mono();
    intake_count_loss(in, &l);
    in->ev.dropped++;
    in->ev.dropped_counted++;
    return false;
}

/* One record of events; how many of them it took. Texts come before the record that uses them, so
 * a new one in its middle ends the record. */
static size_t intake_put_events(struct intake *in, const struct track *t, const struct event *v,
                                size_t n)
{
    const uint32_t track = intake_track_of(in, t);
    struct event_texts texts;
    uint64_t end = in->ev.tracks[track].end;
    size_t begun = 0, i = 0;
    for (; i < n && (!begun || in->records.len - begun < RECORD_FULL); i++) {
        if (!intake_event_fits(in, &v[i]))
            continue;
        if (!event_texts_find(&in->ev, &v[i], &texts)) {
            if (begun)
                break;
            event_texts_add(in, &v[i]);
            event_texts_find(&in->ev, &v[i], &texts);
        }
        if (!begun) {
            begun = record_begin(&in->records, TAG_EVENTS);
            buf_varint(&in->records, track);
        }
        buf_reserve(&in->records, EVENT_MOST);
        uint8_t *const to = in->records.p + in->records.len;
        const size_t len = (size_t)(intake_put_event(to, &in->ev, &v[i], &texts, &end) - to);
        assert(len <= EVENT_MOST);
        in->records.len += len;
        in->ev.accepted++;
    }
    if (begun)
        record_end(&in->records, begun);
    in->ev.tracks[track].end = end;
    return i;
}

/* The lock is released between records: others need not wait for a long list. No event: the track
 * may have another name. */
void intake_events(struct intake *in, const struct track *t, const struct event *v, size_t n)
{
    for (;;) {
        size_t done = n;
        pthread_mutex_lock(&in->lock);
        if (in->records.len > in->pending_most)
            in->ev.dropped += n;
        else if (n == 0)
            intake_track_of(in, t);
        else
            done = intake_put_events(in, t, v, n);
        pthread_mutex_unlock(&in->lock);
        assert(done <= n);
        if (done == n)
            return;
        v += done;
        n -= done;
    }
}

/* A new tail begins, without texts and tracks. */
static void intake_forget_declared(struct intake_events *ev)
{
    free(ev->texts);
    free(ev->tracks);
    hash_free(&ev->text_index);
    hash_free(&ev->track_index);
    buf_free(&ev->bytes);
    *ev = (struct intake_events){
        .accepted = ev->accepted,
        .dropped = ev->dropped,
        .dropped_counted = ev->dropped_counted,
    };
}

/* ---- rows ---- */

static struct wgroup *wgroup_of(struct intake *in, struct group *g)
{
    if (g->sink_data)
        return g->sink_data;
    struct wgroup *wg = xcalloc(1, sizeof *wg);
    *VEC_ADD(in->groups, in->n_groups, in->cap_groups) = wg;
    g->sink_data = wg;
    return wg;
}

static void intake_make_room(struct wgroup *wg, uint32_t n)
{
    if (n > wg->cap) {
        wg->cap = MAX_OF(n, wg->cap * 2);
        wg->born = xrealloc(wg->born, wg->cap, sizeof *wg->born);
        wg->last = xrealloc(wg->last, wg->cap, sizeof *wg->last);
    }
    for (; wg->n < n; wg->n++)
        wg->born[wg->n] = 0;
}

static void put_slot(struct buf *out, const struct wgroup *wg, uint32_t i, const struct slot *s)
{
    const struct metric *m = &metrics[s->metric];
    buf_u8(out, TAG_SLOT);
    buf_varint(out, wg->number);
    buf_varint(out, i);
    buf_str(out, m->name);
    buf_str(out, unit_name(m->unit));
    buf_str(out, s->entity);
    buf_f64(out, s->step);
}

static void declare_slots(struct buf *out, struct wgroup *wg, const struct group *g)
{
    intake_make_room(wg, g->n);
    for (uint32_t i = 0; i < g->n; i++) {
        const struct slot *s = &g->slots[i];
        const uint32_t born = s->used ? s->born : 0;
        if (wg->born[i] == born)
            continue;
        if (wg->born[i] && !born) {
            buf_u8(out, TAG_DROP);
            buf_varint(out, wg->number);
            buf_varint(out, i);
        }
        if (born)
            put_slot(out, wg, i, s);
        wg->born[i] = born;
        wg->last[i] = 0;
    }
    wg->generation = g->generation;
}

static void declare_group(struct intake *in, struct wgroup *wg, const struct group *g, int64_t t_us)
{
    wg->tail = in->tail;
    wg->number = in->tail_groups++;
    wg->rows = 0;
    wg->period_ns = g->period_ns;
    wg->t_prev_us = t_us - g->period_ns / NS_PER_US;
    wg->n = 0;
    buf_u8(&in->records, TAG_GROUP);
    buf_varint(&in->records, wg->number);
    buf_str(&in->records, g->name);
    buf_varint(&in->records, (uint64_t)g->period_ns);
    buf_varint(&in->records, zigzag(wg->t_prev_us));
}

static inline uint8_t *put_cell(uint8_t *p, int64_t cell, int64_t *last)
{
    if (cell == CELL_MISSING) {
        *p = CELL_GAP;
        return p + 1;
    }
    const uint64_t z = zigzag((int64_t)((uint64_t)cell - (uint64_t)*last));
    *last = cell;
    if (z <= CELL_SMALL_MOST) {
        *p = (uint8_t)z;
        return p + 1;
    }
    const unsigned len = z <= UINT16_MAX ? 2 : z <= UINT32_MAX ? 4 : 8;
    *p = len == 2 ? CELL_U16 : len == 4 ? CELL_U32 : CELL_U64;
    memcpy(p + 1, &z, len);
    return p + 1 + len;
}

static void intake_put_row(struct intake *in, struct wgroup *wg, const struct group *g,
                           int64_t t_us)
{
    const int64_t off = t_us - wg->t_prev_us - wg->period_ns / NS_PER_US;
    buf_u8(&in->records, TAG_ROW);
    buf_varint(&in->records, wg->number);
    buf_varint(&in->records, zigzag(off));
    buf_reserve(&in->records, 9 * (size_t)g->n);
    uint8_t *p = in->records.p + in->records.len;
    /* In locals, as a byte stored through p could otherwise have changed any of these. */
    const uint32_t *born = wg->born, n = g->n;
    const int64_t *cells = g->cells;
    int64_t *last = wg->last;
    uint64_t samples = 0;
    for (uint32_t i = 0; i < n; i++)
        if (born[i]) {
            samples += cells[i] != CELL_MISSING;
            p = put_cell(p, cells[i], &last[i]);
        }
    in->samples += samples;
    in->records.len = (size_t)(p - in->records.p);
    wg->t_prev_us = t_us;
    wg->rows++;
    in->rows++;
}

void intake_row(struct intake *in, struct group *g, mono_ns t)
{
    const int64_t t_us = t.ns / NS_PER_US;
    pthread_mutex_lock(&in->lock);
    if (in->records.len > in->pending_most) {
        in->rows_dropped++;
    } else {
        struct wgroup *wg = wgroup_of(in, g);
        if (wg->tail != in->tail || wg->period_ns != g->period_ns || wg->rows == ROWS_MOST)
            declare_group(in, wg, g, t_us);
        if (wg->generation != g->generation || wg->rows == 0)
            declare_slots(&in->records, wg, g);
        intake_put_row(in, wg, g, t_us);
    }
    pthread_mutex_unlock(&in->lock);
}

/* ---- losses, marks and ties as records ---- */

void intake_loss(struct intake *in, const struct loss *l)
{
    pthread_mutex_lock(&in->lock);
    intake_count_loss(in, l);
    pthread_mutex_unlock(&in->lock);
}

void intake_mark(struct intake *in, const struct mark *m)
{
    pthread_mutex_lock(&in->lock);
    if (in->records.len > in->pending_most / 4 * 5) { /* they are rare and matter more than rows */
        struct loss l = loss_of(LOSS_WRITE, LOST_PART("marks"),
                                "no memory left to buffer them until the run folder is writable");
        l.at = m->at;
        intake_count_loss(in, &l);
    } else {
        const size_t begun = record_begin(&in->records, TAG_MARK);
        buf_str(&in->records, marks[m->id].name);
        buf_varint(&in->records, zigzag(m->at.ns / NS_PER_US));
        buf_varint(&in->records, zigzag(m->number));
        buf_str(&in->records, m->text);
        record_end(&in->records, begun);
    }
    pthread_mutex_unlock(&in->lock);
}

void intake_tie(struct intake *in, struct clock_tie tie)
{
    pthread_mutex_lock(&in->lock);
    const size_t begun = record_begin(&in->records, TAG_TIE);
    buf_varint(&in->records, zigzag(tie.mono.ns));
    buf_varint(&in->records, zigzag(tie.wall.ns));
    record_end(&in->records, begun);
    pthread_mutex_unlock(&in->lock);
}

static void intake_put_losses(struct intake *in)
{
    char what[ENTITY_LEN];
    for (size_t i = 0; i < in->n_losses; i++) {
        struct pending_loss *p = &in->losses[i];
        if (!p->count)
            continue;
        const size_t begun = record_begin(&in->records, TAG_LOSS);
        buf_str(&in->records, losses[p->loss.id].name);
        buf_varint(&in->records, p->count);
        buf_varint(&in->records, zigzag(p->loss.at.ns / NS_PER_US));
        buf_str(&in->records, loss_what(&p->loss, what));
        buf_str(&in->records, p->loss.why);
        record_end(&in->records, begun);
        p->count = 0;
    }
}

/* What had to be dropped becomes a loss once there is room again. */
static void put_dropped(struct intake *in, const char *what, uint64_t dropped, uint64_t *counted,
                        int why_errno)
{
    if (dropped == *counted)
        return;
    const bool full = why_errno == ENOSPC || why_errno == EDQUOT;
    const bool held = why_errno == INTAKE_HELD;
    struct loss l = loss_of(held   ? LOSS_SPOOL
                            : full ? LOSS_DISK_FULL
                                   : LOSS_WRITE,
                            LOST_PART(what), "%s",
                            held        ? "what was not sent yet filled the spool"
                            : why_errno ? strerror(why_errno)
                                        : "they arrived faster than they could be written");
    l.at = clock_mono();
    l.count = dropped - *counted;
    *counted = dropped;
    intake_count_loss(in, &l);
}

/* Into an empty buffer by giving it away, else by copying. */
static void move_records(struct intake *in, struct buf *out)
{
    if (out->len == 0) {
        const struct buf spare = *out;
        *out = in->records;
        in->records = spare;
        return;
    }
    buf_put(out, in->records.p, in->records.len);
    in->records.len = 0;
    if (in->records.cap > KEEP_BYTES)
        buf_free(&in->records);
}

uint64_t intake_take(struct intake *in, struct buf *out, size_t tail_most, int why_errno,
                     bool *last)
{
    pthread_mutex_lock(&in->lock);
    put_dropped(in, "rows", in->rows_dropped, &in->dropped_counted, why_errno);
    put_dropped(in, "events", in->ev.dropped, &in->ev.dropped_counted, why_errno);
    intake_put_losses(in);
    move_records(in, out);
    const uint64_t tail = in->tail;
    *last = out->len >= tail_most;
    if (*last) {
        in->tail++;
        in->tail_groups = 0;
        intake_forget_declared(&in->ev);
    }
    pthread_mutex_unlock(&in->lock);
    return tail;
}

void intake_open(struct intake *in, size_t pending_most)
{
    *in = (struct intake){.tail = 1, .pending_most = pending_most};
    pthread_mutex_init(&in->lock, NULL);
}

void intake_close(struct intake *in)
{
    for (uint32_t i = 0; i < in->n_groups; i++) {
        free(in->groups[i]->born);
        free(in->groups[i]->last);
        free(in->groups[i]);
    }
    free(in->groups);
    free(in->losses);
    intake_forget_declared(&in->ev);
    buf_free(&in->records);
    pthread_mutex_destroy(&in->lock);
}
