/* SPDX-License-Identifier: Apache-2.0 */
/* import_out.h - from an importer to the sink: texts that are stored once, and events gathered and
 * handed over by track.
 *
 * out_open, then out_track, out_name and out_event in any order, out_close. Everything is bounded:
 * tracks, texts, events that wait, spans that are open. */
#ifndef IMPORT_IMPORT_OUT_H
#define IMPORT_IMPORT_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "import/importer.h"

/* Names and arguments, each stored once at one address, which makes them cheap for the store.
 * Bounded: when texts_full is true, the caller hands over what refers to them and clears. */
struct interned_text {
    const char *p; /* NUL after it */
    uint32_t len, hash;
    int64_t number; /* the user's, with `tag`; 0 and 0 for a new one */
    uint32_t tag;
};

struct texts {
    struct interned_text **slots;
    uint32_t cap, n;
    size_t bytes;
    struct arena arena;
    char *room; /* of the current chunk */
    size_t room_left;
};

/* Never NULL. Good until texts_clear. */
struct interned_text *texts_intern(struct texts *t, const char *p, size_t len);
/* A text of the input, decoded; what is cut and what is broken is counted. */
struct interned_text *import_intern_odd(struct texts *t, const struct json_text *text,
                                        struct import_result *r, struct json_faults *f);
static inline struct interned_text *import_intern(struct texts *t, const struct json_text *text,
                                                  struct import_result *r, struct json_faults *f)
{
    if (text->escaped || text->high || text->len >= EVENT_NAME_MOST)
        return import_intern_odd(t, text, r, f);
    return texts_intern(t, text->p ? text->p : "", text->len);
}

bool texts_full(const struct texts *t);
void texts_clear(struct texts *t);

enum {
    OUT_EVENTS = 1024,
    OUT_TRACKS_MOST = 1 << 16,
    OUT_OPEN_MOST = 1 << 17,
    OUT_HELD_ENOUGH = 1 << 17, /* 14 MB */
};

/* No track: there are too many. */
#define OUT_NO_TRACK UINT32_MAX

struct out_track {
    struct track track;
    uint32_t head, tail; /* of the list of its waiting events */
    uint32_t open;       /* spans: index of the innermost, 1-based; 0: none */
    mono_ns last;        /* the latest time seen on it */
    bool put, renamed;
};

struct out_open {
    struct event event;
    uint32_t below; /* the next outer one, or the next free one */
    /* Those that began when it did and have ended, the first and the last: they are put after it,
     * because of two that begin and end together the one put first is the outer one. */
    uint32_t inner, inner_last;
};

/* An event whose base time is not known yet. */
struct out_held {
    struct event event;
    uint32_t track;
};

struct import_out {
    struct sink *sink;
    struct import_result *result;
    struct texts texts;

    struct out_track *tracks;
    uint32_t n_tracks, cap_tracks;
    struct hash_index index; /* of the tracks */

    struct out_open *opens;
    uint32_t n_opens, cap_opens, free_open;

    int64_t base_ns; /* added to all times when events are handed over */
    bool holds;      /* it is not known yet */
    struct out_held *held;
    uint32_t n_held, cap_held;

    uint32_t n_waiting, n_touched;
    struct event waiting[OUT_EVENTS], sorted[OUT_EVENTS];
    uint32_t next[OUT_EVENTS], touched[OUT_EVENTS];
};

void out_open(struct import_out *o, struct sink *s, struct import_result *r);
/* The number of the track, made when it is new. */
uint32_t out_track(struct import_out *o, enum track_kind kind, uint32_t pid, uint64_t id);
/* "" leaves a name as it is. May come after events of the track. */
void out_name(struct import_out *o, uint32_t track, const char *process, const char *name);
/* Its texts are of o->texts, whose texts are good until the next out_event or out_end, or stay as
 * they are as long as `o` does. The track may be OUT_NO_TRACK: then it is counted. */
void out_event(struct import_out *o, uint32_t track, const struct event *v);
/* A span that begins; out_end ends the innermost one of the track. */
void out_begin(struct import_out *o, uint32_t track, const struct event *v);
void out_end(struct import_out *o, uint32_t track, mono_ns at);
/* Where only the end of the input has the origin of its times: events stay in memory from out_hold
 * to out_base. When out_held_enough is true, it is time to find the base in another way.
 */
void out_base(struct import_out *o, int64_t base_ns);
bool out_held_enough(const struct import_out *o);
/* Ends what is open, hands over what waits, frees. */
void out_close(struct import_out *o);

/* ---- what an importer of JSON works with ---- */

struct import_json {
    const struct import_ask *ask;
    struct import_result *result;
    struct import_out out;
    struct json_scan scan;
    struct json_keys keys;
};

void import_json_open(struct import_json *j, const struct import_ask *ask,
                      struct import_result *out, const char *const *keys, size_t n_keys);
/* The members of the object that the input is (json_each). */
enum json_kind import_json_object(struct import_json *j,
                                  enum json_kind (*take)(void *ctx, const struct json_item *it),
                                  void *ctx);
/* Puts what waits, adds what the scanner counted to the result, and frees. `kind` is what reading
 * ended with; the error of JS_FAILED is returned. */
MUST_CHECK int import_json_close(struct import_json *j, enum json_kind kind, struct err *e);

#endif
