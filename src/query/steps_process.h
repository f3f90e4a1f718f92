/* SPDX-License-Identifier: Apache-2.0 */
/* steps_process.h - from what was read of a process to its steps, and what is remembered of it. */
#ifndef QUERY_STEPS_PROCESS_H
#define QUERY_STEPS_PROCESS_H

#include "query/run_internal.h"
#include "query/steps_internal.h"

struct named_list {
    struct named_event *v;
    size_t n, cap;
    struct sorted_runs runs;
};

/* A phase as the device had it. */
struct gpu_span {
    int64_t at, dur_ns; /* monotonic clock of the node */
    enum event_id id;
};

struct gpu_spans {
    struct gpu_span *v;
    size_t n, cap;
};

/* Some blocks of a track, one after the other. */
struct hook_part {
    const struct event_track *track;
    uint32_t first, n; /* of its blocks */
    uint64_t rows;
    bool may_step;                   /* steps may be in it */
    bool gpu_times;                  /* phases of the process, as a device had them */
    int64_t from, to;                /* of steps_node; INT64_MIN: nothing is remembered */
    uint64_t before_from, before_to; /* rows that begin before them */
    struct points points;            /* in memory of the pass, after those of the part before */
    struct gpu_spans gpu;            /* of a device's line */
    struct named_list named;
};

/* The parts of one process, or of some of its tracks, or of one node. */
struct process_parts {
    struct hook_part *v;
    size_t n;
};

/* Times that do not count: before the warm-up is over, and while detail windows slow the program.
 * In order. */
struct quiet_times {
    int64_t steady_from;
    struct {
        int64_t from, to;
    } v[64];
    size_t n;
};

/* The line of a device. */
struct gpu_line {
    uint64_t id;
    struct gpu_span outer;  /* the last one that no other is in */
    struct gpu_spans spans; /* that are not counted yet */
};

struct steps_kept {
    char node[ENTITY_LEN];
    uint32_t pid;
    bool unused;   /* points or spans were dropped, as it had no steps */
    uint64_t main; /* the thread */
    uint64_t *ids; /* of its threads, with how many points of each decide */
    size_t *marked;
    size_t n_ids, cap_ids, cap_marked;
    struct steps_walker *walker;
    struct points points;
    struct steps_fill fill;
    struct arena arena; /* of the parts */
    struct packed_part *parts;
    size_t n_parts, cap_parts;
    bool known;    /* what follows is */
    int64_t limit; /* what begins before it is counted in `gpu` */
    struct quiet_times quiet;
    int windows_left;
    uint64_t windows; /* a hash of their times */
    struct gpu_phases gpu;
    bool timed;
    struct gpu_line *lines;
    size_t n_lines, cap_lines;
};

struct steps_make_ask {
    bool packed, remember;
};

/* `k` has what was remembered, or nothing; ask->remember: it gets what there is now. False: what
 * was remembered does not fit. */
MUST_CHECK bool steps_of_process(const struct process_parts *p, const struct event_index *x,
                                 struct steps_kept *k, const struct steps_make_ask *ask,
                                 struct arena *a, struct rank_steps *out);
void steps_kept_free(struct steps_kept *k);
void gpu_spans_free(struct gpu_spans *g);

#endif
