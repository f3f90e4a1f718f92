/* SPDX-License-Identifier: Apache-2.0 */
/* segment_events.c - see segment_events.h and segment.h. */
#include "store/segment_events.h"

#include <stdlib.h>

#include "base/mem.h"

/* More than a writer's tail can hold before it is sealed (eight and eleven bytes each, ten MiB), so
 * that made-up bytes cannot ask for gigabytes. */
enum { TEXTS_MOST = 1 << 22, TRACKS_MOST = 1 << 20 };

static const char *segment_events_get_text(struct segment *s, struct cur *c, size_t size,
                                           uint32_t *len)
{
    char text[EVENT_NAME_MOST];
    cur_str(c, text, size);
    if (c->bad)
        return NULL;
    *len = (uint32_t)strlen(text);
    return arena_strndup(&s->names, text, *len);
}

/* The track with that number: a new one, or one told before that is the same. */
static struct seg_track *track_at(struct segment *s, uint64_t number, const struct seg_track *told)
{
    if (number < s->n_tracks) {
        struct seg_track *t = &s->tracks[number];
        return t->kind == told->kind && t->pid == told->pid && t->id == told->id ? t : NULL;
    }
    if (number != s->n_tracks || number >= TRACKS_MOST)
        return NULL;
    if (s->n_tracks == s->cap_tracks) {
        s->cap_tracks = s->cap_tracks ? s->cap_tracks * 2 : 16;
        s->tracks = xrealloc(s->tracks, s->cap_tracks, sizeof *s->tracks);
    }
    s->tracks[s->n_tracks] = *told;
    return &s->tracks[s->n_tracks++];
}

bool segment_feed_track(struct segment *s, struct cur *in)
{
    struct cur c = record_content(in);
    struct seg_track told = {.last = INT64_MIN};
    uint32_t len;
    const uint64_t number = cur_varint(&c);
    told.kind = cur_u8(&c);
    told.pid = (uint32_t)cur_varint_most(&c, UINT32_MAX);
    told.id = cur_varint(&c);
    told.process = segment_events_get_text(s, &c, TRACK_NAME_LEN, &len);
    told.name = segment_events_get_text(s, &c, TRACK_NAME_LEN, &len);
    struct seg_track *t = in->bad || c.bad ? NULL : track_at(s, number, &told);
    if (!t)
        return false;
    t->process = *told.process ? told.process : t->process;
    t->name = *told.name ? told.name : t->name;
    return true;
}

bool segment_feed_text(struct segment *s, struct cur *in)
{
    struct cur c = record_content(in);
    const uint64_t number = cur_varint(&c);
    struct seg_text t = {.what = (uint16_t)cur_varint_most(&c, WHAT_MOST)};
    if (c.bad || number != s->n_texts || number >= TEXTS_MOST || what_end(t.what))
        return false;
    t.text = segment_events_get_text(s, &c, EVENT_NAME_MOST, &t.len);
    if (in->bad || c.bad)
        return false;
    if (s->n_texts == s->cap_texts) {
        s->cap_texts = s->cap_texts ? s->cap_texts * 2 : 256;
        s->texts = xrealloc(s->texts, s->cap_texts, sizeof *s->texts);
    }
    s->texts[s->n_texts++] = t;
    return true;
}

/* cur_varint in line: there are four in an event. */
static inline uint64_t get_varint(struct cur *c)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && c->p < c->end; shift += 7) {
        const uint8_t byte = *c->p++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return v;
    }
    c->bad = true;
    return 0;
}

static inline uint64_t get_if(struct cur *c, unsigned has, unsigned bit)
{
    return has & bit ? get_varint(c) : 0;
}

static inline bool next_event(const struct segment *s, struct event_cur *at, struct bare_event *out)
{
    struct cur c = at->in;
    const unsigned has = cur_u8(&c), end = has >> HAS_END_SHIFT;
    const uint64_t name = get_varint(&c);
    if (c.bad || name >= s->n_texts)
        return false;
    const uint64_t what = has & HAS_WHAT ? get_varint(&c) : s->texts[name].what;
    out->at = (int64_t)(at->end + (uint64_t)unzigzag(get_varint(&c)));
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
    *at = (struct event_cur){c, (uint64_t)out->at + dur};
    return true;
}

bool segment_event(const struct segment *s, struct event_cur *c, struct bare_event *out)
{
    return cur_left(&c->in) && next_event(s, c, out);
}

/* Looks at all events of a record. */
static bool segment_events_count(const struct segment *s, struct seg_track *t, struct cur c)
{
    struct event_cur at = {c, t->end};
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

bool segment_feed_events(struct segment *s, struct cur *in)
{
    struct cur c = record_content(in);
    const uint64_t number = cur_varint(&c);
    if (in->bad || c.bad || number >= s->n_tracks)
        return false;
    struct seg_track *t = &s->tracks[number];
    if (!segment_events_count(s, t, c))
        return false;
    buf_put(&t->events, c.p, cur_left(&c));
    return true;
}

bool segment_feed_pile(struct segment *s, const struct event_pile *pile)
{
    for (uint32_t i = 0; i < pile->n; i++) {
        if (pile_track(pile, i) >= s->n_tracks)
            return false;
        s->tracks[pile_track(pile, i)].rows++;
    }
    uint32_t first = 0;
    for (uint32_t i = 0; i < s->n_tracks; i++) {
        s->tracks[i].first = first;
        first += s->tracks[i].rows;
        s->tracks[i].rows = 0;
    }
    s->pile = pile;
    s->piled = xmalloc((pile->n + 1ul) * sizeof *s->piled);
    for (uint32_t i = 0; i < pile->n; i++) {
        struct seg_track *t = &s->tracks[pile_track(pile, i)];
        s->piled[t->first + t->rows++] = i;
    }
    return true;
}
