/* SPDX-License-Identifier: Apache-2.0 */
/* events.h - the processes of a run that emitted events, and their tracks; event_flow.h reads the
 * events. Arrays and texts are in the caller's arena and survive run_close. */
#ifndef QUERY_EVENTS_H
#define QUERY_EVENTS_H

#include "query/run.h"
#include "record/event.h"

/* A process that emitted events: what it is, from its facts (process.rank and so on), else from
 * the node's launcher when it is the only one that emits on its node. */
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
/* Sorted by process, threads before devices, in the order of their first events. Without
 * training health, which is not a line of a timeline. */
MUST_CHECK int events_tracks(struct run *r, struct arena *a, struct run_track **out, size_t *n,
                             struct err *e);
/* The tracks of training health alone (TRACK_HEALTH), by process and statistic. */
MUST_CHECK int events_health_tracks(struct run *r, struct arena *a, struct run_track **out,
                                    size_t *n, struct err *e);

#endif
