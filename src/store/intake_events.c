/* SPDX-License-Identifier: Apache-2.0 */
/* intake_events.c - see intake.h. A million events a second come through here, so the usual one (a
 * text that was told before, found by its address) costs a comparison and a few bytes. */
#include "store/intake_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/event_bits.h"
#include "store/intake.h"

enum {
    RECORD_FULL = 60000, /* bytes at which a record ends; its length has 16 bits */
    EVENT_MOST = 64,     /* bytes that an event can take */
    TEXTS_FIRST = 256,
    TRACKS_FIRST = 16,
};
_Static_assert(RECORD_FULL + 2 * EVENT_MOST < UINT16_MAX, "a record's length has 16 bits");

/* ---- texts ---- */

/* At most EVENT_NAME_MOST - 1 bytes, and no UTF-8 character cut in two. */
static uint32_t text_len(const char *text)
{
    size_t n = strnlen(text, EVENT_NAME_MOST);
    if (n == EVENT_NAME_MOST)
        for (n--; n > EVENT_NAME_MOST - 4 && ((uint8_t)text[n] & 0xc0) == 0x80; n--)
            ;
    return (uint32_t)n;
}

/* The slot of the text, or the free one where it belongs. */
static uint32_t text_slot(const struct intake_events *ev, const char *text, uint32_t len,
                          uint32_t hash)
{
    for (uint32_t at = hash;; at++) {
        const uint32_t slot = at & (ev->cap_texts - 1);
        const struct told_text *t = &ev->texts[slot];
        if (!t->used ||
            (t->hash == hash && t->len == len && memcmp(ev->bytes.p + t->at, text, len) == 0))
            return slot;
    }
}

static void grow_texts(struct intake_events *ev)
{
    struct told_text *old = ev->texts;
    const uint32_t n = ev->cap_texts;
    ev->cap_texts = n ? n * 2 : TEXTS_FIRST;
    ev->texts = xcalloc(ev->cap_texts, sizeof *ev->texts);
    for (uint32_t i = 0; i < n; i++)
        if (old[i].used)
            ev->texts[text_slot(ev, (const char *)ev->bytes.p + old[i].at, old[i].len,
                                old[i].hash)] = old[i];
    free(old);
    memset(ev->hints, 0, sizeof ev->hints);
}

static struct text_hint *hint_of(struct intake_events *ev, const char *text)
{
    const uintptr_t a = (uintptr_t)text;
    return &ev->hints[(a >> 3 ^ a >> 11) % TEXT_HINTS];
}

/* NULL when this tail does not have it yet. */
static inline const struct told_text *text_find(struct intake_events *ev, const char *text)
{
    struct text_hint *h = hint_of(ev, text);
    if (h->address == text) {
        const struct told_text *t = &ev->texts[h->slot];
        if (strcmp((const char *)ev->bytes.p + t->at, text) == 0)
            return t;
    }
    if (!ev->cap_texts)
        return NULL;
    const uint32_t len = text_len(text);
    const uint32_t slot = text_slot(ev, text, len, format_sum32(text, len, 0));
    if (!ev->texts[slot].used)
        return NULL;
    *h = (struct text_hint){text, slot};
    return &ev->texts[slot];
}

static void text_tell(struct intake *in, const char *text, unsigned what)
{
    struct intake_events *ev = &in->ev;
    if (text_find(ev, text))
        return;
    if (ev->n_texts * 2 >= ev->cap_texts)
        grow_texts(ev);
    const uint32_t len = text_len(text);
    struct told_text t = {.used = true, .what = (uint16_t)what, .len = len};
    t.at = (uint32_t)ev->bytes.len;
    t.number = ev->n_texts++;
    t.hash = format_sum32(text, len, 0);
    ev->texts[text_slot(ev, text, len, t.hash)] = t;
    buf_put(&ev->bytes, text, len);
    buf_u8(&ev->bytes, 0);
    const size_t begun = record_begin(&in->records, TAG_NAME);
    buf_varint(&in->records, t.number);
    buf_varint(&in->records, what);
    buf_varint(&in->records, len);
    buf_put(&in->records, text, len);
    record_end(&in->records, begun);
}

