/* SPDX-License-Identifier: Apache-2.0 */
/* export_walk.h - the events of a run, a bounded number at a time. */
#ifndef EXPORT_EXPORT_WALK_H
#define EXPORT_EXPORT_WALK_H

#include "export/export.h"
#include "query/events.h"

struct tracks {
    struct run_track *v;
    size_t n;
};

/* The tracks that the job is about: of its node, with events in its window. Those of one process
 * stand together, threads before devices. */
MUST_CHECK int export_tracks(const struct export_job *job, struct arena *a, struct tracks *out,
                             struct err *e);

/* Events of a track in order of their begin, the longer one first; they are gone after the call. */
typedef int events_fn(void *to, const struct run_track *t, const struct run_event *v, size_t n,
                      struct err *e);

/* Every event of the track that overlaps the job's window, once. */
MUST_CHECK int export_events(const struct export_job *job, const struct run_track *t, events_fn *fn,
                             void *to, struct err *e);

/* The recording session of the node that the moment belongs to: the last one begun by then. */
unsigned session_at(const struct run_info *info, const char *node, wall_ns t);

/* The train steps a..b of all ranks together, as a window of time: out[0] inclusive, out[1]
 * exclusive. ERR_NOT_FOUND when no rank has one of them. */
MUST_CHECK int export_steps_window(struct run *r, int64_t a, int64_t b, wall_ns out[2],
                                   struct err *e);

#endif
