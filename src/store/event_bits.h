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

#endif
