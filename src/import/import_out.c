/* SPDX-License-Identifier: Apache-2.0 */
/* import_out.c - see import_out.h. */
#include "import/import_out.h"

#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mem.h"
#include "json/json.h"
#include "record/event.h"

/* ------------------------------------------------------------------------------------------------
 * Texts */

enum { SLOTS_FIRST = 4096, TEXTS_MOST = 200000, BYTES_MOST = 32 << 20, CHUNK = 64 << 10 };

static struct interned_text **texts_slot_of(const struct texts *t, const char *p, size_t len,
                                            uint32_t hash)
{
    for (uint32_t i = hash;; i++) {
        struct interned_text **slot = &t->slots[i & (t->cap - 1)];
        const struct interned_text *x = *slot;
        if (!x || (x->hash == hash && x->len == len && memcmp(x->p, p, len) == 0))
            return slot;
    }
}

static void texts_grow(struct texts *t)
{
    struct interned_text **old = t->slots;
    const uint32_t n = t->cap;
    t->cap = n ? n * 2 : SLOTS_FIRST;
    t->slots = xcalloc(t->cap, sizeof *t->slots);
    for (uint32_t i = 0; i < n; i++)
        if (old[i])
            *texts_slot_of(t, old[i]->p, old[i]->len, old[i]->hash) = old[i];
    free(old);
}

static void *texts_take(struct texts *t, size_t n)
{
    n = (n + 7) & ~(size_t)7;
    if (n > t->room_left) {
        t->room_left = MAX_OF(n, (size_t)CHUNK);
        t->room = arena_alloc(&t->arena, t->room_left, 1);
    }
    void *p = t->room;
    t->room += n;
    t->room_left -= n;
    t->bytes += n;
    return p;
}

struct interned_text *texts_intern(struct texts *t, const char *p, size_t len)
{
    const uint32_t hash = (uint32_t)XXH3_64bits(p, len);
    if (t->n * 2 >= t->cap)
        texts_grow(t);
    struct interned_text **slot = texts_slot_of(t, p, len, hash);
    if (*slot)
        return *slot;
    struct interned_text *x = texts_take(t, sizeof *x);
    char *copy = texts_take(t, len + 1);
    memcpy(copy, p, len);
    copy[len] = '\0';
    *x = (struct interned_text){.p = copy, .len = (uint32_t)len, .hash = hash};
    t->n++;
    return *slot = x;
}

struct interned_text *import_intern_odd(struct texts *t, const struct json_text *text,
                                        struct import_result *r, struct json_faults *f)
{
    char decoded[EVENT_NAME_MOST];
    r->count[IMPORTED_LONG_TEXTS] += text->len >= sizeof decoded;
    const size_t n = json_decode(text, decoded, sizeof decoded, f);
    return texts_intern(t, decoded, strnlen(decoded, n));
}

bool texts_full(const struct texts *t)
{
    return t->n >= TEXTS_MOST || t->bytes >= BYTES_MOST;
}

void texts_clear(struct texts *t)
{
    arena_free(&t->arena);
    free(t->slots);
    *t = (struct texts){0};
}

/* ------------------------------------------------------------------------------------------------
 * Events */

enum { NONE = UINT32_MAX };

/* A century around 1970 and now; what the store takes, and far from where sums overflow. */
#define TIME_MOST (INT64_MAX / 4)

void out_open(struct import_out *o, struct sink *s, struct import_result *r)
{
    memset(o, 0, offsetof(struct import_out, waiting));
    o->sink = s;
    o->result = r;
}

/* ---- handing over ---- */

static void out_put(struct import_out *o, struct out_track *t)
{
    size_t n = 0;
    for (uint32_t i = t->head; i != NONE; i = o->next[i])
        o->sorted[n++] = o->waiting[i];
    t->head = t->tail = NONE;
    t->put = true;
    t->renamed = false;
    o->sink->ops->events(o->sink, &t->track, o->sorted, n);
}

static void hand_over(struct import_out *o)
{
    for (uint32_t i = 0; i < o->n_touched; i++)
        out_put(o, &o->tracks[o->touched[i]]);
    o->n_touched = o->n_waiting = 0;
    if (texts_full(&o->texts))
        texts_clear(&o->texts);
}

static bool time_is_bad(int64_t at, int64_t dur)
{
    return at > TIME_MOST || at < -TIME_MOST || dur > TIME_MOST;
}

