/* SPDX-License-Identifier: Apache-2.0 */
/* intake_events.h - what the tail knows of tracks and texts. The intake's own helper.
 *
 * Each tail begins with neither, so both tables are as small as one tail is. */
#ifndef STORE_INTAKE_EVENTS_H
#define STORE_INTAKE_EVENTS_H

#include <stdbool.h>

#include "base/buf.h"
#include "record/event.h"
#include "store/event_pile.h"

enum { TEXT_HINTS = 256 };

struct told_text {
    bool used;
    uint16_t what;
    uint32_t at, len; /* in bytes */
    uint32_t hash, number;
};

/* Where a text was last found by its address; the text is compared all the same. */
struct text_hint {
    const char *address;
    uint32_t slot;
};

struct told_track {
    bool used;
    uint32_t number;
    struct track track;
    uint64_t end; /* of the event last told, ns */
};

struct intake_events {
    struct buf bytes; /* texts told in this tail, a NUL behind each */
    struct told_text *texts;
    uint32_t n_texts, cap_texts;
    struct text_hint hints[TEXT_HINTS];
    struct told_track *tracks;
    uint32_t n_tracks, cap_tracks;
    uint64_t accepted, dropped;
    uint64_t dropped_told; /* of them, counted as a loss already */
    bool piles;            /* events go onto the pile, and only texts and tracks into records */
    struct event_pile pile;
};

/* A new tail begins: nothing is told yet. The pile stays. Also before freeing. */
void intake_events_forget(struct intake_events *ev);

#endif
