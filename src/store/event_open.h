/* SPDX-License-Identifier: Apache-2.0 */
/* event_open.h - what has begun and not ended when a tail is read (docs/format.md, "Open events").
 * The reader's side of sealing: a writer drops such events. */
#ifndef STORE_EVENT_OPEN_H
#define STORE_EVENT_OPEN_H

#include "store/segment.h"

struct open_event {
    int64_t at;
    uint32_t name;
    uint16_t what;
    bool done; /* its end is known, or it is shown already */
};

struct process_last {
    uint32_t pid;
    int64_t last;
};

struct open_events {
    struct process_last *processes; /* sorted by pid */
    uint32_t n_processes;
    struct open_event *v; /* of the track at hand, sorted */
    uint32_t n;
    int64_t last; /* time last seen of its process */
};

void open_events_begin(struct open_events *o, const struct segment *s);
/* Looks at all events of a track. */
void open_events_track(struct open_events *o, const struct segment *s, const struct seg_track *t);
/* Whether an event of that track is to be shown; an open one then lasts until its process was last
 * seen. */
bool open_events_show(struct open_events *o, struct bare_event *v);
void open_events_end(struct open_events *o);

#endif