/* `track` is one. */
static void take_event(struct import_out *o, uint32_t track, const struct event *v)
{
    int64_t at;
    if (time_is_bad(v->at.ns, v->dur_ns) || __builtin_add_overflow(v->at.ns, o->base_ns, &at) ||
        time_is_bad(at, v->dur_ns)) {
        o->result->count[IMPORTED_BAD_TIME]++;
        return;
    }
    struct out_track *t = &o->tracks[track];
    const uint32_t i = o->n_waiting++;
    o->waiting[i] = *v;
    o->waiting[i].at.ns = at;
    o->next[i] = NONE;
    if (t->head == NONE) {
        t->head = i;
        o->touched[o->n_touched++] = track;
    } else {
        o->next[t->tail] = i;
    }
    t->tail = i;
    t->last.ns = MAX_OF(t->last.ns, v->at.ns + v->dur_ns);
    import_note_span(o->result, at, at + v->dur_ns);
    o->result->count[IMPORTED_KEPT]++;
    if (o->n_waiting == OUT_EVENTS || texts_full(&o->texts))
        hand_over(o);
}

void out_event(struct import_out *o, uint32_t track, const struct event *v)
{
    if (track == OUT_NO_TRACK) {
        o->result->count[IMPORTED_TRACKS]++;
        return;
    }
    if (__builtin_expect(!o->holds, 1)) {
        take_event(o, track, v);
        return;
    }
    *VEC_ADD(o->held, o->n_held, o->cap_held) = (struct out_held){*v, track};
}

/* ---- the base of times ---- */

bool out_held_enough(const struct import_out *o)
{
    return o->holds && (o->n_held >= OUT_HELD_ENOUGH || texts_full(&o->texts));
}

void out_base(struct import_out *o, int64_t base_ns)
{
    o->base_ns = base_ns;
    o->holds = false;
    for (uint32_t i = 0; i < o->n_held; i++)
        take_event(o, o->held[i].track, &o->held[i].event);
    free(o->held);
    o->held = NULL;
    o->n_held = o->cap_held = 0;
}

/* ---- tracks ---- */

uint32_t out_track(struct import_out *o, enum track_kind kind, uint32_t pid, uint64_t id)
{
    const struct track t = {.kind = kind, .pid = pid, .id = id};
    const uint32_t at =
        HASH_FIND(&o->index, track_hash(&t), i, track_same(&o->tracks[i].track, &t));
    if (at)
        return at - 1;
    if (o->n_tracks == OUT_TRACKS_MOST)
        return OUT_NO_TRACK;
    *VEC_ADD(o->tracks, o->n_tracks, o->cap_tracks) =
        (struct out_track){.track = t, .head = NONE, .tail = NONE, .last = {INT64_MIN}};
    hash_add(&o->index, track_hash(&t), o->n_tracks);
    return o->n_tracks - 1;
}

void out_name(struct import_out *o, uint32_t track, const char *process, const char *name)
{
    if (track == OUT_NO_TRACK)
        return;
    struct out_track *t = &o->tracks[track];
    t->renamed = track_rename(&t->track, process, name) || t->renamed;
}

/* ---- begin and end ---- */

static uint32_t take_open(struct import_out *o)
{
    const uint32_t i = o->free_open ? o->free_open : o->n_opens + 1;
    if (o->free_open)
        o->free_open = o->opens[i - 1].below;
    else
        VEC_ROOM(o->opens, o->cap_opens, i);
    o->n_opens++;
    return i;
}

void out_begin(struct import_out *o, uint32_t track, const struct event *v)
{
    if (track == OUT_NO_TRACK || o->n_opens == OUT_OPEN_MOST) {
        o->result->count[track == OUT_NO_TRACK ? IMPORTED_TRACKS : IMPORTED_OPEN]++;
        return;
    }
    const uint32_t i = take_open(o);
    struct out_track *t = &o->tracks[track];
    o->opens[i - 1] = (struct out_open){*v, t->open, 0, 0};
    o->opens[i - 1].event.name = xstrdup(v->name); /* it may outlive the texts */
    o->opens[i - 1].event.args = v->args ? xstrdup(v->args) : NULL;
    t->open = i;
    t->last.ns = MAX_OF(t->last.ns, v->at.ns);
}

/* Its own copy becomes one of the texts again. */
static const char *out_give_back(struct import_out *o, const char *own)
{
    const char *p = own ? texts_intern(&o->texts, own, strlen(own))->p : NULL;
    free((void *)(uintptr_t)own);
    return p;
}

