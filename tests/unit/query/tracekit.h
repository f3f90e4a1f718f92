/* SPDX-License-Identifier: Apache-2.0 */
/* tracekit.h - small traces written by hand: spans on threads and streams of one process.
 * Times are in ns. Events are sorted as events_read sorts them before they are handed over. */
#ifndef TRACEKIT_H
#define TRACEKIT_H

#include "query/trace.h"
#include "test.h"

enum { KIT_TRACKS = 8, KIT_EVENTS = 64 };

struct kit_track {
    struct run_track track;
    struct run_event v[KIT_EVENTS];
    size_t n;
};

struct kit {
    struct run_process process;
    struct kit_track tracks[KIT_TRACKS];
    size_t n;
};

static inline void kit_open(struct kit *k)
{
    *k = (struct kit){.process = {.node = "n1", .pid = 7, .rank = -1, .device = -1}};
}

static inline struct kit_track *kit_track(struct kit *k, enum track_kind kind, uint64_t id)
{
    struct kit_track *t = &k->tracks[k->n++];
    CHECK(k->n <= KIT_TRACKS);
    t->track = (struct run_track){.process = &k->process, .track = {.kind = kind, .id = id}};
    return t;
}

static inline struct kit_track *kit_thread(struct kit *k, uint64_t tid)
{
    return kit_track(k, TRACK_THREAD, tid);
}

static inline struct kit_track *kit_stream(struct kit *k, uint64_t device, uint64_t stream)
{
    return kit_track(k, TRACK_DEVICE, device << 32 | stream);
}

static inline struct event *kit_event(struct kit_track *t, int64_t begin, int64_t end,
                                      enum event_category c, const char *name)
{
    struct run_event *x = &t->v[t->n++];
    CHECK(t->n <= KIT_EVENTS);
    x->at.ns = begin;
    x->event = (struct event){
        .at = {begin}, .dur_ns = end - begin, .kind = EVENT_SPAN, .category = c, .name = name};
    return &x->event;
}

static inline void kit_step(struct kit_track *t, int64_t begin, int64_t end, int64_t number)
{
    struct event *e = kit_event(t, begin, end, CAT_USER, "ProfilerStep");
    e->kind = EVENT_STEP;
    e->value = number;
}

/* A call of the runtime that launches, or an operation that was launched by it. */
static inline void kit_link(struct kit_track *t, int64_t begin, int64_t end, enum event_category c,
                            const char *name, uint64_t link)
{
    kit_event(t, begin, end, c, name)->link = link;
}

static int kit_order(const void *a, const void *b)
{
    const struct run_event *x = a, *y = b;
    if (x->at.ns != y->at.ns)
        return x->at.ns < y->at.ns ? -1 : 1;
    return (x->event.dur_ns < y->event.dur_ns) - (x->event.dur_ns > y->event.dur_ns);
}

static inline void kit_sort(struct kit *k)
{
    for (size_t i = 0; i < k->n; i++)
        qsort(k->tracks[i].v, k->tracks[i].n, sizeof k->tracks[i].v[0], kit_order);
}

#endif
