/* SPDX-License-Identifier: Apache-2.0 */
/* event_bits.h - an event in the tail and in a block: its fields as numbers, and how kind, mode,
 * end and category share one of them (docs/format.md, "Events block" and "Tail"). */
#ifndef STORE_EVENT_BITS_H
#define STORE_EVENT_BITS_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "record/event.h"
#include "store/format.h"

/* Names and arguments are numbers of texts. */
struct bare_event {
    int64_t at, dur; /* ns */
    int64_t value;
    uint64_t link, parent;
    uint32_t name;
    uint32_t args; /* 0: none, else 1 + number */
    uint16_t what;
};

enum { EVENT_USUAL = 10 }; /* bytes of one in the tail */

/* Fields of an event in the tail, after its first byte. */
enum {
    HAS_WHAT = 1,
    HAS_DUR = 2,
    HAS_VALUE = 4,
    HAS_LINK = 8,
    HAS_PARENT = 16,
    HAS_ARGS = 32,
    HAS_END_SHIFT = 6,
};

enum {
    WHAT_KIND_BITS = 4,
    WHAT_MODE_SHIFT = 4,
    WHAT_MODE_BITS = 4,
    WHAT_END_SHIFT = 8,
    WHAT_END_BITS = 2,
    WHAT_CATEGORY_SHIFT = 10,
    WHAT_CATEGORY_BITS = 6,
    WHAT_MOST = UINT16_MAX,
};

static_assert(EVENT_KIND_N <= 1 << WHAT_KIND_BITS, "kinds have four bits");
static_assert(MODE_N <= 1 << WHAT_MODE_BITS, "modes have four bits");
static_assert(END_OPEN < 1 << WHAT_END_BITS, "ends have two bits");
static_assert(CAT_N <= 1 << WHAT_CATEGORY_BITS, "categories have six bits");

static inline uint16_t what_of(const struct event *v)
{
    return (uint16_t)((unsigned)v->kind | (unsigned)v->mode << WHAT_MODE_SHIFT |
                      (unsigned)v->end << WHAT_END_SHIFT |
                      (unsigned)v->category << WHAT_CATEGORY_SHIFT);
}

static inline unsigned what_part(unsigned what, unsigned shift, unsigned bits)
{
    return what >> shift & ((1u << bits) - 1);
}

static inline unsigned what_end(unsigned what)
{
    return what_part(what, WHAT_END_SHIFT, WHAT_END_BITS);
}

static inline unsigned what_without_end(unsigned what)
{
    return what & ~(((1u << WHAT_END_BITS) - 1) << WHAT_END_SHIFT);
}

/* What is neither is at least no thread of a program, so nobody looks for steps in it. */
static inline enum track_kind track_kind_of(uint8_t kind)
{
    return kind == TRACK_THREAD ? TRACK_THREAD : TRACK_DEVICE;
}

/* Begin and end are times that a clock shows. */
static inline bool event_fits(int64_t at, uint64_t dur)
{
    return at >= -TIME_MOST_NS && at <= TIME_MOST_NS && dur <= (uint64_t)(TIME_MOST_NS - at);
}

/* ---- the events of a writer in bulk ----
 *
 * In memory, as columns, in the order in which they were recorded. They take the place of a tail:
 * encoding them as records and decoding them again would cost an import more. */

enum { EVENT_BUFFER_SHIFT = 11, EVENT_BUFFER_ROWS = 1 << EVENT_BUFFER_SHIFT };

struct event_buffer_part {
    int64_t at[EVENT_BUFFER_ROWS], dur[EVENT_BUFFER_ROWS], value[EVENT_BUFFER_ROWS];
    uint64_t link[EVENT_BUFFER_ROWS], parent[EVENT_BUFFER_ROWS];
    uint32_t name[EVENT_BUFFER_ROWS], args[EVENT_BUFFER_ROWS], track[EVENT_BUFFER_ROWS];
    uint16_t what[EVENT_BUFFER_ROWS];
};

/* In parts, so that it grows without moving what it has. */
struct event_buffer {
    struct event_buffer_part **parts;
    uint32_t n_parts, n;
};

static inline void event_buffer_free(struct event_buffer *p)
{
    for (uint32_t i = 0; i < p->n_parts; i++)
        free(p->parts[i]);
    free(p->parts);
    *p = (struct event_buffer){0};
}

static inline void event_buffer_add(struct event_buffer *p, uint32_t track,
                                    const struct bare_event *v)
{
    if (__builtin_expect(p->n >> EVENT_BUFFER_SHIFT == p->n_parts, 0)) {
        p->parts = xrealloc(p->parts, p->n_parts + 1, sizeof *p->parts);
        p->parts[p->n_parts++] = xmalloc(sizeof(struct event_buffer_part));
    }
    struct event_buffer_part *part = p->parts[p->n >> EVENT_BUFFER_SHIFT];
    const uint32_t i = p->n++ % EVENT_BUFFER_ROWS;
    part->at[i] = v->at;
    part->dur[i] = v->dur;
    part->value[i] = v->value;
    part->link[i] = v->link;
    part->parent[i] = v->parent;
    part->name[i] = v->name;
    part->args[i] = v->args;
    part->track[i] = track;
    part->what[i] = v->what;
}

static inline uint32_t event_buffer_track(const struct event_buffer *p, uint32_t row)
{
    return p->parts[row >> EVENT_BUFFER_SHIFT]->track[row % EVENT_BUFFER_ROWS];
}

static inline struct bare_event event_buffer_get(const struct event_buffer *p, uint32_t row)
{
    const struct event_buffer_part *part = p->parts[row >> EVENT_BUFFER_SHIFT];
    const uint32_t i = row % EVENT_BUFFER_ROWS;
    return (struct bare_event){
        .at = part->at[i],
        .dur = part->dur[i],
        .value = part->value[i],
        .link = part->link[i],
        .parent = part->parent[i],
        .name = part->name[i],
        .args = part->args[i],
        .what = part->what[i],
    };
}

#endif