/* ---- tracks ---- */

static struct told_track *track_slot(const struct intake_events *ev, const struct track *t)
{
    for (uint32_t at = track_hash(t);; at++) {
        struct told_track *one = &ev->tracks[at & (ev->cap_tracks - 1)];
        if (!one->used || track_same(&one->track, t))
            return one;
    }
}

static void grow_tracks(struct intake_events *ev)
{
    struct told_track *old = ev->tracks;
    const uint32_t n = ev->cap_tracks;
    ev->cap_tracks = n ? n * 2 : TRACKS_FIRST;
    ev->tracks = xcalloc(ev->cap_tracks, sizeof *ev->tracks);
    for (uint32_t i = 0; i < n; i++)
        if (old[i].used)
            *track_slot(ev, &old[i].track) = old[i];
    free(old);
}

static void put_text_field(struct buf *out, const char *text)
{
    const size_t n = strnlen(text, TRACK_NAME_LEN - 1);
    buf_varint(out, n);
    buf_put(out, text, n);
}

static void intake_events_put_track(struct intake *in, const struct told_track *one)
{
    const size_t begun = record_begin(&in->records, TAG_TRACK);
    buf_varint(&in->records, one->number);
    buf_u8(&in->records, (uint8_t)one->track.kind);
    buf_varint(&in->records, one->track.pid);
    buf_varint(&in->records, one->track.id);
    put_text_field(&in->records, one->track.process);
    put_text_field(&in->records, one->track.name);
    record_end(&in->records, begun);
}

/* Told when it is new in this tail, and again when it is called differently. */
static struct told_track *intake_events_track_of(struct intake *in, const struct track *t)
{
    struct intake_events *ev = &in->ev;
    if (ev->n_tracks * 2 >= ev->cap_tracks)
        grow_tracks(ev);
    struct told_track *one = track_slot(ev, t);
    const bool known = one->used;
    if (!known)
        *one = (struct told_track){.used = true, .number = ev->n_tracks++, .track = *t};
    if (track_rename(&one->track, t->process, t->name) || !known)
        intake_events_put_track(in, one);
    return one;
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
    const struct told_text *name, *args; /* args NULL: none */
};

static inline uint8_t *intake_events_put_event(uint8_t *p, const struct event *v,
                                               const struct event_texts *texts,
                                               uint64_t *end_before)
{
    const unsigned what = what_of(v), bare = what_without_end(what);
    const uint64_t dur = v->dur_ns > 0 ? (uint64_t)v->dur_ns : 0;
    uint8_t *const head = p++;
    unsigned has = what_end(what) << HAS_END_SHIFT;
    p = put_varint(p, texts->name->number);
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
        p = put_varint(p, texts->args->number);
    }
    *head = (uint8_t)has;
    *end_before = (uint64_t)v->at.ns + dur;
    return p;
}

static bool intake_events_fits(const struct event *v)
{
    return event_fits(v->at.ns, v->dur_ns > 0 ? (uint64_t)v->dur_ns : 0);
}

static void intake_events_refuse(struct intake *in)
{
    struct loss l = loss_of(LOSS_MALFORMED, LOST_PART("events"), "their times are invalid");
    l.at = clock_mono();
    intake_count_loss(in, &l);
    in->ev.dropped++;
    in->ev.dropped_told++;
}

static inline const char *intake_events_name_of(const struct event *v)
{
    return v->name ? v->name : "";
}

static inline bool find_texts(struct intake_events *ev, const struct event *v,
                              struct event_texts *out)
{
    out->name = text_find(ev, intake_events_name_of(v));
    out->args = v->args ? text_find(ev, v->args) : NULL;
    return out->name && (out->args || !v->args);
}

