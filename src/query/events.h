/* SPDX-License-Identifier: Apache-2.0 */
/* events.h - what the framework did, track by track, from the event files of all nodes.
 *
 * Only what overlaps the window asked for is decoded. Arrays and texts live in the caller's arena
 * and survive run_close. */
#ifndef QUERY_EVENTS_H
#define QUERY_EVENTS_H

#include "query/run.h"
#include "record/event.h"

/* A process that said something: what it is, from what it said (process.rank and so on), else from
 * the node's launcher when it is the only one that speaks on its node. */
struct run_process {
    const char *node;
    unsigned session;
    uint32_t pid;
    const char *name;                     /* its command */
    int64_t rank, world_size, local_rank; /* -1: not known */
    int64_t worker;                       /* number of a loader's worker; -1: it is none */
    int64_t device;                       /* CUDA device; -1: none */
    wall_ns first, last;                  /* of its events */
};

struct run_track {
    const struct run_process *process;
    struct track track;
    bool detail;         /* of a detail window or an imported trace, not of the hooks */
    wall_ns first, last; /* begin of the first event, end of the last */
    uint64_t events;
    uint32_t index; /* in the list of the run */
};

/* An event in wall time. */
struct run_event {
    wall_ns at;
    struct event event; /* event.at is the monotonic clock of its node */
};

/* Sorted by node, rank, pid. */
MUST_CHECK int events_processes(struct run *r, struct arena *a, struct run_process **out, size_t *n,
                                struct err *e);
/* Sorted by process, threads before devices, in the order in which they were first heard. */
MUST_CHECK int events_tracks(struct run *r, struct arena *a, struct run_track **out, size_t *n,
                             struct err *e);
/* What overlaps from..to (0: open), sorted by begin, the longer one first. */
MUST_CHECK int events_read(struct run *r, const struct run_track *t, wall_ns from, wall_ns to,
                           struct arena *a, struct run_event **out, size_t *n, struct err *e);

/* The same one by one, in that order, without value, args, link and parent, which may be 0; texts
 * live in the arena. A long track takes no more memory than a short one. */
typedef void event_fn(void *ctx, const struct run_event *e);
MUST_CHECK int events_visit(struct run *r, const struct run_track *t, wall_ns from, wall_ns to,
                            struct arena *a, event_fn *see, void *ctx, struct err *e);

/* A piece of time in which events of a track are stored together; known without decoding them. */
struct run_stretch {
    wall_ns first, last; /* begin of the first, end of the last to end */
    uint32_t events;
    uint32_t block; /* its place in the track */
};

/* Those that overlap from..to (0: open), in order of their begin. */
MUST_CHECK int events_stretches(struct run *r, const struct run_track *t, wall_ns from, wall_ns to,
                                struct arena *a, struct run_stretch **out, size_t *n,
                                struct err *e);
/* The names that occur there; `*out` NULL: damaged. Texts live in the arena. */
MUST_CHECK int events_names(struct run *r, const struct run_track *t,
                            const struct run_stretch *where, struct arena *a, const char ***out,
                            size_t *n, struct err *e);

#endif
