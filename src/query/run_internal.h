/* SPDX-License-Identifier: Apache-2.0 */
/* run_internal.h - an open run, for the files of query/. */
#ifndef QUERY_RUN_INTERNAL_H
#define QUERY_RUN_INTERNAL_H

#include "query/events.h"
#include "query/run.h"
#include "run/run_files.h"
#include "store/reader.h"

/* A series of a node, which may continue in the files of several recorders. */
struct series_part {
    struct store *store;
    const struct store_series *series;
};

struct run_series {
    const char *node, *metric, *entity, *unit;
    struct series_part *parts; /* in order of time */
    size_t n_parts;
};

/* A file with events: of a recorder, or of a detail window. */
struct event_file {
    struct store *store;
    size_t node; /* in run_info.nodes */
    bool detail;
};

struct event_track {
    struct run_track track;
    struct store *store;
    uint32_t *blocks; /* of the store, in order of their first time */
    uint32_t n_blocks;
};

/* What is known of the events without decoding them all. */
struct event_index {
    struct event_file *files;
    size_t n_files;
    struct run_loss *losses; /* files that cannot be read */
    size_t n_losses, cap_losses;
    struct run_process *processes; /* sorted */
    size_t n_processes;
    struct event_track *tracks; /* sorted; run_track.index counts here */
    size_t n_tracks;
    size_t n_health; /* tracks of training health, after the others */
};

struct run {
    struct arena arena;
    struct run_info info;
    bool lean;                 /* only what is in use is in memory */
    bool follows;              /* of run_open_next: files are opened to be followed */
    struct run *before;        /* whose event files are taken over; NULL: none */
    struct store **stores;     /* one per node_info; NULL when its file cannot be read */
    struct loss *file_loss;    /* why, for those that cannot; count 0: there is none yet */
    struct run_series *series; /* sorted */
    size_t n_series;
    struct event_index *events; /* NULL until events are needed */
    struct event_flow
        *flow; /* cached for the next reader of events, see event_flow.h; NULL: none */
};

/* Opens the event files when that has not been done yet. */
MUST_CHECK int run_events(struct run *r, struct event_index **out, struct err *e);
void run_events_close(struct run *r);
/* NULL, with the reason in `e`, when the track is not one of the run's. */
const struct event_track *run_event_track(struct run *r, const struct run_track *t, struct err *e);

#endif