static void tell_texts(struct intake *in, const struct event *v)
{
    text_tell(in, intake_events_name_of(v), what_without_end(what_of(v)));
    if (v->args)
        text_tell(in, v->args, 0);
}

static size_t begin_events(struct intake *in, const struct told_track *t)
{
    const size_t begun = record_begin(&in->records, TAG_EVENTS);
    buf_varint(&in->records, t->number);
    return begun;
}

/* One record of events; how many of them it took. Texts stand before the record that uses them, so
 * where a new one comes up in its middle the record ends. */
static size_t put_record(struct intake *in, const struct track *t, const struct event *v, size_t n)
{
    struct told_track *track = intake_events_track_of(in, t);
    struct event_texts texts;
    uint64_t end = track->end;
    size_t begun = 0, i = 0;
    for (; i < n && (!begun || in->records.len - begun < RECORD_FULL); i++) {
        if (!intake_events_fits(&v[i])) {
            intake_events_refuse(in);
            continue;
        }
        if (!find_texts(&in->ev, &v[i], &texts)) {
            if (begun)
                break;
            tell_texts(in, &v[i]);
            find_texts(&in->ev, &v[i], &texts);
        }
        if (!begun)
            begun = begin_events(in, track);
        buf_reserve(&in->records, EVENT_MOST);
        uint8_t *const to = in->records.p + in->records.len;
        in->records.len += (size_t)(intake_events_put_event(to, &v[i], &texts, &end) - to);
        in->ev.accepted++;
    }
    if (begun)
        record_end(&in->records, begun);
    track->end = end;
    return i;
}

/* All of them, onto the pile. */
static void put_pile(struct intake *in, const struct track *t, const struct event *v, size_t n)
{
    const uint32_t track = intake_events_track_of(in, t)->number;
    struct event_texts texts;
    for (size_t i = 0; i < n; i++) {
        if (!intake_events_fits(&v[i])) {
            intake_events_refuse(in);
            continue;
        }
        if (!find_texts(&in->ev, &v[i], &texts)) {
            tell_texts(in, &v[i]);
            find_texts(&in->ev, &v[i], &texts);
        }
        const struct bare_event bare = {
            .at = v[i].at.ns,
            .dur = MAX_OF(v[i].dur_ns, 0),
            .value = v[i].value,
            .link = v[i].link,
            .parent = v[i].parent,
            .name = texts.name->number,
            .args = texts.args ? texts.args->number + 1 : 0,
            .what = what_of(&v[i]),
        };
        pile_add(&in->ev.pile, track, &bare);
        in->ev.accepted++;
    }
}

/* No event: the track has another name. */
static void intake_events_name_track(struct intake *in, const struct track *t)
{
    pthread_mutex_lock(&in->lock);
    if (intake_pending(in) <= in->pending_most)
        intake_events_track_of(in, t);
    pthread_mutex_unlock(&in->lock);
}

/* The lock is let go between records: others need not wait for a long list. */
void intake_events(struct intake *in, const struct track *t, const struct event *v, size_t n)
{
    if (n == 0)
        intake_events_name_track(in, t);
    while (n) {
        size_t done = n;
        pthread_mutex_lock(&in->lock);
        if (intake_pending(in) > in->pending_most)
            in->ev.dropped += n;
        else if (in->ev.piles)
            put_pile(in, t, v, n);
        else
            done = put_record(in, t, v, n);
        pthread_mutex_unlock(&in->lock);
        v += done;
        n -= done;
    }
}

void intake_events_forget(struct intake_events *ev)
{
    free(ev->texts);
    free(ev->tracks);
    buf_free(&ev->bytes);
    *ev = (struct intake_events){
        .piles = ev->piles,
        .pile = ev->pile,
        .accepted = ev->accepted,
        .dropped = ev->dropped,
        .dropped_told = ev->dropped_told,
    };
}