/* It, what waited for it, and what waited for that; frees their places. */
static void put_ended(struct import_out *o, uint32_t track, uint32_t i)
{
    o->opens[i - 1].below = 0;
    while (i) {
        const struct out_open x = o->opens[i - 1];
        struct event v = x.event;
        if (x.inner)
            o->opens[x.inner_last - 1].below = x.below;
        o->opens[i - 1].below = o->free_open;
        o->free_open = i;
        o->n_opens--;
        v.name = out_give_back(o, v.name);
        v.args = out_give_back(o, v.args);
        out_event(o, track, &v);
        i = x.inner ? x.inner : x.below;
    }
}

/* False: they did not begin together, or too many wait already. */
static bool waits_for(struct import_out *o, uint32_t inner, uint32_t outer)
{
    struct out_open *in = &o->opens[inner - 1], *out = outer ? &o->opens[outer - 1] : NULL;
    if (!out || out->event.at.ns != in->event.at.ns || o->n_opens > OUT_OPEN_MOST / 2)
        return false;
    if (out->inner)
        o->opens[out->inner_last - 1].below = inner;
    else
        out->inner = inner;
    out->inner_last = inner;
    in->below = 0;
    return true;
}

static void close_span(struct import_out *o, uint32_t track, mono_ns at, enum event_end end)
{
    struct out_track *t = &o->tracks[track];
    const uint32_t i = t->open;
    struct event *v = &o->opens[i - 1].event;
    if (__builtin_sub_overflow(at.ns, v->at.ns, &v->dur_ns))
        v->dur_ns = INT64_MAX; /* refused as a bad time */
    if (v->dur_ns < 0) {
        o->result->count[IMPORTED_NEGATIVE]++;
        v->dur_ns = 0;
    }
    v->end = end;
    t->open = o->opens[i - 1].below;
    if (!waits_for(o, i, t->open))
        put_ended(o, track, i);
}

void out_end(struct import_out *o, uint32_t track, mono_ns at)
{
    if (track == OUT_NO_TRACK || !o->tracks[track].open)
        o->result->count[track == OUT_NO_TRACK ? IMPORTED_TRACKS : IMPORTED_UNBEGUN]++;
    else
        close_span(o, track, at, END_KNOWN);
}

/* ---- the end ---- */

void out_close(struct import_out *o)
{
    if (o->holds) /* the base never came */
        out_base(o, 0);
    for (uint32_t i = 0; i < o->n_tracks; i++)
        while (o->tracks[i].open) {
            o->result->count[IMPORTED_UNENDED]++;
            close_span(o, i, o->tracks[i].last, END_CUT);
        }
    hand_over(o);
    /* Names that came after the events: passed on once more, with no event. */
    for (uint32_t i = 0; i < o->n_tracks; i++)
        if (o->tracks[i].put && o->tracks[i].renamed)
            out_put(o, &o->tracks[i]);
    texts_clear(&o->texts);
    free(o->tracks);
    hash_free(&o->index);
    free(o->opens);
    memset(o, 0, offsetof(struct import_out, waiting));
}

/* ------------------------------------------------------------------------------------------------
 * JSON */

void import_json_open(struct import_json *j, const struct import_ask *ask,
                      struct import_result *out, const char *const *keys, size_t n_keys)
{
    *out = (struct import_result){.rank = -1, .world_size = -1};
    j->ask = ask;
    j->result = out;
    out_open(&j->out, ask->sink, out);
    json_keys_init(&j->keys, keys, n_keys);
    json_open(&j->scan, ask->in, &(struct json_options){.keys = &j->keys});
}

enum json_kind import_json_object(struct import_json *j,
                                  enum json_kind (*take)(void *ctx, const struct json_item *it),
                                  void *ctx)
{
    struct json_item it;
    enum json_kind kind = json_next(&j->scan, &it);
    if (kind != JS_OBJECT)
        return kind;
    do
        kind = json_each(&j->scan, take, ctx);
    while (kind == JS_LOST);
    return kind;
}

int import_json_close(struct import_json *j, enum json_kind kind, struct err *e)
{
    const int rc = json_failed(&j->scan, kind, e);
    out_close(&j->out);
    j->result->faults = j->scan.faults;
    j->result->bytes = json_position(&j->scan);
    json_close(&j->scan);
    return rc;
}
